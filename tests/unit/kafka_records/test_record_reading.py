"""Reading at many positions: few bytes, every broker version, errors of one partition for that partition alone."""

from __future__ import annotations

import time

import pytest

from exporter.clients.kafka import record_cache, record_probe, record_reading
from exporter.clients.kafka.failures import Failure
from exporter.clients.kafka.record_reading import ALONE_FROM, FIRST_BYTES
from exporter.clients.kafka.record_times import ASK_DENIED_AGAIN, RecordTimes
from exporter.clients.kafka.wire import NO_TOPIC_ID
from exporter.model.common import Kind, Problem
from exporter.model.record_time import CAUGHT_UP, Position, RecordTime, Wanted
from tests.mutations import fails_under, mutation
from tests.unit.kafka_records.record_bytes import TRANSACTIONAL, batch, marker
from tests.unit.kafka_records.scripted_brokers import TOPIC_ID, Log, ScriptedBrokers


def log_of(*batches: bytes, **more: object) -> Log:
    """Batches that follow each other."""
    spans, at = [], 0
    for raw in batches:
        last = int.from_bytes(raw[:8], "big") + int.from_bytes(raw[23:27], "big")
        spans.append((at, last, raw))
        at = last + 1
    return Log(spans, **more)  # type: ignore[arg-type]


def simple(base: int = 0, count: int = 10, size: int = 5) -> bytes:
    """Record n is stamped at n seconds."""
    return batch(base, [(n, 1000 * (base + n)) for n in range(count)], value=b"v" * size)


def find(
    brokers: ScriptedBrokers, wanted: list[Wanted], times: RecordTimes | None = None
) -> dict[Position, RecordTime]:
    times = times or RecordTimes(interval=15, budget=5)
    times.begin()
    return times.find(wanted, brokers)  # type: ignore[arg-type]


def exact(partition: int, offset: int, seconds: float) -> tuple[Position, RecordTime]:
    return ("orders", partition, offset), RecordTime(seconds)


@pytest.mark.parametrize(("versions", "used"), [((4, 11), 11), ((0, 12), 12), ((4, 17), 13)])
def test_every_version_of_fetch_finds_the_same(versions: tuple[int, int], used: int) -> None:
    brokers = ScriptedBrokers({0: log_of(simple(), simple(10)), 1: log_of(simple())}, fetch_versions=versions)
    found = find(brokers, brokers.wanted((0, 3), (0, 12), (1, 0)))
    assert dict([exact(0, 3, 3), exact(0, 12, 12), exact(1, 0, 0)]) == found
    assert [(used, 1, [(0, 3, FIRST_BYTES), (1, 0, FIRST_BYTES)])] == brokers.asked


def test_a_topic_without_an_id_is_asked_by_its_name() -> None:
    brokers = ScriptedBrokers({0: log_of(simple())})
    assert dict([exact(0, 3, 3)]) == find(brokers, brokers.wanted((0, 3), topic_id=NO_TOPIC_ID))
    assert [12] == [version for version, _, _ in brokers.asked]


def test_a_broker_that_is_too_old_is_named_as_unsupported() -> None:
    brokers = ScriptedBrokers({0: log_of(simple())}, fetch_versions=(0, 10))
    times = RecordTimes(interval=15, budget=5)
    find(brokers, brokers.wanted((0, 3)), times)
    assert [Problem(Kind.UNSUPPORTED, "broker 1", "broker 1 does not know Fetch v11")] == times.problems


def test_batches_that_do_not_fit_are_asked_for_again_and_at_last_alone() -> None:
    sizes = {0: 5, 1: FIRST_BYTES, 2: FIRST_BYTES, 3: ALONE_FROM, 4: 3 * ALONE_FROM}
    brokers = ScriptedBrokers({p: log_of(simple(count=2, size=size)) for p, size in sizes.items()})
    found = find(brokers, brokers.wanted(*((p, 1) for p in sizes)))
    assert dict(exact(p, 1, 1) for p in sizes) == found
    first = [(p, 1, FIRST_BYTES) for p in sizes]
    again = [(p, 1, ALONE_FROM) for p in (2, 3, 4)]  # 1 was the second with data: too large, yet 0 came first
    assert [(13, 1, first), (13, 1, [(1, 1, ALONE_FROM), *again])] == brokers.asked[:2]
    assert [[(3, 1, ALONE_FROM)], [(4, 1, ALONE_FROM)]] == [rows for _, _, rows in brokers.asked[2:]]


