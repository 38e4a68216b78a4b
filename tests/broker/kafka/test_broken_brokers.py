"""Brokers that hang, die or have lost a partition cost their own data and nobody else's."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator

import pytest

from drills.lab import Lab
from exporter.clients.kafka.brokers import Brokers
from exporter.clients.kafka.controllers import QuorumReader
from exporter.clients.kafka.lost import LostAddresses
from exporter.clients.kafka.memory import Memory
from exporter.clients.kafka.messages import quorum
from exporter.clients.kafka.reader import KafkaReader
from exporter.model.common import CollectorRun, Kind
from exporter.model.kafka import KafkaSnapshot
from tests.broker.kafka.lag_world import LagWorld, lags, problems, row_of, topic_of, wait
from tests.mutations import MUTATIONS, fails_under, mutation

Name = Callable[[str], str]
TIMEOUT = 4.0
VICTIM = 2
NO_LEADER = -1
FIRST_CONTROLLER_ID = 100


@mutation
def frozen_brokers_are_asked_again(patch: pytest.MonkeyPatch) -> None:
    """Forget before each request that a broker was late."""
    plain = Brokers.connect

    def forgetful(brokers: Brokers, wanted: Collection[int]) -> None:
        brokers._down.clear()
        plain(brokers, wanted)

    patch.setattr(Brokers, "connect", forgetful)


@mutation
def silent_groups_count_as_gone(patch: pytest.MonkeyPatch) -> None:
    """Take a group that nobody listed for deleted, whether its coordinator answered or not."""
    patch.setattr(Memory, "withheld", lambda *_: [])


@mutation
def lost_addresses_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """An address that no request of the poll goes to is not on the page."""
    patch.setattr(LostAddresses, "endpoints", lambda _: {})


@pytest.fixture
def broken(breakable_lab: Lab) -> Iterator[LagWorld]:
    """The cluster of a lab whose nodes the test may break."""
    made = LagWorld(breakable_lab.kafka)
    yield made
    made.close()


def spread(kafka: LagWorld, fresh_name: Name) -> tuple[str, list[str]]:
    """A topic with one replica of one partition on each broker, and twelve groups, so that each coordinates some."""
    topic = kafka.create_placed(fresh_name("topic"), [[1], [2], [3]], min_insync_replicas="1")
    for partition in range(3):
        kafka.produce(topic, 5, partition)
    groups = [f"{fresh_name('group')}-{number}" for number in range(12)]
    for group in groups:
        kafka.commit(group, topic, {0: 1, 1: 1, 2: 1})
    return topic, groups


def run_of(snapshot: KafkaSnapshot, name: str) -> CollectorRun:
    return next(run for run in snapshot.runs if run.name == name)


def coordinated_by(reader: KafkaReader, broker: int) -> set[str]:
    return {group for group, where in reader._parts.memory.coordinators.items() if where == broker}


def test_a_frozen_broker_costs_one_timeout_and_only_its_own_data(
    breakable_lab: Lab, broken: LagWorld, fresh_name: Name
) -> None:
    topic, groups = spread(broken, fresh_name)
    reader = broken.reader(topic, *groups, timeout=TIMEOUT)
    healthy = reader.poll()
    assert {group.name for group in healthy.groups} == set(groups)
    assert problems(healthy) == {}
    counts = {broker: len(coordinated_by(reader, broker)) for broker in healthy.brokers}
    victim = min((broker for broker in counts if counts[broker]), key=lambda broker: counts[broker])
    others = set(groups) - coordinated_by(reader, victim)
    breakable_lab.node(f"kafka-{victim}").pause()
    try:
        check_frozen(reader, topic, others, victim)
        fails_under("frozen_brokers_are_asked_again", check_frozen, reader, topic, others, victim)
    finally:
        breakable_lab.node(f"kafka-{victim}").resume()
    back = wait(reader.poll, lambda seen: not problems(seen) and len(seen.groups) == 12)
    assert lags(row_of(back, groups[0], topic)) == {0: 4, 1: 4, 2: 4}


def check_frozen(reader: KafkaReader, topic: str, others: set[str], victim: int) -> None:
    """The poll takes about one timeout; all that does not need the frozen broker is there."""
    started = time.monotonic()
    snapshot = reader.poll()
    took = time.monotonic() - started
    assert took < TIMEOUT * 1.5 + 1, f"a poll of {took:.1f} s"
    assert sorted(snapshot.endpoints.values()) == [False, True, True]
    assert others <= {group.name for group in snapshot.groups}
    seen = topic_of(snapshot, topic)
    expected = tuple(None if leader in (victim, NO_LEADER) else 5 for leader in seen.leaders)
    assert (seen.high_watermarks, expected.count(5)) == (expected, 2)
    for group in others:
        known = {partition: None if high is None else high - 1 for partition, high in enumerate(expected)}
        assert lags(row_of(snapshot, group, topic)) == known
    assert not run_of(snapshot, "offsets").success


def check_withheld(snapshot: KafkaSnapshot, reader: KafkaReader) -> None:
    """Groups whose coordinator does not answer are counted, and what is remembered of them is kept."""
    missing = 12 - len(snapshot.groups)
    assert run_of(snapshot, "groups").skipped.get("unreachable_group", 0) == missing
    assert len(reader._parts.memory.histories) == 12


def test_a_killed_broker_is_down_and_its_lonely_partition_unreadable(
    breakable_lab: Lab, broken: LagWorld, fresh_name: Name
) -> None:
    topic, groups = spread(broken, fresh_name)
    reader = broken.reader(topic, *groups, timeout=TIMEOUT)
    assert reader.poll().brokers == {1: True, 2: True, 3: True}
    breakable_lab.node(f"kafka-{VICTIM}").kill()
    try:
        check_killed(breakable_lab, reader, topic, groups)
        for watching in (reader, broken.reader(topic, timeout=TIMEOUT)):  # one that never saw it alive, too
            check_a_fenced_broker_is_an_address_that_does_not_answer(breakable_lab, watching)
            check = check_a_fenced_broker_is_an_address_that_does_not_answer
            fails_under("lost_addresses_are_forgotten", check, breakable_lab, watching, 0.0)
    finally:
        breakable_lab.node(f"kafka-{VICTIM}").start()
    back = wait(reader.poll, lambda seen: not problems(seen) and seen.brokers == {1: True, 2: True, 3: True})
    assert lags(row_of(back, groups[0], topic)) == {0: 4, 1: 4, 2: 4}
    assert set(back.endpoints.values()) == {True}


def check_killed(lab: Lab, reader: KafkaReader, topic: str, groups: list[str]) -> None:
    """At once nothing but the dead broker's data is missing; then it is fenced and its lonely partition offline."""
    first = reader.poll()
    kinds = {problem.kind for run in first.runs for problem in run.problems}
    assert kinds <= {Kind.UNREACHABLE}
    assert first.endpoints[f"127.0.0.1:{lab.ports.broker(VICTIM)}"] is False

    def told(seen: KafkaSnapshot) -> bool:
        """Fenced, without a leader, every group moved: brokers hear of these one after the other."""
        lonely = topic_of(seen, topic).leaders[VICTIM - 1]
        return (seen.brokers.get(VICTIM), lonely, len(seen.groups)) == (False, NO_LEADER, 12)

    fenced = wait(reader.poll, told)
    assert fenced.brokers == {1: True, 2: False, 3: True}
    assert fenced.endpoints[f"127.0.0.1:{lab.ports.broker(VICTIM)}"] is False
    seen = topic_of(fenced, topic)
    assert (seen.leaders, seen.high_watermarks) == ((1, -1, 3), (5, None, 5))
    row = row_of(fenced, groups[0], topic)
    assert (lags(row), dict(row.states)) == ({0: 4, 1: None, 2: 4}, {1: "unreadable"})
    assert dict(row.counts) == {"ok": 2, "unreadable": 1}
    assert any("no leader" in problem.detail for problem in run_of(fenced, "offsets").problems)


