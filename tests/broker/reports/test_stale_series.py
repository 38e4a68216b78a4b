"""Public reports about series of Kafka groups that stay, go, or are there twice."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import pytest
from confluent_kafka import Consumer, TopicPartition

from exporter.clients.kafka import groups as groups_module
from exporter.clients.kafka.commits import CommitReader, CommitTable
from exporter.clients.kafka.groups import GroupFacts, GroupTable
from exporter.clients.kafka.messages import group_list
from exporter.clients.kafka.messages.group_list import ListedGroup
from exporter.clients.kafka.reader import KafkaReader
from tests.broker.kafka.lag_world import GROUP, LagWorld, group_of, problems, wait
from tests.broker.reports.conftest import Name, Samples, measured
from tests.mutations import fails_under, mutation

LAG = "mq_kafka_group_lag_offsets"


def lag_of(reader: KafkaReader) -> Samples:
    return measured(reader.poll(), LAG)


@mutation
def only_assigned_partitions(patch: pytest.MonkeyPatch) -> None:
    """Report a group only where its members have an assignment now."""
    plain = CommitReader.read

    def read(reader: CommitReader, groups: Sequence[GroupFacts], wanted: object, table: CommitTable, run: object):  # type: ignore[no-untyped-def]
        groups = list(groups)
        plain(reader, groups, wanted, table, run)  # type: ignore[arg-type]
        for group in groups:
            kept = {topic: rows for topic, rows in table.topics.get(group.name, {}).items() if topic in group.assigned}
            table.topics[group.name] = kept

    patch.setattr(CommitReader, "read", read)


@pytest.fixture
def topics(kafka: LagWorld, fresh_name: Name) -> tuple[str, str, str]:
    """A topic that is consumed, another on which the group has commits only, and the group."""
    mine, other, group = kafka.create(fresh_name("topic")), kafka.create(fresh_name("other")), fresh_name("group")
    kafka.produce(mine, 4)
    kafka.produce(other, 7)
    kafka.commit(group, other, {0: 2})
    kafka.commit(group, mine, {0: 1})
    return mine, other, group


def test_lag_is_there_and_grows_without_members_and_beyond_their_assignment(
    kafka: LagWorld, topics: tuple[str, str, str]
) -> None:
    """Commits as Flink makes them; then a member that is assigned one topic of two; then it is gone for good."""
    mine, other, group = topics
    reader = kafka.reader(mine, other, group)
    check_both(reader, topics, {(group, mine, "0"): 3.0, (group, other, "0"): 5.0})
    with kafka.members(group, mine, 1, **{"auto.offset.reset": "earliest"}) as (consumer,):
        join(reader, group, [consumer], 1)
        consumer.commit(offsets=[TopicPartition(mine, 0, 4)], asynchronous=False)
        expected = {(group, mine, "0"): 0.0, (group, other, "0"): 5.0}
        check_both(reader, topics, expected)
        fails_under("only_assigned_partitions", check_both, reader, topics, expected)
    wait(reader.poll, lambda seen: group_of(seen, group).members == 0)
    kafka.produce(mine, 6)
    check_both(reader, topics, {(group, mine, "0"): 6.0, (group, other, "0"): 5.0})


def check_both(reader: KafkaReader, topics: tuple[str, str, str], expected: Samples) -> None:
    """Every partition with a commit has its lag, one series each."""
    assert expected == lag_of(reader)


def join(reader: KafkaReader, group: str, consumers: Sequence[Consumer], members: int) -> None:
    """Poll the consumers until the group is stable with so many members, each with an assignment."""

    def look() -> tuple[str, int | None, bool]:
        for consumer in consumers:
            consumer.poll(0.05)
        seen = [found for found in reader.poll().groups if found.name == group]
        busy = all(consumer.assignment() for consumer in consumers)
        return (seen[0].state, seen[0].members, busy) if seen else ("", 0, False)

    wait(look, lambda seen: seen == ("stable", members, True), GROUP)


def test_partitions_that_change_hands_have_one_series_each_and_no_name_of_a_member(
    kafka: LagWorld, fresh_name: Name
) -> None:
    topic, group = kafka.create(fresh_name("topic"), 2), fresh_name("group")
    for partition in (0, 1):
        kafka.produce(topic, 5, partition)
    kafka.commit(group, topic, {0: 1, 1: 2})
    reader = kafka.reader(topic, group)
    expected = {(group, topic, "0"): 4.0, (group, topic, "1"): 3.0}
    with kafka.members(group, topic, 1, **{"client.id": "pod-a"}) as first:
        join(reader, group, first, 1)
        assert expected == lag_of(reader)
        with kafka.members(group, topic, 1, **{"client.id": "pod-b"}) as second:
            join(reader, group, [*first, *second], 2)
            assert expected == lag_of(reader)
    snapshot = wait(reader.poll, lambda seen: group_of(seen, group).members == 0)
    assert expected == measured(snapshot, LAG)
    assert {(group,): 0.0} == measured(snapshot, "mq_kafka_group_members")


TWICE = 6


@pytest.fixture(scope="module")
def listed_twice(kafka: LagWorld) -> Iterator[tuple[str, list[str]]]:
    """Groups that every broker lists, though only one of them coordinates each. Real answers, made longer."""
    topic = kafka.create("reports-twice")
    kafka.produce(topic, 3)
    names = [kafka.commit(f"reports-twice-{number}", topic, {0: 1}) for number in range(TWICE)]
    plain = group_list.decode

    def longer(data: bytes, version: int) -> tuple[int, list[ListedGroup]]:
        code, rows = plain(data, version)
        theirs = {row.group for row in rows}
        return code, [*rows, *(ListedGroup(name, "", "Empty", "Classic") for name in names if name not in theirs)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups_module.group_list, "decode", longer)
        yield topic, names


@mutation
def the_first_list_wins(patch: pytest.MonkeyPatch) -> None:
    """Of two brokers that list a group believe the one that came first."""
    patch.setattr(GroupTable, "settle", lambda *_: 0)


def test_a_group_that_several_brokers_list_is_there_once_with_the_coordinators_word(
    kafka: LagWorld, listed_twice: tuple[str, list[str]]
) -> None:
    topic, names = listed_twice
    reader = kafka.reader(topic, *names)
    check_listed_twice(reader, topic, names)
    fails_under("the_first_list_wins", check_listed_twice, reader, topic, names)


def check_listed_twice(reader: KafkaReader, topic: str, names: list[str]) -> None:
    """Every group once, with its lag, without a problem; that brokers contradict each other is counted."""
    before = reader.poll().contradictions["group_on_two_brokers"]
    snapshot = reader.poll()
    assert {(name, topic, "0"): 2.0 for name in names} == measured(snapshot, LAG)
    assert {(name,): 0.0 for name in names} == measured(snapshot, "mq_kafka_group_members")
    assert problems(snapshot) == {}
    assert snapshot.contradictions["group_on_two_brokers"] == before + TWICE


def test_a_group_with_many_members_on_many_topics_is_there_once(kafka: LagWorld, fresh_name: Name) -> None:
    """Eight members of three topics: with one series for each pair, some are there twice."""
    topics = [kafka.create(f"{fresh_name('topic')}-{number}") for number in range(3)]
    group = fresh_name("group")
    for topic in topics:
        kafka.produce(topic, 2)
        kafka.commit(group, topic, {0: 1})
    reader = kafka.reader(*topics, group)
    with kafka.members(group, topics[0], 8) as consumers:
        for consumer in consumers:
            consumer.subscribe(topics)
        wait_for_members(reader, group, consumers)
        snapshot = reader.poll()
        assert {(group, topic, "0"): 1.0 for topic in topics} == measured(snapshot, LAG)
        assert {(group,): 8.0} == measured(snapshot, "mq_kafka_group_members")


def wait_for_members(reader: KafkaReader, group: str, consumers: Sequence[Consumer]) -> None:
    def look() -> tuple[str, int | None]:
        for consumer in consumers:
            consumer.poll(0.02)
        found = [seen for seen in reader.poll().groups if seen.name == group]
        return (found[0].state, found[0].members) if found else ("", None)

    wait(look, lambda seen: seen == ("stable", len(consumers)), GROUP)


@pytest.mark.plain  # the dead address stands beside those of plain listeners
def test_a_seed_that_is_dead_costs_nothing_and_is_seen_until_it_answers(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    kafka.produce(topic, 2)
    kafka.commit(group, topic, {0: 1})
    dead = "127.0.0.1:1"
    world = LagWorld(f"{dead},{kafka.bootstrap}")
    reader = world.reader(topic, group)
    expected = {dead: False, **dict.fromkeys(kafka.bootstrap.split(","), True)}
    for _ in range(3):
        began = time.monotonic()
        snapshot = reader.poll()
        assert {(group, topic, "0"): 1.0} == measured(snapshot, LAG)
        assert problems(snapshot) == {}
        assert dict(snapshot.endpoints) == expected
        assert time.monotonic() - began < reader._parts.config.timeout
    world.close()