def test_several_positions_in_one_batch_cost_one_read() -> None:
    brokers = ScriptedBrokers({0: log_of(simple(count=50))})
    found = find(brokers, brokers.wanted(*((0, offset) for offset in range(50))))
    assert dict(exact(0, offset, offset) for offset in range(50)) == found
    assert len(brokers.asked) == 1


def test_positions_far_apart_in_one_partition_are_all_read() -> None:
    brokers = ScriptedBrokers({0: log_of(*(simple(base, size=400) for base in range(0, 1000, 10)))})
    found = find(brokers, brokers.wanted((0, 5), (0, 500), (0, 999), (0, 1000)))
    assert dict([exact(0, 5, 5), exact(0, 500, 500), exact(0, 999, 999), (("orders", 0, 1000), CAUGHT_UP)]) == found


def test_a_position_beyond_the_end_has_no_age_and_is_no_problem() -> None:
    brokers = ScriptedBrokers({0: log_of(simple())})
    times = RecordTimes(interval=15, budget=5)
    assert ({}, [], {}) == (find(brokers, brokers.wanted((0, 99)), times), times.problems, times.skipped)


def check_one_bad_partition_hides_no_other(bad: Log, problems: list[Problem]) -> None:
    brokers = ScriptedBrokers({0: log_of(simple()), 1: bad, 2: log_of(simple())})
    brokers.logs[1].error, error = 0, bad.error
    wanted = brokers.wanted((0, 3), (1, 3), (2, 3))
    brokers.logs[1].error = error
    times = RecordTimes(interval=15, budget=5)
    found = find(brokers, wanted, times)
    assert dict([exact(0, 3, 3), exact(2, 3, 3)]) == {key: time for key, time in found.items() if key[1] != 1}
    assert problems == times.problems


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (29, Kind.AUTHORIZATION, "1 partitions: TOPIC_AUTHORIZATION_FAILED"),
        (6, Kind.UNREACHABLE, "1 partitions: NOT_LEADER_OR_FOLLOWER"),
        (56, Kind.UNREACHABLE, "1 partitions: KAFKA_STORAGE_ERROR"),
        (2, Kind.PROTOCOL, "1 partitions: CORRUPT_MESSAGE"),
    ],
)
def test_an_error_of_one_partition_withholds_that_one_alone(code: int, kind: Kind, words: str) -> None:
    brokers = ScriptedBrokers({p: log_of(simple()) for p in range(3)})
    wanted = brokers.wanted((0, 3), (1, 3), (2, 3))
    brokers.logs[1].error = code
    times = RecordTimes(interval=15, budget=5)
    assert dict([exact(0, 3, 3), exact(2, 3, 3)]) == find(brokers, wanted, times)
    assert [(kind, "topic orders", True)] == [(p.kind, p.item, p.detail.startswith(words)) for p in times.problems]
    assert {"age_unknown": 1} == times.skipped


def test_damaged_records_withhold_their_partition_alone() -> None:
    damaged = bytearray(simple())
    damaged[16] = 9
    brokers = ScriptedBrokers({0: log_of(simple()), 1: Log([(0, 9, bytes(damaged))]), 2: log_of(simple())})
    times = RecordTimes(interval=15, budget=5)
    assert dict([exact(0, 3, 3), exact(2, 3, 3)]) == find(brokers, brokers.wanted((0, 3), (1, 3), (2, 3)), times)
    assert [Problem(Kind.PROTOCOL, "partition orders/1", "record format 9 is not known")] == times.problems


def test_a_log_that_only_just_moved_is_a_problem_when_it_stays_so() -> None:
    brokers = ScriptedBrokers({0: log_of(simple())})
    wanted = brokers.wanted((0, 3))
    brokers.logs[0].error = 1
    times, problems = RecordTimes(interval=15, budget=5), []
    for _ in range(2):
        find(brokers, wanted, times)
        problems.append([problem.detail for problem in times.problems])
    assert [[], ["1 partitions: OFFSET_OUT_OF_RANGE"]] == problems


