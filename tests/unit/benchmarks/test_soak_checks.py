"""What the soak calls right, wrong and unknown, with literals: each check is seen to hold and to object."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.soak.checks import Trouble, calm, consistent, incomplete, judge, lingering, missing, values
from benchmarks.soak.page import InvalidPageError, Scrape, samples_of
from benchmarks.soak.truth import Rising, Truth

AT = 1000.0
END, COMMIT, LAG = ("end", "soak-t", "0"), ("commit", "soak-g", "soak-t", "0"), ("lag", "soak-g", "soak-t", "0")
AGE, DEPTH = ("age", "soak-g", "soak-t", "0"), ("depth", "soak-q")
PAGE = """\
mq_kafka_partition_high_watermark_offset{{topic="soak-t",partition="0"}} {end}
mq_kafka_group_committed_offset{{group="soak-g",topic="soak-t",partition="0"}} {commit}
mq_kafka_group_lag_offsets{{group="soak-g",topic="soak-t",partition="0"}} {lag}
mq_kafka_group_oldest_message_age_seconds{{group="soak-g",topic="soak-t",partition="0"}} {age}
mq_rabbitmq_queue_messages_ready{{queue="soak-q"}} {ready}
mq_rabbitmq_queue_messages_unacknowledged{{queue="soak-q"}} 1
mq_kafka_broker_up{{broker="1"}} {up}
mq_rabbitmq_node_up{{node="r1"}} 1
mq_exporter_collector_success{{cluster="soak-kafka",collector="offsets"}} {success}
mq_exporter_collector_success{{cluster="soak-rabbitmq",collector="queues"}} 1
"""


def page(end: int = 100, commit: int = 40, lag: int = 60, age: float = 500, ready: int = 4, **more: int) -> Scrape:
    text = PAGE.format(end=end, commit=commit, lag=lag, age=age, ready=ready, **({"up": 1, "success": 1} | more))
    return Scrape(AT, AT + 0.1, len(text), samples_of(text, openmetrics=False))


def truth() -> Truth:
    """The end was 90 at least when the oldest data of the page can be read, 110 at most when it was had."""
    known = Truth()
    for event in (
        {"event": "floor", "key": END, "at": 980, "value": 90},
        {"event": "floor", "key": END, "at": 990, "value": 95},
        {"event": "ceiling", "key": END, "at": 990, "value": 95},
        {"event": "ceiling", "key": END, "at": 1001, "value": 110},
        {"event": "read", "kind": "commit", "begun": 970, "ended": 971, "values": {'["soak-g", "soak-t", "0"]': 40}},
        {"event": "ceiling", "key": COMMIT, "at": None, "value": 40},
        {"event": "waits", "key": COMMIT[1:], "low": 500.0, "high": 500.0},
        {"event": "floor", "key": ("in", "soak-q"), "at": 900, "value": 5},
        {"event": "ceiling", "key": ("in", "soak-q"), "at": None, "value": 6},
        {"event": "floor", "key": ("out", "soak-q"), "at": 900, "value": 0},
        {"event": "ceiling", "key": ("out", "soak-q"), "at": 1002, "value": 0},
    ):
        known.feed(event)
    return known


def test_values_within_what_they_can_be_are_right() -> None:
    keys = {END, COMMIT, LAG, AGE, DEPTH}
    assert keys | {("up", "kafka", "1"), ("up", "rabbitmq", "r1")} == set(values(page()))
    judged = judge(page(), keys, truth())
    assert (5, [], set()) == (judged.right, judged.wrong, judged.open)


@pytest.mark.parametrize(
    ("key", "wrong", "words"),
    [
        (END, {"end": 89}, "end soak-t 0 is 89, not between 90 and 110"),
        (END, {"end": 111}, "end soak-t 0 is 111, not between 90 and 110"),
        (COMMIT, {"commit": 41}, "commit soak-g soak-t 0 is 41, not between 40 and 40"),
        (LAG, {"lag": 49}, "lag soak-g soak-t 0 is 49, not between 50 and 70"),
        (LAG, {"lag": 71}, "lag soak-g soak-t 0 is 71, not between 50 and 70"),
        (AGE, {"age": 484}, "age soak-g soak-t 0 is 484, not between 484.9 and 500.2"),
        (AGE, {"age": 501}, "age soak-g soak-t 0 is 501, not between 484.9 and 500.2"),
        (DEPTH, {"ready": 3}, "depth soak-q is 4, not between 5 and 6"),
        (DEPTH, {"ready": 6}, "depth soak-q is 7, not between 5 and 6"),
    ],
)
def test_a_value_that_cannot_have_been_is_wrong(key: tuple[str, ...], wrong: dict[str, int], words: str) -> None:
    assert [words] == judge(page(**wrong), {key}, truth()).wrong  # type: ignore[arg-type]


def test_a_value_whose_ceiling_is_not_known_yet_is_neither() -> None:
    known = truth()
    known.counts[END].ceilings.pop()
    judged = judge(page(end=1_000_000), {END}, known)
    assert (0, [], {END}) == (judged.right, judged.wrong, judged.open)


def test_a_value_of_which_nothing_was_known_for_long_enough_is_young() -> None:
    known = truth()
    known.counts[END].floors = [(990.0, 95)]
    del known.waits[COMMIT[1:]]
    judged = judge(page(end=1), {END, LAG, AGE}, known)
    assert (0, 3, [], set()) == (judged.right, judged.young, judged.wrong, judged.open)


def test_the_bound_of_an_estimate_counts_for_it() -> None:
    bound = 'mq_kafka_group_age_error_bound_seconds{group="soak-g",topic="soak-t",partition="0"} 20\n'
    shown = page(age=515)
    assert 1 == len(judge(shown, {AGE}, truth()).wrong)
    with_bound = replace(shown, samples=shown.samples | samples_of(bound, openmetrics=False))
    assert [] == judge(with_bound, {AGE}, truth()).wrong


def test_lag_fits_the_end_and_the_commit_beside_it() -> None:
    assert [] == consistent(page())
    assert ["lag soak-g soak-t 0 is 61, beside an end of 100 and a commit of 40"] == consistent(page(lag=61))


def lived(**moments: float) -> Truth:
    known = truth()
    for event, at in moments.items():
        parts = [DEPTH, ("depth", "soak-q2")] if event == "born" else []
        more = {"parts": parts} if parts else {}
        known.feed({"event": event, "kind": "queue", "name": "soak-q", "at": at, **more})
    return known


def test_what_was_deleted_longer_ago_than_data_may_be_old_must_not_be_shown() -> None:
    assert [] == lingering(page(), lived(gone=980).lives)
    assert ["queue soak-q was deleted 22 s ago"] == lingering(page(), lived(gone=978).lives)


def looked(known: Truth, system: str, *ups: tuple[float, bool], took: float = 0.5) -> Truth:
    """Looks at members that began at these moments, and whether `1` or `r1` was among them."""
    for begun, up in ups:
        names = ["1", "r1"] if up else []
        known.feed({"event": "members", "kind": system, "begun": begun, "ended": begun + took, "names": names})
    return known


CALM = ((977.0, True), (985.0, True), (993.0, True), (1001.0, True))


def test_what_is_there_must_be_shown_in_calm_weather_unless_it_is_being_deleted() -> None:
    words = ["depth soak-q2 is not there, 21 s after it was made"]

    def told(*troubles: Trouble, shown: Scrape | None = None, **moments: float) -> list[str]:
        return missing(shown or page(), looked(lived(**moments), "rabbitmq", *CALM), troubles)

    away = Trouble("rabbitmq", "rabbitmq-1", "kill", 900.0, back=956.0)
    assert words == told(born=979)
    assert words == told(replace(away, back=954.0), replace(away, system="kafka"), born=979)
    assert words == told(born=979, shown=page(success=0)), "that is Kafka's"
    assert [] == told(born=981)
    assert [] == told(born=979, dying=1000.05)
    assert [] == told(away, born=979)
    assert [] == told(replace(away, back=None), born=979)


def test_weather_is_calm_while_the_independent_reader_is_quick() -> None:
    def weather(*ups: tuple[float, bool], took: float = 0.5) -> bool:
        return calm(page(), "kafka", looked(Truth(), "kafka", *ups, took=took), [])

    assert weather(*CALM)
    assert not weather(*CALM, took=2.6)
    assert not weather(*CALM[:-1]), "the look after the page is still to come"
    assert not weather(CALM[0], CALM[1], CALM[3]), "it could not look for a while"


def test_a_page_says_itself_that_it_is_incomplete() -> None:
    assert set() == incomplete(page())
    assert {"kafka"} == incomplete(page(success=0))
    nothing = replace(page(), samples={})
    assert {"kafka", "rabbitmq"} == incomplete(nothing)


def test_a_node_is_up_or_down_where_all_looks_around_the_page_agree() -> None:
    key = ("up", "kafka", "1")

    def told(shown: Scrape, *ups: tuple[float, bool]) -> tuple[int, list[str]]:
        judged = judge(shown, {key}, looked(Truth(), "kafka", *ups))
        return judged.right, judged.wrong

    assert (1, []) == told(page(), *CALM)
    assert (0, ["up kafka 1 is 0, not between 1 and 1"]) == told(page(up=0), *CALM)
    down = tuple((begun, False) for begun, _ in CALM)
    assert (1, []) == told(page(up=0), *down)
    assert (0, ["up kafka 1 is 1, not between 0 and 0"]) == told(page(), *down)
    assert (1, []) == told(page(), *CALM[:3], down[3])
    assert (0, []) == told(page(), *CALM[:3]), "the look after it is still to come"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('a{x="1"} 1\na{x="1"} 2\n', "a{'x': '1'} is there twice"),
        ("a NaN\n", "a{} is nan"),
        ('a{x="1" 1\n', "not valid: ValueError"),
        ("", "no sample"),
    ],
)
def test_a_page_that_is_not_valid_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidPageError, match="^" + reason.replace("{", r"\{")):
        samples_of(text, openmetrics=False)


def test_floors_and_ceilings_hold_from_and_until_their_moment() -> None:
    count = Rising()
    for moment, value in ((10, 1), (20, 5)):
        count.floor(moment, value)
        count.ceiling(moment + 1, value)
    assert [None, 1, 1, 5] == [count.at_least(at) for at in (9, 10, 19, 20)]
    assert [1, 1, 5, 5, None] == [count.at_most(at) for at in (9, 11, 12, 21, 22)]
    count.forget(15)
    assert [1, 5, 5, None] == [count.at_least(16), count.at_least(20), count.at_most(12), count.at_most(22)]
