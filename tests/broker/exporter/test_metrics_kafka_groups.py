"""Groups of Kafka on the page: lag, age, states and members, beside the test's own ledger and another client's answers.

One exporter watches the cluster several times under different names: exactly, by estimate, by topic, with little
patience for groups that nobody uses.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from confluent_kafka.admin import OffsetSpec

from drills.lab import Lab
from tests.broker.exporter.process import INTERVAL, Exporter, Page, kafka_of, only, running
from tests.broker.exporter.streams_member import StreamsMember
from tests.broker.kafka.lag_world import LagWorld, wait
from tests.versions import has, needs, where_had

ORDERS, FUTURE, SHARED, JOINED = (f"proof.groups.{name}" for name in ("orders", "future", "shared", "joined"))
BILLING, LATE, AHEAD, REPLAY, EARLY = (
    f"proof.groups.{name}" for name in ("billing", "late", "ahead", "replay", "early")
)
CLASSIC, CONSUMER, SHARE = "proof.groups.classic", "proof.groups.consumer", "proof.groups.share"
STREAMS = "streams of proof"
PROTOCOLS = {CLASSIC: "classic"} | where_had({CONSUMER: "consumer"}, "consumer_groups")  # of the groups with members
EXACT, ESTIMATE, BY_TOPIC, SHORT = "exact", "estimate", "by-topic", "short"
WRITTEN = {0: 10, 1: 8, 2: 3}  # of ORDERS; retention has deleted two of partition 0
LOG_START = 2
COMMITTED = {0: 4, 1: 5}  # by BILLING, which has not begun on partition 2
LAGS = {"0": 6.0, "1": 3.0}
PATIENT = {"max.poll.interval.ms": 3_600_000}  # members are not polled once they have joined


@dataclass(frozen=True)
class Scene:
    """What was put in, and the exporter that looks at it. `times`: partition of ORDERS -> time of each record."""

    exporter: Exporter
    kafka: LagWorld
    times: dict[int, list[float]]
    consumers: dict[str, list[Consumer]]

    def committed(self, group: str) -> dict[str, int]:
        """Partition of ORDERS -> offset, as another client is told."""
        asked = ConsumerGroupTopicPartitions(group)
        found = self.kafka.admin.list_consumer_group_offsets([asked])[group].result(30)
        return {str(at.partition): at.offset for at in found.topic_partitions if at.topic == ORDERS}


def produce(kafka: LagWorld, topic: str, counts: dict[int, int]) -> dict[int, list[float]]:
    """Records one after the other, so that each has its own time, which the broker confirms."""
    times: dict[int, list[float]] = {partition: [] for partition in counts}

    def note(_: object, message: Any) -> None:
        times[message.partition()].append(message.timestamp()[1] / 1000)

    producer = Producer({**kafka.client, "acks": "all"})
    for partition, count in counts.items():
        for number in range(count):
            producer.produce(topic, f"{number}".encode(), partition=partition, callback=note)
            assert 0 == producer.flush(60)
    return times


@pytest.fixture(scope="module")
def scene(lab: Lab, folder: Path, kafka: LagWorld) -> Iterator[Scene]:
    kafka.create(ORDERS, 3)
    kafka.create(FUTURE)
    kafka.create(SHARED)
    kafka.create(JOINED, 2)
    times = produce(kafka, ORDERS, WRITTEN)
    kafka.delete_records(ORDERS, LOG_START)
    kafka.produce(FUTURE, 1, timestamp=int((time.time() + 3000) * 1000))
    kafka.commit(BILLING, ORDERS, COMMITTED)
    kafka.commit(LATE, ORDERS, {0: 0})
    kafka.commit(AHEAD, ORDERS, {1: 50})
    kafka.commit(REPLAY, ORDERS, {1: 7})
    kafka.commit(EARLY, FUTURE, {0: 0})
    mine = kafka_of(lab, topics=only("proof.groups.*"), groups=only("proof.groups.*"))
    clusters = {EXACT: {}, ESTIMATE: {"ages": "estimate"}, BY_TOPIC: {"granularity": "topic"},
                SHORT: {"abandoned_after": 3 * INTERVAL, "groups": only(BILLING)},
                STREAMS: {"groups": only(STREAMS)}}  # fmt: skip
    config = {"kafka": [{**mine, "cluster": name, **more} for name, more in clusters.items()]}
    with ExitStack() as stack:
        if has("share_groups"):
            stack.enter_context(share_group(kafka))
        joined = {
            group: stack.enter_context(kafka.members(group, JOINED, 3, **PATIENT, **{"group.protocol": protocol}))
            for group, protocol in PROTOCOLS.items()
        }
        exporter = stack.enter_context(running(folder, config))
        for group, consumers in joined.items():
            join(exporter, group, consumers)
        yield Scene(exporter, kafka, times, joined)


class share_group:  # noqa: N801 - reads as what it is: with share_group(kafka)
    """A member of a share group that has read, and acknowledged, the first five records; four more wait."""

    def __init__(self, kafka: LagWorld) -> None:
        kafka.produce(SHARED, 5)
        kafka.set_group(SHARE, "share.auto.offset.reset", "earliest")
        kafka._groups.append(SHARE)
        self.kafka = kafka
        self.consumer = ShareConsumer({**kafka.client, "group.id": SHARE})

    def __enter__(self) -> ShareConsumer:
        self.consumer.subscribe([SHARED])
        taken = 0

        def take() -> int:
            nonlocal taken
            taken += len(self.consumer.poll(1.0) or [])
            return taken

        wait(take, lambda seen: seen >= 5, 90)
        self.consumer.poll(1.0)  # acknowledges what the poll before gave
        self.kafka.produce(SHARED, 4)
        return self.consumer

    def __exit__(self, *_: object) -> None:
        self.consumer.close()


def join(exporter: Exporter, group: str, consumers: list[Consumer]) -> None:
    """Poll the members until the group is stable with all of them."""

    def look(page: Page) -> tuple[float | None, float | None]:
        for consumer in consumers:
            consumer.poll(0.2)
        at = {"cluster": EXACT, "group": group}
        return page.value("mq_kafka_group_members", **at), page.value("mq_kafka_group_state", state="stable", **at)

    exporter.until(f"3 members of {group}", look, lambda seen: seen == (3, 1), 120)


def at(group: str, cluster: str = EXACT, topic: str = ORDERS) -> dict[str, str]:
    return {"cluster": cluster, "group": group, "topic": topic}


def test_committed_offsets_are_what_was_committed(scene: Scene) -> None:
    assert {"0": 4, "1": 5} == {part: offset for part, offset in scene.committed(BILLING).items() if offset >= 0}
    scene.exporter.shows({"0": 4, "1": 5}, "mq_kafka_group_committed_offset", "partition", **at(BILLING))


def test_lag_is_what_was_written_less_what_was_committed(scene: Scene) -> None:
    assert {"0": 6, "1": 3} == {str(part): WRITTEN[part] - offset for part, offset in COMMITTED.items()}
    scene.exporter.shows({"0": 6, "1": 3}, "mq_kafka_group_lag_offsets", "partition", **at(BILLING))
    scene.exporter.shows_value(9, "mq_kafka_group_topic_lag_offsets", **at(BILLING))


def test_the_age_is_that_of_the_first_record_that_is_not_committed(scene: Scene) -> None:
    for partition, offset in COMMITTED.items():
        written = scene.times[partition][offset]
        age = "mq_kafka_group_oldest_message_age_seconds"
        scene.exporter.shows_age(written, age, partition=str(partition), **at(BILLING))


def test_the_age_of_the_topic_is_the_greatest_of_its_partitions(scene: Scene) -> None:
    first = min(scene.times[partition][offset] for partition, offset in COMMITTED.items())
    scene.exporter.shows_age(first, "mq_kafka_group_topic_oldest_message_age_seconds", **at(BILLING))


def test_an_exact_age_has_no_error_bound(scene: Scene) -> None:
    scene.exporter.shows({}, "mq_kafka_group_age_error_bound_seconds", ("group", "topic", "partition"), **at(BILLING))


def test_an_estimate_has_a_bound_and_the_true_age_is_inside(scene: Scene) -> None:
    written = scene.times[0][COMMITTED[0]]
    where = {**at(BILLING, ESTIMATE), "partition": "0"}

    def off(page: Page) -> str | None:
        age = page.value("mq_kafka_group_oldest_message_age_seconds", **where)
        bound = page.value("mq_kafka_group_age_error_bound_seconds", **where)
        youngest, oldest = page.at - written - 3 * INTERVAL, time.time() - written
        good = age is not None and bound is not None and age - bound <= oldest and youngest <= age + bound
        return None if good else f"age {age} +- {bound}, true between {youngest} and {oldest}"

    scene.exporter.until("an age with a bound", off, lambda seen: seen is None)


def test_what_is_not_ok_is_named_and_counted(scene: Scene) -> None:
    where = {"cluster": EXACT, "topic": ORDERS}
    wanted = {
        (BILLING, "2", "no_commit"): 1,
        (LATE, "0", "below_log_start"): 1, (LATE, "1", "no_commit"): 1, (LATE, "2", "no_commit"): 1,
        (AHEAD, "0", "no_commit"): 1, (AHEAD, "1", "beyond_log_end"): 1, (AHEAD, "2", "no_commit"): 1,
        (REPLAY, "0", "no_commit"): 1, (REPLAY, "2", "no_commit"): 1,
    }  # fmt: skip
    scene.exporter.shows(wanted, "mq_kafka_group_partition_state", ("group", "partition", "state"), **where)
    counts = {
        (BILLING, "ok"): 2, (BILLING, "no_commit"): 1,
        (LATE, "ok"): 0, (LATE, "below_log_start"): 1, (LATE, "no_commit"): 2,
        (AHEAD, "ok"): 0, (AHEAD, "beyond_log_end"): 1, (AHEAD, "no_commit"): 2,
        (REPLAY, "ok"): 1, (REPLAY, "no_commit"): 2,
    }  # fmt: skip
    scene.exporter.shows(counts, "mq_kafka_group_partitions", ("group", "state"), **where)


def test_a_record_from_the_future_is_a_state_and_no_age(scene: Scene) -> None:
    scene.exporter.shows({"future_timestamp": 1}, "mq_kafka_group_partition_state", "state", **at(EARLY, topic=FUTURE))
    scene.exporter.shows_value(1, "mq_kafka_group_lag_offsets", **at(EARLY, topic=FUTURE))
    scene.exporter.shows({}, "mq_kafka_group_oldest_message_age_seconds", "partition", **at(EARLY, topic=FUTURE))


def test_lag_counts_from_the_log_start_where_retention_has_passed_the_commit(scene: Scene) -> None:
    scene.exporter.shows({"0": WRITTEN[0] - LOG_START}, "mq_kafka_group_lag_offsets", "partition", **at(LATE))
    first_left = scene.times[0][LOG_START]
    scene.exporter.shows_age(first_left, "mq_kafka_group_oldest_message_age_seconds", **at(LATE))


def test_what_retention_took_before_it_was_read_is_counted(scene: Scene) -> None:
    wanted = {BILLING: 0, LATE: LOG_START, AHEAD: 0, REPLAY: 0}
    scene.exporter.shows(wanted, "mq_kafka_group_lost_offsets_total", "group", cluster=EXACT, topic=ORDERS)


def test_a_commit_beyond_the_end_has_no_lag_and_is_a_contradiction(scene: Scene) -> None:
    scene.exporter.shows({}, "mq_kafka_group_lag_offsets", "partition", **at(AHEAD))
    contradiction = {"cluster": EXACT, "contradiction": "commit_above_high_watermark"}
    scene.exporter.shows_value(1, "mq_exporter_contradictions_total", **contradiction)


def test_a_commit_that_goes_back_is_counted_as_a_rewind(scene: Scene) -> None:
    scene.exporter.shows_value(0, "mq_kafka_group_offset_rewinds_total", **at(REPLAY))
    scene.kafka.commit(REPLAY, ORDERS, {1: 3})
    scene.exporter.shows_value(1, "mq_kafka_group_offset_rewinds_total", **at(REPLAY))
    scene.exporter.shows({"1": 3}, "mq_kafka_group_committed_offset", "partition", **at(REPLAY))
    assert 3 == scene.committed(REPLAY)["1"]


def test_retention_used_is_the_unread_share_of_what_is_retained(scene: Scene) -> None:
    retained = {"0": WRITTEN[0] - LOG_START, "1": WRITTEN[1]}
    wanted = {partition: LAGS[partition] / count for partition, count in retained.items()}
    assert {"0": 0.75, "1": 0.375} == wanted
    scene.exporter.shows(wanted, "mq_kafka_group_retention_used_ratio", "partition", **at(BILLING))
    scene.exporter.shows_value(0.75, "mq_kafka_group_topic_retention_used_ratio", **at(BILLING))
    scene.exporter.shows_value(1, "mq_kafka_group_topic_retention_used_ratio", **at(LATE))


def test_the_hottest_partition_has_its_share_of_the_lag(scene: Scene) -> None:
    scene.exporter.shows_value(6 / 9, "mq_kafka_group_topic_hottest_partition_ratio", **at(BILLING))


def test_members_and_idle_ones_of_each_protocol_are_those_that_joined(scene: Scene) -> None:
    """Three members for two partitions; one in the share group; the others have only committed."""
    wanted = {BILLING: 0, LATE: 0, AHEAD: 0, REPLAY: 0, EARLY: 0, **dict.fromkeys(PROTOCOLS, 3)}
    wanted |= where_had({SHARE: 1}, "share_groups")
    scene.exporter.shows(wanted, "mq_kafka_group_members", "group", cluster=EXACT)
    idle = {**wanted, **dict.fromkeys(PROTOCOLS, 1)} | where_had({SHARE: 0}, "share_groups")
    scene.exporter.shows(idle, "mq_kafka_group_members_idle", "group", cluster=EXACT)


def test_groups_have_the_state_that_the_coordinator_gives_another_client(scene: Scene) -> None:
    words = {ConsumerGroupState.STABLE: "stable", ConsumerGroupState.EMPTY: "empty"}
    names = [BILLING, LATE, AHEAD, REPLAY, EARLY, *PROTOCOLS]
    described = scene.kafka.admin.describe_consumer_groups(names)
    wanted = {(name, words[found.result(30).state]): 1 for name, found in described.items()}
    assert {"stable", "empty"} == {state for _, state in wanted}
    wanted |= where_had({(SHARE, "stable"): 1}, "share_groups")
    scene.exporter.shows(wanted, "mq_kafka_group_state", ("group", "state"), cluster=EXACT)


def test_groups_have_their_protocol(scene: Scene) -> None:
    wanted = {(name, "classic"): 1 for name in (BILLING, LATE, AHEAD, REPLAY, EARLY)}
    wanted |= dict.fromkeys(PROTOCOLS.items(), 1)
    wanted |= where_had({(SHARE, "share"): 1}, "share_groups")
    scene.exporter.shows(wanted, "mq_kafka_group_info", ("group", "type"), cluster=EXACT)


@needs("share_groups")
def test_a_share_group_has_the_lag_of_what_is_not_acknowledged(scene: Scene) -> None:
    """Five were read and acknowledged, four wait."""
    scene.exporter.shows({"0": 4}, "mq_kafka_group_lag_offsets", "partition", **at(SHARE, topic=SHARED))
    scene.exporter.shows({"0": 5}, "mq_kafka_group_committed_offset", "partition", **at(SHARE, topic=SHARED))


@needs("streams_groups")
def test_a_streams_group_is_seen_like_any_other(scene: Scene) -> None:
    """A member with two partitions; then a commit, which keeps the group when its only member leaves."""
    scene.kafka._groups.append(STREAMS)
    member = StreamsMember(scene.kafka.client, STREAMS, JOINED)
    seen = scene.exporter.until(
        "a stable streams group",
        lambda page: (member.beat(), page.by("mq_kafka_group_state", "state", cluster=STREAMS)),
        lambda both: both[0] is None and both[1] == {"stable": 1},
    )
    assert (None, {"stable": 1}) == seen
    scene.exporter.shows({"streams": 1}, "mq_kafka_group_info", "type", cluster=STREAMS)
    scene.exporter.shows({STREAMS: 1}, "mq_kafka_group_members", "group", cluster=STREAMS)
    scene.exporter.shows({STREAMS: 0}, "mq_kafka_group_members_idle", "group", cluster=STREAMS)
    assert member.commit(0) is None
    member.close()
    scene.exporter.shows({"empty": 1}, "mq_kafka_group_state", "state", cluster=STREAMS)
    scene.exporter.shows({STREAMS: 0}, "mq_kafka_group_members", "group", cluster=STREAMS)


@pytest.mark.parametrize("group", [CLASSIC, pytest.param(CONSUMER, marks=needs("consumer_groups"))])
def test_a_group_at_work_shows_the_lag_of_what_it_has_not_committed(scene: Scene, group: str) -> None:
    scene.kafka.produce(JOINED, 4)
    owner = next(one for one in scene.consumers[group] if any(row.partition == 0 for row in one.assignment()))
    row = next(row for row in owner.assignment() if row.partition == 0)
    row.offset = end_of(scene.kafka, JOINED) - 1
    owner.commit(offsets=[row], asynchronous=False)
    scene.exporter.shows_value(1, "mq_kafka_group_lag_offsets", partition="0", **at(group, topic=JOINED))


def end_of(kafka: LagWorld, topic: str) -> int:
    asked = TopicPartition(topic, 0)
    return int(kafka.admin.list_offsets({asked: OffsetSpec.latest()})[asked].result(30).offset)


PER_PARTITION = (
    "mq_kafka_group_committed_offset",
    "mq_kafka_group_lag_offsets",
    "mq_kafka_group_oldest_message_age_seconds",
    "mq_kafka_group_partition_state",
    "mq_kafka_group_retention_used_ratio",
)


def test_granularity_by_topic_leaves_out_partitions_and_keeps_totals(scene: Scene) -> None:
    scene.exporter.shows_value(9, "mq_kafka_group_topic_lag_offsets", **at(BILLING, BY_TOPIC))
    page = scene.exporter.page()
    assert {} == {name: rows for name in PER_PARTITION if (rows := page.by(name, "group", cluster=BY_TOPIC))}


def test_a_group_that_nobody_uses_leaves_the_partitions_and_is_counted(scene: Scene) -> None:
    skipped = {"cluster": SHORT, "reason": "abandoned_group"}
    scene.exporter.until(
        "the abandoned group is counted",
        lambda page: page.by("mq_exporter_items_skipped", "collector", **skipped),
        lambda seen: sum(seen.values()) == 1,
    )
    scene.exporter.shows({}, "mq_kafka_group_lag_offsets", "partition", cluster=SHORT)
    scene.exporter.shows_value(9, "mq_kafka_group_topic_lag_offsets", **at(BILLING, SHORT))