def check_a_fenced_broker_is_an_address_that_does_not_answer(
    lab: Lab, reader: KafkaReader, seconds: float = 40.0
) -> None:
    """Its address stays 0 for as long as the broker is a member that is down, though metadata does not name it."""
    expected = {f"127.0.0.1:{lab.ports.broker(number)}": number != VICTIM for number in (1, 2, 3)}
    wait(lambda: dict(reader.poll().endpoints), lambda seen: seen == expected, seconds)


def test_groups_of_a_broker_that_is_gone_are_counted_until_they_move(
    breakable_lab: Lab, broken: LagWorld, fresh_name: Name
) -> None:
    topic, groups = spread(broken, fresh_name)
    reader, blind = broken.reader(topic, *groups, timeout=TIMEOUT), broken.reader(topic, *groups, timeout=TIMEOUT)
    reader.poll()
    blind.poll()
    coordinators = set(reader._parts.memory.coordinators.values())
    victim = max(coordinators, key=lambda broker: len(coordinated_by(reader, broker)))
    breakable_lab.node(f"kafka-{victim}").kill()
    try:
        check_withheld(reader.poll(), reader)
        with MUTATIONS["silent_groups_count_as_gone"](), pytest.raises(AssertionError):
            check_withheld(blind.poll(), blind)
    finally:
        breakable_lab.node(f"kafka-{victim}").start()


