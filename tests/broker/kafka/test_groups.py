"""Groups of every protocol on real brokers."""

from __future__ import annotations

from collections.abc import Callable

from confluent_kafka import ShareConsumer

from exporter.clients.kafka.reader import KafkaReader
from exporter.model.common import DeadLetterSource
from exporter.model.kafka import Group
from tests.broker.kafka.lag_world import GROUP, LagWorld, ages, group_of, lags, problems, row_of, wait
from tests.versions import needs

Name = Callable[[str], str]


def joined(reader: KafkaReader, group: str, consumers: list, members: int) -> Group:  # type: ignore[type-arg]
    """The group once it is stable with so many members, polling the consumers meanwhile."""

    def look() -> Group | None:
        for consumer in consumers:
            consumer.poll(0.05)
        found = [seen for seen in reader.poll().groups if seen.name == group]
        return found[0] if found else None

    seen = wait(look, lambda g: g is not None and g.state == "stable" and g.members == members, GROUP)
    assert seen is not None
    return seen


def test_a_classic_group_shows_members_idle_ones_and_assigned_partitions(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic"), 2), fresh_name("group")
    kafka.produce(topic, 3, 1)
    reader = kafka.reader(topic, group)
    with kafka.members(group, topic, 3) as consumers:
        seen = joined(reader, group, consumers, 3)
        assert (seen.type, seen.state, seen.members, seen.members_idle) == ("classic", "stable", 3, 1)
        row = row_of(reader.poll(), group, topic)
        assert (lags(row), dict(row.states), dict(row.counts)) == ({}, {1: "no_commit"}, {"ok": 1, "no_commit": 1})
    left = wait(lambda: _of(reader, group), lambda seen: not any(one.members for one in seen))
    assert {"empty"} >= {one.state for one in left}


def _of(reader: KafkaReader, group: str) -> list[Group]:
    """The group, if the broker still has it: one that never committed may go at once."""
    return [seen for seen in reader.poll().groups if seen.name == group]


@needs("consumer_groups")
def test_a_group_of_the_new_protocol_is_read_like_any_other(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic"), 2), fresh_name("group")
    kafka.produce(topic, 4)
    reader = kafka.reader(topic, group)
    with kafka.members(group, topic, 3, **{"group.protocol": "consumer"}) as consumers:
        joined(reader, group, consumers, 3)
        settled = wait(lambda: group_of(reader.poll(), group), lambda seen: seen.members_idle == 1)
        assert (settled.type, settled.members) == ("consumer", 3)
        owner = next(c for c in consumers if any(row.partition == 0 for row in c.assignment()))
        row = owner.assignment()[0]
        row.offset = 3
        owner.commit(offsets=[row], asynchronous=False)
        snapshot = reader.poll()
        assert lags(row_of(snapshot, group, topic)) == {0: 1}
        assert problems(snapshot) == {}


@needs("share_groups")
def test_a_share_group_has_the_brokers_own_lag(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    kafka.produce(topic, 5)
    kafka.set_group(group, "share.auto.offset.reset", "earliest")
    reader = kafka.reader(topic, group)
    consumer = ShareConsumer({**kafka.client, "group.id": group})
    try:
        consumer.subscribe([topic])
        taken = wait(lambda: consumer.poll(1.0), bool)
        assert taken
        seen = wait(reader.poll, lambda s: any(g.name == group and g.topics and g.topics[0].lags for g in s.groups))
        shared = group_of(seen, group)
        assert (shared.type, shared.members) == ("share", 1)
        row = row_of(seen, group, topic)
        assert 0 <= (lags(row)[0] or 0) <= 5
        assert ages(row)[0] is not None
        assert problems(seen) == {}
    finally:
        consumer.close()


def test_a_deleted_group_is_gone_and_an_expected_one_is_named(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    kafka.commit(group, topic, {0: 0})
    reader = kafka.reader(topic, group, expected_groups=(group,), expected_brokers=3)
    assert [seen.name for seen in reader.poll().groups] == [group]
    kafka.admin.delete_consumer_groups([group])[group].result(10)
    snapshot = reader.poll()
    assert (snapshot.groups, snapshot.expected.groups, snapshot.expected.brokers) == ((), (group,), 3)


@needs("share_group_dead_letters")
def test_a_share_groups_dead_letter_topic_is_found_by_its_configuration(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    dlq = f"dlq.{topic}"
    kafka.create(dlq, errors_deadletterqueue_group_enable="true")
    kafka.set_group(group, "errors.deadletterqueue.topic.name", dlq)
    reader = kafka.reader(topic, dlq, group)
    consumer = ShareConsumer({**kafka.client, "group.id": group})
    try:
        consumer.subscribe([topic])
        joined(reader, group, [consumer], 1)
        snapshot = wait(reader.poll, lambda seen: len(seen.dead_letter_sources) == 3)
    finally:
        consumer.close()
    assert snapshot.dead_letter_sources == (
        DeadLetterSource(dlq, "", group, "share_group"),
        DeadLetterSource(dlq, "", topic, "pattern"),
        DeadLetterSource(dlq, "", topic, "topic_config"),
    )


def test_a_dead_letter_topic_counts_what_its_handler_has_not_read(kafka: LagWorld, fresh_name: Name) -> None:
    source = kafka.create(fresh_name("topic"))
    topic, group = kafka.create(f"{source}.DLQ", 2), fresh_name("group")
    kafka.produce(topic, 4, 0)
    kafka.produce(topic, 3, 1)
    reader = kafka.reader(source, topic, group)
    alone = reader.poll().dead_letter_queues[0]
    assert (alone.name, alone.depth, alone.unhandled, alone.arrivals) == (topic, 7, 7, 7)
    assert alone.oldest_age_seconds is not None
    assert 0 < alone.oldest_age_seconds < 60
    assert alone.time_to_deletion_seconds is not None
    assert 604000 < alone.time_to_deletion_seconds < 604800

    kafka.commit(group, topic, {0: 4, 1: 1})
    snapshot = reader.poll()
    handled = snapshot.dead_letter_queues[0]
    assert (handled.depth, handled.unhandled) == (7, 2)
    assert snapshot.dead_letter_sources == (DeadLetterSource(topic, "", source, "pattern"),)

    kafka.commit(group, topic, {0: 4, 1: 3})
    done = reader.poll().dead_letter_queues[0]
    assert (done.unhandled, done.oldest_age_seconds, done.time_to_deletion_seconds) == (0, 0.0, None)
