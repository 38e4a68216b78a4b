"""Estimates: the true time always lies within the bound, the bound keeps its promise, and memory stays small."""

from __future__ import annotations

import json
import random
from bisect import bisect_right

import pytest

from exporter.model import estimate
from exporter.model.estimate import Bracket, History, PartitionHistory, Probes, good, moment_to_ask
from exporter.model.record_time import RecordTime
from tests.mutations import fails_under, mutation

TOPIC_ID = b"t" * 16
UNKNOWN = Bracket(None, None)


def history_of(*polls: tuple[int, float, float], interval: float = 15) -> PartitionHistory:
    history = PartitionHistory()
    for end, before, after in polls:
        history.add(end, before, after, interval)
    return history


def test_a_record_was_written_between_the_last_poll_without_it_and_the_first_with_it() -> None:
    history = history_of((100, 1000, 1001), (200, 1015, 1016))
    assert Bracket(1000 - estimate.READABLE_AFTER, 1016) == history.bracket(150)


def test_while_nothing_is_written_the_bracket_stays_as_sharp_as_the_poll() -> None:
    history = history_of((100, 1000, 1001), (100, 5000, 5001), (101, 5015, 5016))
    assert Bracket(5000 - estimate.READABLE_AFTER, 5016) == history.bracket(100)


def test_before_the_first_poll_there_is_no_lower_edge_and_no_estimate() -> None:
    bracket = history_of((100, 1000, 1001)).bracket(50)
    assert (Bracket(None, 1001), None) == (bracket, bracket.time())


def test_behind_the_last_end_there_is_no_upper_edge() -> None:
    assert Bracket(999, None) == history_of((100, 1000, 1001)).bracket(100)


def test_an_estimate_is_the_middle_with_half_the_width_as_its_bound() -> None:
    assert RecordTime(107.5, 7.5 + estimate.STAMP) == Bracket(100, 115).time()


def test_an_end_that_went_back_forgets_the_past() -> None:
    history = history_of((100, 1000, 1001), (200, 1015, 1016), (50, 1030, 1031), (60, 1045, 1046))
    assert (Bracket(1029, 1046), Bracket(None, 1031)) == (history.bracket(55), history.bracket(20))


def test_two_sources_narrow_each_other_and_polls_win_a_contradiction() -> None:
    polled = Bracket(100, 200)
    assert Bracket(150, 200) == polled.meet(Bracket(150, None))
    assert polled == polled.meet(Bracket(300, 400))


def test_answers_by_timestamp_tell_on_both_sides() -> None:
    probes = Probes()
    probes.add(1000, 40, 1007)
    probes.add(2000, 90, 2001)
    brackets = [probes.bracket(offset) for offset in (39, 40, 89, 90)]
    assert [Bracket(None, 1000), Bracket(1007, 2000), Bracket(1007, 2000), Bracket(2001, None)] == brackets


def stamps_of(chance: random.Random, start: float, end: float) -> list[float]:
    """When each record of a partition was written: bursts, silences, and steady streams."""
    stamps, now = [], start
    while now < end:
        gap = chance.choice([0.01, 0.5, 5, 60, 600, 5000])
        for _ in range(chance.randint(1, 30)):
            now += chance.expovariate(1 / gap)
            stamps.append(now)
    return [stamp for stamp in stamps if stamp < end]


def polled(chance: random.Random, stamps: list[float], polls: list[float], interval: float) -> PartitionHistory:
    """What polls at these moments see: records are readable a little after their stamp, answers take a while."""
    readable = sorted(stamp + chance.random() * estimate.READABLE_AFTER for stamp in stamps)
    history = PartitionHistory()
    for before in polls:
        read_at = before + chance.random() * 0.5
        history.add(bisect_right(readable, read_at), before, read_at + chance.random() * 0.5, interval)
    return history


def check_the_truth_is_inside(rounds: int = 60) -> None:
    chance = random.Random(11)
    for _ in range(rounds):
        interval = chance.choice([1.0, 15.0, 60.0])
        length = chance.choice([600, 20_000, 600_000])
        stamps = stamps_of(chance, 0, length)
        polls = [1000.0 * (length > 600)]
        while polls[-1] < length and len(polls) < 4000:
            polls.append(polls[-1] + interval * chance.choice([1, 1, 1, 1.2, 8 if chance.random() < 0.01 else 1]))
        history = polled(chance, stamps, polls, interval)
        for offset, stamp in enumerate(stamps):
            time = history.bracket(offset).time()
            if time is not None and time.timestamp is not None:
                assert abs(time.timestamp - stamp) <= (time.error_bound or 0), (offset, stamp, time)


@mutation
def thin_without_widening(patch: pytest.MonkeyPatch) -> None:
    real = PartitionHistory.bracket

    def bracket(history: PartitionHistory, offset: int) -> Bracket:
        low, high = real(history, offset)
        return Bracket(low, None if high is None or low is None else min(high, low + 20))

    patch.setattr(PartitionHistory, "bracket", bracket)


