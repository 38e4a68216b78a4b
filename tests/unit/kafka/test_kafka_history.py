"""What two polls together tell, with every number written out."""

from __future__ import annotations

import json

from exporter.model.kafka_history import (
    GroupHistory,
    TopicHistory,
    advance,
    advance_group,
    from_state,
    is_abandoned,
    to_state,
)


def test_the_same_commits_change_nothing() -> None:
    before = TopicHistory("id", (0, 1), (5, 6), 3, 2)
    assert advance(before, "id", (0, 1), (5, 6)) == before


def test_each_commit_that_goes_back_is_a_rewind() -> None:
    before = TopicHistory("id", (0, 1, 2), (5, 6, 7))
    assert advance(before, "id", (0, 1, 2), (4, 9, 6)).rewinds == 2


def test_partitions_are_compared_by_number_whatever_their_order() -> None:
    before = TopicHistory("id", (0, 1), (5, 9))
    assert advance(before, "id", (1, 0, 2), (9, 5, 0)).rewinds == 0
    assert advance(before, "id", (1, 2), (8, 0)).rewinds == 1


def test_a_new_topic_id_starts_afresh() -> None:
    before = TopicHistory("old", (0,), (5,), 3, 2)
    assert advance(before, "new", (0,), (1,)) == TopicHistory("new", (0,), (1,))


def test_a_log_end_that_went_back_is_no_rewind() -> None:
    before = TopicHistory("id", (0,), (5,))
    assert advance(before, "id", (0,), (1,), went_back=[0]).rewinds == 0


def test_lost_offsets_are_counted_once_and_then_as_the_log_start_rises() -> None:
    first = advance(None, "id", (0,), (2,), [(0, 2, 7)])
    assert first.lost == 5
    again = advance(first, "id", (0,), (2,), [(0, 2, 7)])
    assert again.lost == 5
    more = advance(again, "id", (0,), (2,), [(0, 2, 9)])
    assert more.lost == 7
    caught_up = advance(more, "id", (0,), (20,))
    assert (caught_up.lost, caught_up.accounted) == (7, {})
    assert advance(caught_up, "id", (0,), (20,), [(0, 20, 25)]).lost == 12


def test_a_reset_to_offsets_that_were_read_before_loses_nothing() -> None:
    before = TopicHistory("id", (0,), (50,))
    assert advance(before, "id", (0,), (10,), [(0, 10, 40)]).lost == 0
    assert advance(before, "id", (0,), (10,), [(0, 10, 60)]).lost == 10


def test_a_group_is_abandoned_when_nobody_was_there_for_long() -> None:
    history = GroupHistory(1000.0)
    assert is_abandoned(history, 0, 1100.0, 100.0)
    assert not is_abandoned(history, 0, 1099.0, 100.0)
    assert not is_abandoned(history, 1, 9999.0, 100.0)
    assert not is_abandoned(history, None, 9999.0, 100.0)


def test_a_changed_commit_makes_a_group_young_again() -> None:
    old = GroupHistory(1000.0, {"t": TopicHistory("id", (0,), (5,))})
    assert advance_group(old, {"t": TopicHistory("id", (0,), (5,))}, 2000.0).changed_at == 1000.0
    assert advance_group(old, {"t": TopicHistory("id", (0,), (6,))}, 2000.0).changed_at == 2000.0
    assert advance_group(old, {}, 2000.0).changed_at == 2000.0
    assert advance_group(None, {}, 2000.0).changed_at == 2000.0


def test_history_comes_back_from_json_as_it_was() -> None:
    histories = {"g": GroupHistory(1.5, {"t": TopicHistory("id", (1, 0), (5, 6), 3, 2, {1: 9})})}
    assert from_state(json.loads(json.dumps(to_state(histories)))) == histories