def test_a_denied_topic_is_not_asked_for_at_every_poll_and_stays_a_problem() -> None:
    brokers = ScriptedBrokers({0: log_of(simple())})
    wanted = brokers.wanted((0, 3))
    brokers.logs[0].error = 29
    times = RecordTimes(interval=15, budget=5)
    kinds = []
    for _ in range(ASK_DENIED_AGAIN):
        find(brokers, wanted, times)
        kinds.append([problem.kind for problem in times.problems])
    assert [[Kind.AUTHORIZATION]] * ASK_DENIED_AGAIN == kinds
    assert len(brokers.asked) == 1
    brokers.logs[0].error = 0
    assert dict([exact(0, 3, 3)]) == find(brokers, wanted, times)


def test_a_broker_that_is_down_withholds_only_its_own_partitions() -> None:
    brokers = ScriptedBrokers({0: log_of(simple()), 1: log_of(simple())}, leaders={1: 2})
    brokers.down[2] = Failure(Kind.TIMEOUT, "no answer within 5 s")
    times = RecordTimes(interval=15, budget=5)
    assert dict([exact(0, 3, 3)]) == find(brokers, brokers.wanted((0, 3), (1, 3)), times)
    assert [Problem(Kind.TIMEOUT, "broker 2", "no answer within 5 s")] == times.problems


def test_partitions_that_a_quota_left_out_are_named() -> None:
    brokers = ScriptedBrokers({0: log_of(simple()), 1: log_of(simple())}, leave_out=frozenset({1}))
    times = RecordTimes(interval=15, budget=5)
    assert dict([exact(0, 3, 3)]) == find(brokers, brokers.wanted((0, 3), (1, 3)), times)
    assert [(Kind.TIMEOUT, "broker 1")] == [(problem.kind, problem.item) for problem in times.problems]


def test_a_partition_without_a_leader_is_not_asked_for() -> None:
    brokers = ScriptedBrokers({0: log_of(simple())})
    times = RecordTimes(interval=15, budget=5)
    assert {} == find(brokers, brokers.wanted((0, 3), leader=-1), times)
    assert ([], {"age_unknown": 1}) == (brokers.asked, times.skipped)


def test_behind_the_last_stable_offset_the_waiting_record_counts_even_for_one_before_it() -> None:
    aborted = batch(0, [(0, 1000)], attributes=TRANSACTIONAL, producer=7)
    waiting = batch(2, [(0, 3000), (1, 4000)], attributes=TRANSACTIONAL, producer=8)
    log = log_of(aborted, marker(1, 7, "abort"), waiting, last_stable=2, aborted=[(7, 0)])
    brokers = ScriptedBrokers({0: log})
    assert dict([exact(0, 0, 3), exact(0, 2, 3), exact(0, 3, 4)]) == find(
        brokers, brokers.wanted((0, 0), (0, 2), (0, 3))
    )


def test_a_tail_that_compaction_emptied_is_caught_up() -> None:
    log = log_of(simple(), batch(10, [], last_delta=3))
    log.batches[1] = (10, 13, b"")  # the offsets are there, the batch is not
    brokers = ScriptedBrokers({0: log, 1: log_of(simple())})
    assert CAUGHT_UP == find(brokers, brokers.wanted((0, 11), (1, 3)))["orders", 0, 11]


def check_rotation(polls: int = 12) -> None:
    """A budget for a tenth of the partitions a poll: each is read once before any is read again."""
    brokers = ScriptedBrokers({p: log_of(*(simple(10 * n) for n in range(20))) for p in range(100)})
    times = RecordTimes(interval=15, budget=1)
    reads: dict[int, int] = dict.fromkeys(range(100), 0)
    for poll in range(polls):
        found = find(brokers, brokers.wanted(*((p, 10 * poll) for p in range(100))), times)
        for (_, partition, _), time_found in found.items():
            reads[partition] += time_found.error_bound is None
    assert {1, 2} == set(reads.values())


@mutation
def read_in_order_of_name(patch: pytest.MonkeyPatch) -> None:
    real = record_reading.RecordReading.run

    def run(reading: record_reading.RecordReading, unread: list[record_reading.Unread], deadline: float) -> None:
        for item in unread:
            item.read_in = 0
        real(reading, unread, deadline)

    patch.setattr(record_reading.RecordReading, "run", run)


def test_what_a_budget_leaves_out_comes_first_in_the_next_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_cache, "FIRST_ROUND_BYTES", 10 * FIRST_BYTES)
    monkeypatch.setattr(record_reading, "ROUND_BYTES", (10 * FIRST_BYTES, 10 * FIRST_BYTES))
    one_round(monkeypatch)
    check_rotation()
    fails_under("read_in_order_of_name", check_rotation)