def test_the_true_time_is_always_within_the_bound() -> None:
    check_the_truth_is_inside()
    fails_under("forget_bound", check_the_truth_is_inside, 3)
    fails_under("thin_without_widening", check_the_truth_is_inside)


def check_bounds_keep_their_promise() -> None:
    """Two intervals or a tenth of the age at every moment, for a steadily written partition polled without a gap."""
    history, interval, rate = PartitionHistory(), 15.0, 10
    for poll in range(1, 12_000):
        now = poll * interval
        history.add(int(now * rate), now, now + 0.1, interval)
        if poll % 500 == 0:
            for offset in range(int(20 * rate), int((now - 20) * rate), 997):
                assert good(history.bracket(offset), now, interval), (poll, offset, history.bracket(offset))
    assert len(history.ends) < 128


@mutation
def thin_blindly(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        PartitionHistory,
        "thin",
        lambda history, *_: (
            history.ends.__delitem__(slice(1, -1)),
            history.seen.__delitem__(slice(1, -1)),
            history.still.__delitem__(slice(1, -1)),
        ),
    )


@mutation
def never_thin(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PartitionHistory, "thin", lambda *_: None)


def test_bounds_stay_below_two_intervals_or_a_tenth_of_the_age_in_little_memory() -> None:
    check_bounds_keep_their_promise()
    fails_under("thin_blindly", check_bounds_keep_their_promise)
    fails_under("never_thin", check_bounds_keep_their_promise)


@pytest.mark.parametrize("age", [20, 333, 5_000, 86_400 * 3, 86_400 * 365])
def test_seven_answers_by_timestamp_leave_a_tenth_of_the_age(age: float) -> None:
    now, interval = 2e9, 15.0
    probes, asked = Probes(), 0
    while not good(probes.bracket(10), now, interval):
        moment = moment_to_ask(probes.bracket(10), now, interval)
        assert moment is not None
        asked += 1
        # records before and behind the one in question, a tenth of its age apart from it
        log = [(9, now - 1.1 * age), (10, now - age), (11, now - 0.9 * age)]
        later = next(((offset, stamp) for offset, stamp in log if stamp >= moment), (12, moment))
        probes.add(moment, *later)
    assert asked <= 8
    low, high = probes.bracket(10)
    assert low is not None
    assert low <= now - age <= (now if high is None else high)


def test_a_record_older_than_anything_plausible_is_not_asked_about_for_ever() -> None:
    now = 2e9
    bracket, asked = UNKNOWN, 0
    while (moment := moment_to_ask(bracket, now, 15)) is not None:
        bracket, asked = Bracket(None, moment), asked + 1
    assert asked < 64


@pytest.fixture
def history() -> History:
    made = History(15)
    made.begin()
    made.observe("orders", TOPIC_ID, {0: (0, 100)}, 1000, 1001)
    made.observe("orders", TOPIC_ID, {0: (0, 200)}, 1015, 1016)
    return made


def test_another_topic_id_is_another_topic(history: History) -> None:
    assert Bracket(999, 1016) == history.bracket("orders", TOPIC_ID, 0, 150)
    assert UNKNOWN == history.bracket("orders", b"u" * 16, 0, 150)
    history.observe("orders", b"u" * 16, {0: (0, 300)}, 1030, 1031)
    assert Bracket(None, 1031) == history.bracket("orders", b"u" * 16, 0, 150)


def test_topics_that_are_gone_are_forgotten(history: History) -> None:
    for _ in range(estimate.FORGET_AFTER + 1):
        history.begin()
    assert UNKNOWN == history.bracket("orders", TOPIC_ID, 0, 150)


def test_points_below_the_log_start_are_forgotten(history: History) -> None:
    history.observe("orders", TOPIC_ID, {0: (200, 300)}, 1030, 1031)
    assert {
        "orders": {"id": TOPIC_ID.hex(), "partitions": {"0": [[200, 300], [1016, 1031], [1015, 1030]]}}
    } == history.state()


def test_state_survives_json_and_a_restart(history: History) -> None:
    restarted = History(15)
    restarted.restore(json.loads(json.dumps(history.state())))
    assert history.state() == restarted.state()
    assert Bracket(999, 1016) == restarted.bracket("orders", TOPIC_ID, 0, 150)


@pytest.mark.parametrize(
    "saved",
    [
        None,
        {"id": "zz", "partitions": {}},
        {"id": "00"},
        {"id": "00", "partitions": {"x": [[], [], []]}},
        {"id": "00", "partitions": {"0": [[1, 2], [1.0], [1.0]]}},
        {"id": "00", "partitions": {"0": [[2, 1], [1.0, 2.0], [1.0, 2.0]]}},
        {"id": "00", "partitions": {"0": ["a", "b", "c"]}},
        {"id": "00", "partitions": {"0": [[2**70], [1.0], [1.0]]}},
    ],
)
def test_a_state_that_does_not_fit_is_left_out(saved: object, history: History) -> None:
    before = history.state()
    history.restore({"payments": saved})
    assert before == history.state()
