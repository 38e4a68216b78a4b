"""Lag, states and counters of groups on real brokers."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from exporter.clients.kafka import reader as reader_module
from exporter.clients.kafka.reading import Reading
from exporter.clients.kafka.recorder import Recorder
from exporter.clients.kafka.topics import TopicReader, Topics
from exporter.metrics import kafka_group_offsets, kafka_group_topics
from exporter.model.kafka import GroupTopic
from tests.broker.kafka.lag_world import LagWorld, ages, group_of, lags, problems, row_of, topic_of, wait
from tests.mutations import fails_under, mutation

Name = Callable[[str], str]
Step = Callable[[Reading], None]


@mutation
def ends_before_commits(patch: pytest.MonkeyPatch) -> None:
    """Read the ends first: a consumer that keeps up then seems to be beyond the end."""
    patch.setattr(reader_module, "ORDER", (Reading.read_ends, Reading.read_commits))


def test_lag_is_high_watermark_minus_commit_on_every_partition(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic"), 3), fresh_name("group")
    for partition, count in enumerate((10, 5, 0)):
        kafka.produce(topic, count, partition)
    kafka.commit(group, topic, {0: 4, 1: 5, 2: 0})

    snapshot = kafka.reader(topic, group).poll()

    row = row_of(snapshot, group, topic)
    assert lags(row) == {0: 6, 1: 0, 2: 0}
    assert dict(zip(row.partitions, row.committed, strict=True)) == {0: 4, 1: 5, 2: 0}
    assert dict(row.counts) == {"ok": 3}
    assert (row.lost, row.rewinds) == (0, 0)
    seen = ages(row)
    assert seen[1] == seen[2] == 0.0
    assert seen[0] is not None
    assert 0 <= seen[0] < 60
    assert problems(snapshot) == {}
    assert all(run.success for run in snapshot.runs)
    assert group_of(snapshot, group).members == 0
    assert topic_of(snapshot, topic).high_watermarks == (10, 5, 0)


def test_commits_are_read_before_ends(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    check_commits_are_read_before_ends(kafka, topic, group)
    fails_under("ends_before_commits", check_commits_are_read_before_ends, kafka, topic, group)


def check_commits_are_read_before_ends(kafka: LagWorld, topic: str, group: str) -> None:
    """A consumer that is always caught up never has a commit beyond the end, whenever the poll looks."""
    reader, bystander = kafka.reader(topic, group), kafka.reader(topic)

    def then_progress(step: Step) -> Step:
        def stepped(reading: Reading) -> None:
            step(reading)
            if reading.parts is reader._parts:
                kafka.produce(topic, 1)
                end = topic_of(bystander.poll(), topic).high_watermarks[0]
                kafka.commit(group, topic, {0: end or 0})

        return stepped

    kafka.produce(topic, 1)
    kafka.commit(group, topic, {0: topic_of(bystander.poll(), topic).high_watermarks[0] or 0})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader_module, "ORDER", tuple(map(then_progress, reader_module.ORDER)))
        row = row_of(reader.poll(), group, topic)
    assert dict(row.states) == {}
    assert lags(row) == {0: 1}


def test_records_without_a_commit_are_a_state_and_not_a_number(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic"), 3), fresh_name("group")
    kafka.produce(topic, 3, 0)
    kafka.produce(topic, 3, 1)
    kafka.commit(group, topic, {0: 1})

    row = row_of(kafka.reader(topic, group).poll(), group, topic)

    assert lags(row) == {0: 2}
    assert dict(row.states) == {1: "no_commit"}
    assert dict(row.counts) == {"ok": 2, "no_commit": 1}


def test_offsets_deleted_before_they_were_read_are_counted_once(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    kafka.produce(topic, 10)
    kafka.commit(group, topic, {0: 2})
    reader = kafka.reader(topic, group)
    assert row_of(reader.poll(), group, topic).lost == 0
    kafka.delete_records(topic, 7)

    row = row_of(reader.poll(), group, topic)
    assert lags(row) == {0: 3}
    assert dict(row.states) == {0: "below_log_start"}
    assert row.lost == 5
    assert row_of(reader.poll(), group, topic).lost == 5
    kafka.delete_records(topic, 8)
    assert row_of(reader.poll(), group, topic).lost == 6
    kafka.commit(group, topic, {0: 10})
    row = row_of(reader.poll(), group, topic)
    assert (row.lost, dict(row.states), lags(row)) == (6, {}, {0: 0})


def test_a_commit_beyond_the_end_is_a_state_and_a_contradiction(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    kafka.produce(topic, 3)
    kafka.commit(group, topic, {0: 9})
    reader = kafka.reader(topic, group)

    first, second = reader.poll(), reader.poll()

    for snapshot in (first, second):
        row = row_of(snapshot, group, topic)
        assert (lags(row), ages(row), dict(row.states)) == ({0: None}, {0: None}, {0: "beyond_log_end"})
        assert snapshot.contradictions["commit_above_high_watermark"] == 1


def test_a_commit_that_goes_back_is_a_rewind(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    kafka.produce(topic, 5)
    kafka.commit(group, topic, {0: 5})
    reader = kafka.reader(topic, group)
    assert row_of(reader.poll(), group, topic).rewinds == 0
    kafka.commit(group, topic, {0: 1})
    row = row_of(reader.poll(), group, topic)
    assert (row.rewinds, lags(row)) == (1, {0: 4})


@mutation
def deleted_topics_linger(patch: pytest.MonkeyPatch) -> None:
    """Go on with the topics of the first poll."""
    plain, first = TopicReader.read, {}

    def lingering(reader: TopicReader, run: Recorder) -> Topics | None:
        return first.setdefault(id(reader), plain(reader, run))

    patch.setattr(TopicReader, "read", lingering)


def test_deleted_topics_and_groups_are_gone_at_the_next_poll(kafka: LagWorld, fresh_name: Name) -> None:
    check_deleted_are_gone(kafka, fresh_name)
    fails_under("deleted_topics_linger", check_deleted_are_gone, kafka, lambda kind: fresh_name(f"{kind}-again"))


def check_deleted_are_gone(kafka: LagWorld, fresh_name: Name) -> None:
    """A topic and a group that were there in one poll are not in the next one after they were deleted."""
    topic, other = kafka.create(fresh_name("topic")), kafka.create(fresh_name("other"))
    group, second = fresh_name("group"), fresh_name("second")
    for name in (topic, other):
        kafka.produce(name, 1)
    kafka.commit(group, topic, {0: 0})
    kafka.commit(group, other, {0: 0})
    kafka.commit(second, other, {0: 0})
    reader = kafka.reader(topic, other, group, second)
    before = reader.poll()
    assert {name.name for name in before.topics} == {topic, other}
    assert {name.name for name in before.groups} == {group, second}

    kafka.delete(topic)
    kafka.admin.delete_consumer_groups([second])[second].result(10)
    snapshot = reader.poll()

    assert [name.name for name in snapshot.topics] == [other]
    assert [(g.name, [row.topic for row in g.topics]) for g in snapshot.groups] == [(group, [other])]
    assert problems(snapshot) == {}


def test_a_topic_made_anew_starts_afresh(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    kafka.produce(topic, 10)
    kafka.commit(group, topic, {0: 8})
    reader = kafka.reader(topic, group)
    first = topic_of(reader.poll(), topic)
    kafka.commit(group, topic, {0: 2})
    assert row_of(reader.poll(), group, topic).rewinds == 1

    kafka.delete(topic)
    kafka.create(topic)
    kafka.produce(topic, 3)
    kafka.commit(group, topic, {0: 1})
    snapshot = reader.poll()

    assert topic_of(snapshot, topic).topic_id != first.topic_id
    row = row_of(snapshot, group, topic)
    assert (lags(row), row.rewinds, row.lost, dict(row.states)) == ({0: 2}, 0, 0, {})


@pytest.mark.parametrize("odd", ['quo"te', "back\\slash", "new\nline", "ünïcødé ☕", "per%2Fcent", "/", " spaces "])
def test_any_group_id_is_read(kafka: LagWorld, fresh_name: Name, odd: str) -> None:
    topic, group = kafka.create(fresh_name("topic")), f"{fresh_name('g')}{odd}"
    kafka.produce(topic, 2)
    kafka.commit(group, topic, {0: 1})

    snapshot = kafka.reader(topic, r"(?s)g-.*").poll()

    assert lags(row_of(snapshot, group, topic)) == {0: 1}


def transactional(kafka: LagWorld, name: str) -> Producer:
    producer = Producer({**kafka.client, "transactional.id": name, "acks": "all"})
    producer.init_transactions(60)
    return producer


def test_nothing_but_transaction_markers_left_is_caught_up(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    producer = transactional(kafka, fresh_name("tx"))
    producer.begin_transaction()
    producer.produce(topic, b"one", partition=0)
    producer.commit_transaction(60)
    kafka.commit(group, topic, {0: 1})

    snapshot = wait(
        kafka.reader(topic, group).poll, lambda seen: topic_of(seen, topic).last_stables == (2,)
    )  # the marker is written asynchronously

    row = row_of(snapshot, group, topic)
    assert topic_of(snapshot, topic).high_watermarks == (2,)
    assert (lags(row), ages(row), dict(row.counts)) == ({0: 0}, {0: 0.0}, {"ok": 1})


def test_an_open_transaction_shows_as_age_and_as_a_gap(kafka: LagWorld, fresh_name: Name) -> None:
    topic = kafka.create(fresh_name("topic"))
    kafka.produce(topic, 2)
    producer = transactional(kafka, fresh_name("tx"))
    reader = kafka.reader(topic)
    assert dict(topic_of(reader.poll(), topic).open_transactions) == {}
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    assert producer.flush(30) == 0
    began = time.time()

    snapshot = reader.poll()
    seen = topic_of(snapshot, topic)
    assert (seen.last_stables, seen.high_watermarks) == ((2,), (3,))
    assert 0 <= seen.open_transactions[0] <= time.time() - began + 2
    # a new exporter sees the same age: it is the record's and not counted by us
    again = topic_of(kafka.reader(topic).poll(), topic).open_transactions[0]
    assert 0 <= again - seen.open_transactions[0] < 10

    producer.abort_transaction(60)
    closed = wait(reader.poll, lambda s: topic_of(s, topic).last_stables == (4,))
    assert dict(topic_of(closed, topic).open_transactions) == {}


def test_asking_never_creates_a_topic(kafka: LagWorld, fresh_name: Name) -> None:
    missing, group = fresh_name("missing"), fresh_name("group")
    real = kafka.create(fresh_name("topic"))
    kafka.commit(group, real, {0: 0})
    kafka.reader(missing, real, group).poll()
    assert missing not in kafka.admin.list_topics(timeout=10).topics


def test_future_timestamps_are_a_state_and_not_a_negative_age(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    kafka.produce(topic, 1, timestamp=int((time.time() + 3000) * 1000))
    kafka.commit(group, topic, {0: 0})
    row: GroupTopic = row_of(kafka.reader(topic, group).poll(), group, topic)
    assert (lags(row), ages(row), dict(row.states)) == ({0: 1}, {0: None}, {0: "future_timestamp"})


def test_an_abandoned_group_keeps_its_totals_and_is_counted(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    kafka.produce(topic, 3)
    kafka.commit(group, topic, {0: 1})
    reader = kafka.reader(topic, group, abandoned_after=0.2)
    assert group_of(reader.poll(), group).abandoned is False
    snapshot = wait(reader.poll, lambda seen: group_of(seen, group).abandoned)
    assert {run.name: dict(run.skipped) for run in snapshot.runs if run.skipped} == {"commits": {"abandoned_group": 1}}
    assert all(run.success for run in snapshot.runs)
    measured = kafka_group_offsets.measure(snapshot)
    assert [len(samples) for samples in measured.values()] == [0, 0, 0, 0]
    assert kafka_group_topics.measure(snapshot)[kafka_group_topics.LAG] == {(group, topic): 2}
    kafka.commit(group, topic, {0: 2})
    assert group_of(reader.poll(), group).abandoned is False


def test_history_survives_a_restart(kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    kafka.produce(topic, 10)
    kafka.commit(group, topic, {0: 5})
    first = kafka.reader(topic, group)
    first.poll()
    kafka.commit(group, topic, {0: 3})
    assert row_of(first.poll(), group, topic).rewinds == 1

    second = kafka.reader(topic, group)
    second.restore(first.state())
    kafka.commit(group, topic, {0: 2})
    assert row_of(second.poll(), group, topic).rewinds == 2