def one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the reading stands still for one round a pass."""
    real = record_reading.RecordReading._round

    def _round(reading: record_reading.RecordReading, queues: dict[int, list[record_reading.Unread]]) -> object:
        real(reading, queues)
        return {}

    monkeypatch.setattr(record_reading.RecordReading, "_round", _round)


def test_a_slow_line_is_asked_for_less_at_once_and_a_quick_one_for_more() -> None:
    cache = record_cache.RecordCache()
    reading = record_reading.RecordReading(ScriptedBrokers({}), cache)  # type: ignore[arg-type]
    sizes = []
    for seconds in (5, 0.5, 5, 5, 5, *[0.1] * 8):
        reading._adapt(seconds)
        sizes.append(cache.round_bytes >> 10)
    assert [512, 512, 128, 64, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 8192] == sizes


def test_without_the_right_to_read_times_come_from_offsets_by_timestamp() -> None:
    now = time.time()
    stamps = [(n, int((now - 100_000 + 100 * n) * 1000)) for n in range(1000)]
    brokers = ScriptedBrokers({0: Log([(0, 999, b"")], stamps=stamps)})
    times = RecordTimes(interval=15, budget=5)
    times.begin()
    times.observe("orders", brokers.wanted((0, 0))[0].topic_id, {0: (0, 1000)}, now - 1, now)
    found = times.find(brokers.wanted((0, 10), (0, 500), (0, 998), readable=False), brokers)  # type: ignore[arg-type]
    assert {10, 500, 998} == {offset for _, _, offset in found}
    for (_, _, offset), (stamp, bound) in found.items():
        assert stamp is not None
        assert bound is not None
        assert abs(stamp - stamps[offset][1] / 1000) <= bound <= max(30, 0.1 * (now - stamp)) + 1
    assert ([], True) == (brokers.asked, len(brokers.probes) <= record_probe.MOST_ROUNDS * record_probe.MOST_AT_ONCE)


@pytest.mark.parametrize(("gap", "known"), [(20, {}), (600, {"age_too_uncertain": 1})])
def test_an_estimate_that_is_too_wide_is_withheld(gap: float, known: dict[str, int]) -> None:
    """The record was written a thousand seconds ago, in a gap between two polls."""
    brokers, now = ScriptedBrokers({0: log_of(simple())}), time.time()
    times = RecordTimes(interval=15, budget=0, exact=False)
    times.begin()
    times.observe("orders", TOPIC_ID, {0: (0, 3)}, now - 1000 - gap, now - 1000 - gap)
    times.observe("orders", TOPIC_ID, {0: (0, 10)}, now - 1000, now - 1000)
    found = times.find(brokers.wanted((0, 3)), brokers)  # type: ignore[arg-type]
    assert (known, 1 - len(known)) == (times.skipped, len(found))


def test_remote_storage_is_neither_read_nor_searched() -> None:
    brokers = ScriptedBrokers({0: log_of(simple(), stamps=[(0, 1000)])})
    times = RecordTimes(interval=15, budget=5)
    assert {} == find(brokers, brokers.wanted((0, 3), readable=False, remote=True), times)
    assert ([], [], {"age_in_remote_storage": 1}) == (brokers.asked, brokers.probes, times.skipped)


def test_when_only_estimates_are_wanted_no_record_is_read() -> None:
    brokers = ScriptedBrokers({0: log_of(simple(), stamps=[(n, 1000 * n) for n in range(10)])})
    find(brokers, brokers.wanted((0, 3)), RecordTimes(interval=15, budget=5, exact=False))
    assert [] == brokers.asked


def test_positions_that_nobody_asks_for_any_more_are_forgotten() -> None:
    brokers = ScriptedBrokers({0: log_of(simple(count=1000))})
    times = RecordTimes(interval=15, budget=5)
    sizes = []
    for poll in range(60):
        find(brokers, brokers.wanted((0, poll), (0, poll + 1)), times)
        sizes.append(len(times._cache.entries))
    assert max(sizes) <= 14


def test_records_without_a_timestamp_are_estimated_and_not_read_again() -> None:
    brokers = ScriptedBrokers({0: log_of(batch(0, [(0, -1), (1, -1)]))})
    times = RecordTimes(interval=15, budget=5)
    for _ in range(3):
        assert {} == find(brokers, brokers.wanted((0, 0)), times)
    assert 1 == len(brokers.asked)
