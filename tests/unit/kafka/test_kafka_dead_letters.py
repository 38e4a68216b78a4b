"""Dead letters on Kafka: which topics, fed by what, and how much is unhandled."""

from __future__ import annotations

from exporter.config.model import KafkaDeadLetters
from exporter.model.common import DeadLetterQueue, DeadLetterSource
from exporter.model.kafka import Group, GroupTopic, Topic, TopicSettings
from exporter.model.kafka_dead_letters import Rules, queue, sources, unread_from_start
from exporter.model.record_time import RecordTime

NOW = 1_000_000.0
PATTERNS = KafkaDeadLetters().patterns


def topic(name: str, ends: list[tuple[int | None, int | None]] | None = None, **settings) -> Topic:  # type: ignore[no-untyped-def]
    rows = ends or [(0, 0)]
    count = len(rows)
    starts, highs = tuple(row[0] for row in rows), tuple(row[1] for row in rows)
    labels = tuple((name, str(number)) for number in range(count))
    ones = (1,) * count
    found = TopicSettings(**settings) if settings else None
    return Topic(name, "id", False, tuple(range(count)), labels, ones, ones, ones, starts, highs, highs, found)


def group(name: str, dlq: str, lags: dict[int, int | None], ages: dict[int, float], abandoned: bool = False) -> Group:
    row = GroupTopic(
        dlq,
        tuple((name, dlq, str(partition)) for partition in lags),
        tuple(lags),
        tuple(0 for _ in lags),
        tuple(lags.values()),
        tuple(ages.get(partition, 0.0) for partition in lags),
        {},
        {},
        {},
        {"ok": len(lags)},
        0,
        0,
    )
    return Group(name, "classic", "empty", 0, 0, (row,), abandoned)


def test_dead_letter_topics_are_found_by_name_configuration_topic_and_share_group() -> None:
    topics = [
        topic("orders"),
        topic("orders.DLQ"),
        topic("pay-dead-letters"),
        topic("dlq.share"),
        topic("parked"),
        topic("marked", takes_dead_letters=True),
        topic("candlq"),
        topic("fed"),
    ]
    rules = Rules(PATTERNS, topics=("parked",), sources={"fed": "legacy"})
    assert sources(topics, {"workers": "dlq.share", "lost": "dlq.missing"}, rules) == (
        DeadLetterSource("dlq.share", "", "", "pattern"),
        DeadLetterSource("dlq.share", "", "workers", "share_group"),
        DeadLetterSource("fed", "", "legacy", "config"),
        DeadLetterSource("marked", "", "", "topic_config"),
        DeadLetterSource("orders.DLQ", "", "orders", "pattern"),
        DeadLetterSource("parked", "", "", "config"),
        DeadLetterSource("pay-dead-letters", "", "", "pattern"),
    )


def test_everything_retained_is_unhandled_while_nobody_reads() -> None:
    dlq = topic("x.dlq", [(5, 8), (0, 2)], cleanup_policy="delete", retention_seconds=100.0)
    times = {("x.dlq", 0, 5): RecordTime(NOW - 40), ("x.dlq", 1, 0): RecordTime(NOW - 60)}
    assert queue(dlq, [], None, False, times, NOW) == DeadLetterQueue("x.dlq", "", 5, 5, 60.0, 40.0, 10)


def test_the_slowest_group_that_is_alive_says_what_is_unhandled() -> None:
    dlq = topic("x.dlq", [(0, 10)])
    groups = [
        group("fast", "x.dlq", {0: 1}, {0: 5.0}),
        group("slow", "x.dlq", {0: 4}, {0: 50.0}),
        group("old", "x.dlq", {0: 9}, {0: 500.0}, abandoned=True),
    ]
    assert queue(dlq, groups, None, False, {}, NOW) == DeadLetterQueue("x.dlq", "", 10, 4, 50.0, None, 10)


def test_a_configured_handler_counts_whatever_others_do() -> None:
    dlq = topic("x.dlq", [(0, 10)])
    groups = [group("fast", "x.dlq", {0: 1}, {0: 5.0}), group("slow", "x.dlq", {0: 4}, {0: 50.0})]
    found = queue(dlq, groups, "fast", False, {}, NOW)
    assert (found.unhandled, found.oldest_age_seconds) == (1, 5.0)


def test_a_partition_that_the_handler_never_began_counts_whole() -> None:
    dlq = topic("x.dlq", [(0, 10), (2, 6)])
    times = {("x.dlq", 1, 2): RecordTime(NOW - 70)}
    found = queue(dlq, [group("g", "x.dlq", {0: 1}, {0: 5.0})], None, False, times, NOW)
    assert (found.unhandled, found.oldest_age_seconds) == (5, 70.0)


def test_all_handled_is_age_zero_and_nothing_to_delete() -> None:
    dlq = topic("x.dlq", [(0, 10)], cleanup_policy="delete", retention_seconds=100.0)
    found = queue(dlq, [group("g", "x.dlq", {0: 0}, {})], None, False, {}, NOW)
    assert (found.unhandled, found.oldest_age_seconds, found.time_to_deletion_seconds) == (0, 0.0, None)


def test_unhandled_is_unknown_while_the_group_that_may_read_it_is_withheld() -> None:
    found = queue(topic("x.dlq", [(0, 10)]), [], None, True, {}, NOW)
    assert (found.depth, found.unhandled, found.oldest_age_seconds) == (10, None, None)


def test_depth_is_a_lower_bound_and_arrivals_unknown_when_a_partition_is_away() -> None:
    found = queue(topic("x.dlq", [(0, 10), (None, None)]), [], None, False, {("x.dlq", 0, 0): RecordTime(NOW)}, NOW)
    assert (found.depth, found.unhandled, found.arrivals) == (10, 10, None)
    away = queue(topic("x.dlq", [(None, None)]), [], None, False, {}, NOW)
    assert (away.depth, away.unhandled, away.oldest_age_seconds) == (None, None, None)


def test_compacted_dead_letters_are_not_deleted_by_time() -> None:
    dlq = topic("x.dlq", [(0, 1)], cleanup_policy="compact", retention_seconds=100.0)
    found = queue(dlq, [], None, False, {("x.dlq", 0, 0): RecordTime(NOW - 1)}, NOW)
    assert found.time_to_deletion_seconds is None


def test_log_starts_are_asked_about_where_some_group_has_not_begun() -> None:
    dlq = topic("x.dlq", [(3, 5), (0, 0), (1, 4)])
    assert unread_from_start(dlq, []) == {0: 3, 2: 1}
    assert unread_from_start(dlq, [(0, 2), (2,)]) == {0: 3}