@mutation
def quorum_shares_the_connections(patch: pytest.MonkeyPatch) -> None:
    """Ask about the quorum on the connections that everything else uses."""
    patch.setattr(QuorumReader, "_ask_one", lambda self: self._brokers.ask_first(55, 0, 2, quorum.request))


def test_controllers_that_hang_cost_nothing_but_the_quorums_own_data(
    breakable_lab: Lab, broken: LagWorld, fresh_name: Name
) -> None:
    topic, groups = spread(broken, fresh_name)
    reader = broken.reader(topic, *groups, timeout=TIMEOUT, slow_interval=0.001)
    healthy = wait(reader.poll, lambda seen: not problems(seen) and len(seen.groups) == 12)
    assert healthy.quorum is not None
    leader = healthy.quorum.leader - FIRST_CONTROLLER_ID
    # the leader and one more: the third can't be elected alone, and one that comes back finds a majority
    controllers = [breakable_lab.node(f"kafka-controller-{number}") for number in (leader, leader % 3 + 1)]
    for controller in controllers:
        controller.pause()
    try:
        check_controllers_frozen(reader)
        fails_under("quorum_shares_the_connections", check_controllers_frozen, reader)
    finally:
        for controller in controllers:
            controller.resume()
    wait(reader.poll, lambda seen: not problems(seen) and len(seen.groups) == 12)


def check_controllers_frozen(reader: KafkaReader) -> None:
    """The quorum can't be asked; every partition and group is there, and the poll takes about one timeout."""
    started = time.monotonic()
    snapshot = reader.poll()
    took = time.monotonic() - started
    failed = {run.name: {problem.kind for problem in run.problems} for run in snapshot.runs if not run.success}
    assert failed == {"quorum": {Kind.TIMEOUT}}
    assert took < TIMEOUT * 1.5 + 1, f"a poll of {took:.1f} s"
    assert set(snapshot.endpoints.values()) == {True}
    assert len(snapshot.groups) == 12


def test_a_cluster_that_is_away_gives_a_snapshot_that_says_why() -> None:
    reader = LagWorld("127.0.0.1:1").reader()
    snapshot = reader.poll()
    assert (snapshot.topics, snapshot.groups, dict(snapshot.brokers)) == ((), (), {})
    assert dict(snapshot.endpoints) == {"127.0.0.1:1": False}
    assert {run.name for run in snapshot.runs if not run.success} >= {"topics", "groups", "commits", "offsets"}
    assert "127.0.0.1:1: connection refused" in snapshot.runs[0].problems[0].detail
