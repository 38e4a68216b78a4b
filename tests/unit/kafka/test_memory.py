"""What a reader remembers, and forgets, between polls."""

from __future__ import annotations

import pytest

from exporter.clients.kafka.groups import GroupFacts
from exporter.clients.kafka.memory import Memory, coordinator_partition, rises


@pytest.mark.parametrize(
    ("group", "partition"),
    [
        ("", 0),
        ("hello", 99162322 % 50),
        ("polygenelubricants", 0),  # Java's hash of it is the smallest integer, whose absolute value Kafka takes as 0
        ("Aa", 2112 % 50),
        ("\U0001f600", 1772899 % 50),  # hashed as two surrogates
    ],
)
def test_a_groups_coordinator_is_found_as_java_finds_it(group: str, partition: int) -> None:
    assert coordinator_partition(group, 50) == partition


def remembering(*groups: tuple[str, int]) -> Memory:
    memory = Memory()
    memory.remember_coordinators(GroupFacts(name, "classic", "empty", broker) for name, broker in groups)
    return memory


def test_a_group_that_nobody_lists_is_withheld_while_its_coordinator_is_silent() -> None:
    memory = remembering(("a", 1), ("b", 2), ("c", 2))
    assert memory.withheld({"c"}, {2}, ()) == ["b"]
    assert memory.withheld({"c"}, set(), ()) == []


def test_where_the_offsets_topic_is_known_its_leader_is_the_coordinator() -> None:
    memory = remembering(("a", 7))
    assert memory.withheld((), {1}, (7,)) == []  # broker 7 has it, and answered
    assert memory.withheld((), {7}, (7,)) == ["a"]
    assert memory.withheld((), set(), (-1,)) == ["a"]  # the partition has no leader: the group has no coordinator


def test_a_group_whose_coordinator_has_just_moved_is_gone_only_when_the_new_one_does_not_list_it_either() -> None:
    memory = remembering(("a", 1))
    assert memory.withheld((), set(), (7,)) == ["a"]  # neither the old nor the new one lists it while it moves
    assert memory.withheld((), set(), (7,)) == []


def test_labels_are_the_same_objects_from_poll_to_poll() -> None:
    memory = Memory()
    first = memory.group_labels("g", "t", (1, 0))
    assert first == (("g", "t", "1"), ("g", "t", "0"))
    assert memory.group_labels("g", "t", (1, 0)) is first
    assert memory.group_labels("g", "t", (0, 1)) == (("g", "t", "0"), ("g", "t", "1"))
    assert memory.topic_labels("t", (0,)) is memory.topic_labels("t", (0,))


def test_a_log_end_that_falls_is_noticed_once_and_unknown_ends_are_bridged() -> None:
    memory = Memory()
    assert list(memory.went_back("t", b"id", [10, 20])) == []
    assert list(memory.went_back("t", b"id", [None, 20])) == []
    assert list(memory.went_back("t", b"id", [9, 21])) == [0]
    assert list(memory.went_back("t", b"id", [9, 21, 1])) == []
    assert list(memory.went_back("t", b"other", [1, 1])) == []


def test_nothing_is_remembered_of_what_is_gone() -> None:
    memory = remembering(("a", 1), ("b", 2))
    memory.group_labels("a", "t", (0,))
    memory.group_labels("b", "u", (0,))
    memory.topic_labels("t", (0,))
    memory.topic_labels("u", (0,))
    memory.went_back("t", b"old", [1])
    memory.went_back("t", b"new", [1])
    memory.beyond = {("a", "t", 0), ("b", "u", 0)}
    memory.forget_topics({"t": b"new"})
    memory.forget_groups({"a"})
    assert memory.coordinators == {"a": 1}
    assert memory.beyond == {("a", "t", 0)}
    assert (len(memory._topic_labels), len(memory._group_labels), len(memory._highs)) == (1, 1, 1)


def test_a_state_that_does_not_fit_is_ignored_whole() -> None:
    memory = remembering(("a", 1))
    for wrong in ({}, {"groups": {}, "coordinators": {"x": "y"}}, {"groups": [1], "coordinators": {}}):
        memory.restore(wrong)
    assert memory.coordinators == {"a": 1}


def test_contradictions_are_counted_where_both_sides_are_known() -> None:
    assert rises([1, 5, None, 7], [1, 4, 0, None]) == 1
