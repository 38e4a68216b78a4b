"""Each criterion of incident with an example that is met, ones that are broken, and ones that are unknown."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from drills.criteria.incident import (
    c1_cells,
    c2_upgrade,
    c3_poisons,
    c4_restarts,
    c5_lag_alert,
    c6_disk_alarm,
    c7_access,
    c8_replay,
)
from drills.model.seen import CaseSeen, Change, Seen
from drills.model.verdict import Judgement, Verdict
from tests.unit.drills.criteria.crash_window import but, hook, queue, with_drain, without_bite
from tests.unit.drills.criteria.incident import (
    IDS,
    KILL,
    LIMIT,
    PARAMETERS,
    POISONS,
    STOP,
    case,
    checkpoint,
    decoded,
    letter,
    offsets,
    path,
    probes,
    row,
    seen,
    step,
    valid,
)
from tests.unit.drills.criteria.partition_lag import confirmed

PASS, FAIL, UNKNOWN, NOT_RUN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN, Verdict.NOT_RUN
Judge = Callable[[Seen], Judgement]
Cases = dict[str, CaseSeen]

CELLS = {
    f"writer_{writer}_reader_{reader}": case({"fields": decoded(IDS[f"v{writer}"], reader)}, IDS[f"v{writer}"])
    for writer in (1, 2)
    for reader in (1, 2)
}
STEPS = [
    step("first", 1, [1, 1], 4, 4), step("second", 1, [2, 1], 3, 7), step("third", 1, [2, 2], 3, 10),
    step("last", 2, [2, 2], 10, 20),
]  # fmt: skip
UPGRADE = case({"steps": STEPS}, IDS["upgrade"])
PLACES = {event: f"t/0/{offset}" for offset, event in enumerate(IDS["poisoned-topic"])}
LETTERS = [letter(number, PLACES[event]) for number, event in enumerate(POISONS)]
AT_HOOK = {"sent_at_hook": LETTERS[:1], "dead_at_hook": [], "offsets_at_hook": offsets(3, 13)}
TOPIC = case(
    {"places": PLACES, "dead_letters_read": LETTERS, **AT_HOOK},
    valid("poisoned-topic"), sent=IDS["poisoned-topic"], changes=[KILL],
    hooks=[hook("AFTER_DEAD_LETTER_BEFORE_COMMIT", PLACES[POISONS[0]])],
)  # fmt: skip
ROWS = [row(number, f"work/{event}") for number, event in enumerate(POISONS)]
QUEUE = case(
    {"at_hook": checkpoint(IDS["poisoned-queue"][:3], aside=ROWS[:1]), "queue_at_hook": queue(messages=10)},
    valid("poisoned-queue"), sent=IDS["poisoned-queue"], aside=ROWS, changes=[KILL],
    hooks=[hook("AFTER_QUARANTINE_BEFORE_ACK", f"work/{POISONS[0]}")],
)  # fmt: skip
POISONED = {"poisoned_topic": TOPIC, "poisoned_queue": QUEUE}
RESTART = IDS["restart"]
VICTIM = RESTART[9]
LEADER = case(
    {
        "stopped": "n1", "queue_after": queue(leader="n2", online=["n2", "n3"]), "queue_back": queue(),
        "checkpoint": checkpoint(RESTART, amount=1),
    },
    RESTART, changes=[STOP],
)  # fmt: skip
AWAY = [{"number": 0, "leader": 2, "replicas": [1, 2, 3], "in_sync": [2, 3]}]
BACK = [{"number": 0, "leader": 2, "replicas": [1, 2, 3], "in_sync": [1, 2, 3]}]
BROKER = case(
    {"stopped": 1, "replicas_without": AWAY, "replicas_back": BACK, "offsets_after": offsets(21, 21)},
    RESTART, changes=[STOP],
)  # fmt: skip
HANDED = [{"worker": "first"}, {"worker": "second"}]
CONSUMER = case(
    {
        "victim": VICTIM, "at_hook": checkpoint(RESTART[:10]), "offsets_at_hook": offsets(9, 10),
        "deliveries": HANDED, "offsets_after": offsets(21, 21),
    },
    RESTART, changes=[KILL], hooks=[hook("AFTER_DB_COMMIT_BEFORE_ACK", VICTIM)],
)  # fmt: skip
RESTARTS = {"restart_queue_leader": LEADER, "restart_broker": BROKER, "restart_consumer": CONSUMER}
HELD = {who: {"0": 40.0} for who in ("exporter", "admin", "log")}
WAY = path("inactive", "pending", "firing", "inactive")
LAG = case({"lag_held": HELD, "alert_times": WAY}, IDS["lag"])
PROBES = PARAMETERS["probe_ids"]
BEFORE, NODES = IDS["disk-alarm"][:-2], {"n1": 0.0, "n2": 0.0, "n3": 0.0}
DISK = case(
    {
        "outcomes_before": confirmed(BEFORE), "node": "n2", "alarms_before": NODES, "alarms_on": {**NODES, "n2": 1.0},
        "alarms_after": NODES, "blocked": "low on disk", "outcomes_blocked": {PROBES[0]: ["unknown"]},
        "alert_times": path("inactive", "firing", "inactive"),
    },
    IDS["disk-alarm"], changes=[LIMIT],
)  # fmt: skip
RIGHTS = [["vhost", "^$", "^work$", "^work$"]]
ACCOUNT = {"tags": [], "rights": RIGHTS, "wanted": RIGHTS}
ACCESS = {
    name.replace("-", "_"): case({"offers": {"lack": None}, "account": ACCOUNT, "probes": probes(wanted)}, [])
    for name, wanted in c7_access.EXPECTED.items()
}
REPLAYED = valid("replay")
PROJECTION = {"accounts": {"account-0001": {"VND": [20, 2000]}}, "hash": "same"}
REPLAY_LOG = [{"event_id": event, "same": True} for event in REPLAYED]
REPLAY = case(
    {
        "replay_log": REPLAY_LOG, "range": {"0": [0, 23]}, "replayed": {"ids": REPLAYED, "left_out": ["t/0/5"]},
        "dedupe_offsets": offsets(20, 20), "rebuild_offsets": offsets(20, 20), "live": checkpoint(REPLAYED),
        "after_dedupe": checkpoint(REPLAYED), "projection": PROJECTION, "projection_rebuilt": PROJECTION,
        "live_before": offsets(23, 23), "live_after": offsets(23, 23),
    },
    REPLAYED, sent=IDS["replay"],
)  # fmt: skip

MET: list[tuple[Judge, Cases]] = [
    (c1_cells.judge, CELLS),
    (c2_upgrade.judge, {"rolling_upgrade": UPGRADE}),
    (c3_poisons.judge, POISONED),
    (c4_restarts.judge, RESTARTS),
    (c5_lag_alert.judge, {"lag_alert": LAG}),
    (c6_disk_alarm.judge, {"disk_alarm": DISK}),
    (c7_access.judge, ACCESS),
    (c8_replay.judge, {"replay": REPLAY}),
]
DRAINED_ONES = [*MET[:6], MET[7]]  # no event is drained where only doors are tried


def judged(judge: Judge, **cases: CaseSeen) -> tuple[Verdict, tuple[str, ...]]:
    found = judge(seen(**cases))
    return found.verdict, found.ids


@pytest.mark.parametrize(("judge", "cases"), MET)
def test_met(judge: Judge, cases: Cases) -> None:
    found = judge(seen(**cases))
    assert (PASS, ()) == (found.verdict, found.ids), found.because


@pytest.mark.parametrize(("judge", "cases"), DRAINED_ONES)
def test_without_a_proven_drain_it_is_unknown(judge: Judge, cases: Cases) -> None:
    for name, one in cases.items():
        assert (UNKNOWN, ()) == judged(judge, **{**cases, name: with_drain(one)}), name


@pytest.mark.parametrize(("judge", "cases"), [MET[2], MET[3], MET[5]])
def test_without_the_bite_it_is_unknown(judge: Judge, cases: Cases) -> None:
    for name, one in cases.items():
        assert (UNKNOWN, ()) == judged(judge, **{**cases, name: without_bite(one)}), name


@pytest.mark.parametrize(("judge", "cases"), MET)
def test_what_was_not_played_was_not_run_and_what_broke_off_is_unknown(judge: Judge, cases: Cases) -> None:
    assert (NOT_RUN, ()) == judged(judge)
    for name, one in cases.items():
        assert (UNKNOWN, ()) == judged(judge, **{**cases, name: dataclasses.replace(one, finished=False)}), name
        less = {other: found for other, found in cases.items() if other != name}
        assert (NOT_RUN, ()) == judged(judge, **less), name


@pytest.mark.parametrize(("judge", "cases"), DRAINED_ONES)
def test_an_effect_that_is_missing_or_doubled_is_named(judge: Judge, cases: Cases) -> None:
    for name, one in cases.items():
        effects = dict(one.facts["checkpoint"]["effects"])
        event = next(iter(effects))
        less = {key: times for key, times in effects.items() if key != event}
        for changed in (less, {**effects, event: 2}):
            aside = one.facts["checkpoint"]["quarantine"]
            broken = but(one, checkpoint=checkpoint([], aside=aside, effects=changed))
            assert (FAIL, (event,)) == judged(judge, **{**cases, name: broken}), name


@pytest.mark.parametrize(
    ("judge", "cases", "name", "fact"),
    [
        (c1_cells.judge, CELLS, "writer_1_reader_1", "fields"),
        (c2_upgrade.judge, {"rolling_upgrade": UPGRADE}, "rolling_upgrade", "steps"),
        *((c3_poisons.judge, POISONED, "poisoned_topic", one) for one in (*AT_HOOK, "dead_letters_read", "places")),
        *((c3_poisons.judge, POISONED, "poisoned_queue", one) for one in ("at_hook", "queue_at_hook")),
        *((c4_restarts.judge, RESTARTS, "restart_queue_leader", one) for one in ("queue_after", "queue_back")),
        *((c4_restarts.judge, RESTARTS, "restart_broker", one)
          for one in ("replicas_without", "replicas_back", "offsets_after")),
        *((c4_restarts.judge, RESTARTS, "restart_consumer", one)
          for one in ("at_hook", "offsets_at_hook", "deliveries", "offsets_after")),
        *((c5_lag_alert.judge, {"lag_alert": LAG}, "lag_alert", one) for one in ("lag_held", "alert_times")),
        *((c6_disk_alarm.judge, {"disk_alarm": DISK}, "disk_alarm", one)
          for one in ("alarms_before", "alarms_on", "alarms_after", "blocked", "outcomes_blocked", "alert_times")),
        *((c7_access.judge, ACCESS, name, one) for name in ACCESS for one in ("account", "probes")),
        *((c8_replay.judge, {"replay": REPLAY}, "replay", one)
          for one in ("replay_log", "dedupe_offsets", "rebuild_offsets", "live", "after_dedupe", "projection",
                      "projection_rebuilt", "live_before", "live_after")),
    ],
)  # fmt: skip
def test_what_was_not_read_is_unknown(judge: Judge, cases: Cases, name: str, fact: str) -> None:
    found = judge(seen(**{**cases, name: but(cases[name], **{fact: None})}))
    assert (UNKNOWN, ()) == (found.verdict, found.ids), found.because


FIRST = IDS["v2"][0]
ASIDE = {**row(1, "t/0/0"), "event_id": FIRST}


def one_of(cases: Cases, name: str, **facts: Any) -> Cases:
    return {**cases, name: but(cases[name], **facts)}


def cell(name: str, **facts: Any) -> Cases:
    return one_of(CELLS, name, **facts)


def steps(number: int, **values: Any) -> Cases:
    return {"rolling_upgrade": but(UPGRADE, steps=[*STEPS[:number], {**STEPS[number], **values}, *STEPS[number + 1 :]])}


EARLY = [STEPS[0], step("second", 2, [2, 1], 3, 7), *STEPS[2:]]
STRANGER = row(0, "work/other")
BROKEN: dict[str, tuple[Judge, Cases, tuple[str, ...]]] = {
    "1 another amount": (
        c1_cells.judge,
        cell("writer_2_reader_2", fields=[{**decoded(IDS["v2"], 2)[0], "amountMinor": 1}, *decoded(IDS["v2"], 2)[1:]]),
        (FIRST,),
    ),
    "1 no currency by default": (
        c1_cells.judge, cell("writer_1_reader_2", fields=decoded(IDS["v1"], 1)), tuple(IDS["v1"]),
    ),
    "1 a field that reader 1 should ignore": (
        c1_cells.judge, cell("writer_2_reader_1", fields=decoded(IDS["v2"], 2)), tuple(IDS["v2"]),
    ),
    "1 set aside": (
        c1_cells.judge, cell("writer_2_reader_1", checkpoint=checkpoint(IDS["v2"], aside=[ASIDE])), (FIRST,),
    ),
    "2 the producer first": (c2_upgrade.judge, {"rolling_upgrade": but(UPGRADE, steps=EARLY)}, ()),
    "2 never both": (c2_upgrade.judge, {"rolling_upgrade": but(UPGRADE, steps=[STEPS[0], *STEPS[2:], STEPS[3]])}, ()),
    "2 it stood still": (c2_upgrade.judge, steps(1, effects=6), ()),
    "2 set aside on the way": (c2_upgrade.judge, steps(2, quarantined=1), ()),
    "2 set aside": (
        c2_upgrade.judge, {"rolling_upgrade": but(UPGRADE, checkpoint=checkpoint(IDS["upgrade"], aside=[ASIDE]))},
        (FIRST,),
    ),
    "3 the offset before the dead letter": (
        c3_poisons.judge, one_of(POISONED, "poisoned_topic", offsets_at_hook=offsets(4, 13), sent_at_hook=[]),
        (POISONS[0],),
    ),
    "3 a dead letter before its commit": (
        c3_poisons.judge, one_of(POISONED, "poisoned_topic", dead_at_hook=LETTERS[:1]), (POISONS[0],),
    ),
    "3 a dead letter is missing": (
        c3_poisons.judge, one_of(POISONED, "poisoned_topic", dead_letters_read=LETTERS[:2]), (POISONS[2],),
    ),
    "3 a dead letter twice": (
        c3_poisons.judge, one_of(POISONED, "poisoned_topic", dead_letters_read=[*LETTERS, LETTERS[1]]), (POISONS[1],),
    ),
    "3 other bytes": (
        c3_poisons.judge,
        one_of(POISONED, "poisoned_topic", dead_letters_read=[{**LETTERS[0], "body": "00"}, *LETTERS[1:]]),
        (POISONS[0],),
    ),
    "3 another class": (
        c3_poisons.judge,
        one_of(POISONED, "poisoned_topic", dead_letters_read=[
            LETTERS[0], letter(1, PLACES[POISONS[1]], error_class="malformed"), LETTERS[2]]),
        (POISONS[1],),
    ),
    "3 no schema": (
        c3_poisons.judge,
        one_of(POISONED, "poisoned_queue", checkpoint=checkpoint(
            valid("poisoned-queue"), aside=[*ROWS[:2], {**ROWS[2], "fingerprint": ""}])),
        (POISONS[2],),
    ),
    "3 a valid one set aside": (
        c3_poisons.judge,
        one_of(POISONED, "poisoned_queue", checkpoint=checkpoint(valid("poisoned-queue"), aside=[*ROWS, STRANGER])), (),
    ),
    "3 not in quarantine at the kill": (
        c3_poisons.judge, one_of(POISONED, "poisoned_queue", at_hook=checkpoint(valid("poisoned-queue")[:3])),
        (POISONS[0],),
    ),
    "3 acked before": (
        c3_poisons.judge, one_of(POISONED, "poisoned_queue", queue_at_hook=queue(messages=9)), (POISONS[0],),
    ),
    "4 committed before the hook": (
        c4_restarts.judge, one_of(RESTARTS, "restart_consumer", offsets_at_hook=offsets(10, 10)), (VICTIM,),
    ),
    "4 not handed out again": (
        c4_restarts.judge, one_of(RESTARTS, "restart_consumer", deliveries=HANDED[:1]), (VICTIM,),
    ),
    "4 the group stands short of the end": (
        c4_restarts.judge, one_of(RESTARTS, "restart_broker", offsets_after=offsets(20, 21)), (),
    ),
    "4 not started again": (
        c4_restarts.judge,
        {**RESTARTS, "restart_broker": dataclasses.replace(
            BROKER, changes=[Change("stop_node", {}, True, "gone", False)])},
        (),
    ),
    "5 never fired": (c5_lag_alert.judge, {"lag_alert": but(LAG, alert_times=WAY[:2])}, ()),
    "5 not resolved": (c5_lag_alert.judge, {"lag_alert": but(LAG, alert_times=WAY[:3])}, ()),
    "5 too soon": (
        c5_lag_alert.judge,
        {"lag_alert": but(LAG, alert_times=path("inactive", "pending", "firing", "inactive", fired_after=3.0))}, (),
    ),
    "6 the page shows nothing": (c6_disk_alarm.judge, {"disk_alarm": but(DISK, alarms_on=NODES)}, ()),
    "6 another node": (c6_disk_alarm.judge, {"disk_alarm": but(DISK, alarms_on={**NODES, "n1": 1.0})}, ()),
    "6 confirmed while blocked": (
        c6_disk_alarm.judge, {"disk_alarm": but(DISK, outcomes_blocked={PROBES[0]: ["confirmed"]})}, (PROBES[0],),
    ),
    "6 the alarm stays": (c6_disk_alarm.judge, {"disk_alarm": but(DISK, alarms_after={**NODES, "n2": 1.0})}, ()),
    "6 the probe does not pass": (
        c6_disk_alarm.judge,
        {"disk_alarm": but(DISK, outcomes={**DISK.facts["outcomes"], PROBES[1]: ["unknown"]})}, (PROBES[1],),
    ),
    "6 the alert is silent": (c6_disk_alarm.judge, {"disk_alarm": but(DISK, alert_times=path("inactive"))}, ()),
    "6 the limit stays": (
        c6_disk_alarm.judge,
        {"disk_alarm": dataclasses.replace(DISK, changes=[dataclasses.replace(LIMIT, undone=False)])}, (),
    ),
    "7 an administrator": (
        c7_access.judge, one_of(ACCESS, "access_rabbitmq", account={**ACCOUNT, "tags": ["administrator"]}), (),
    ),
    "7 rights beyond": (
        c7_access.judge,
        one_of(ACCESS, "access_kafka", account={**ACCOUNT, "rights": [*RIGHTS, ["ALLOW", "ALL", "TOPIC", "*"]]}), (),
    ),
    **{
        f"7 {probe} of {name} is answered otherwise": (
            c7_access.judge,
            one_of(ACCESS, name.replace("-", "_"), probes=probes(
                wanted, **{probe: "allowed" if outcome != "allowed" else "authorization"})),
            (),
        )
        for name, wanted in c7_access.EXPECTED.items()
        for probe, outcome in wanted.items()
    },
    "8 one is left out": (c8_replay.judge, {"replay": but(REPLAY, replay_log=REPLAY_LOG[1:])}, (REPLAYED[0],)),
    "8 one twice": (c8_replay.judge, {"replay": but(REPLAY, replay_log=[*REPLAY_LOG, REPLAY_LOG[3]])}, (REPLAYED[3],)),
    "8 a poison": (
        c8_replay.judge, {"replay": but(REPLAY, replay_log=[*REPLAY_LOG, {"event_id": POISONS[1], "same": False}])},
        (POISONS[1],),
    ),
    "8 changed on the way": (
        c8_replay.judge,
        {"replay": but(REPLAY, replay_log=[{**REPLAY_LOG[0], "same": False}, *REPLAY_LOG[1:]])}, (REPLAYED[0],),
    ),
    "8 a stranger": (
        c8_replay.judge, {"replay": but(REPLAY, replay_log=[*REPLAY_LOG, {"event_id": "other", "same": True}])},
        ("other",),
    ),
    "8 done once more": (
        c8_replay.judge,
        {"replay": but(REPLAY, after_dedupe=checkpoint([], effects={**dict.fromkeys(REPLAYED, 1), REPLAYED[0]: 2}))},
        (REPLAYED[0],),
    ),
    "8 another projection": (
        c8_replay.judge, {"replay": but(REPLAY, projection_rebuilt={**PROJECTION, "hash": "other"})}, (),
    ),
    "8 the live group moved": (c8_replay.judge, {"replay": but(REPLAY, live_after=offsets(0, 23))}, ()),
}  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_broken(broken: tuple[Judge, Cases, tuple[str, ...]]) -> None:
    judge, cases, ids = broken
    found = judge(seen(**cases))
    assert (FAIL, tuple(sorted(ids))) == (found.verdict, found.ids), found.because


EMPTY = {"accounts": {}, "hash": "e"}
UNKNOWNS: dict[str, tuple[Judge, Cases]] = {
    "2 a member that is not ours": (c2_upgrade.judge, steps(0, members=["somebody"])),
    "2 a step is missing": (c2_upgrade.judge, {"rolling_upgrade": but(UPGRADE, steps=STEPS[:3])}),
    "3 nothing was sent at the kill": (c3_poisons.judge, one_of(POISONED, "poisoned_topic", sent_at_hook=[])),
    "3 the counts are not those of the database": (
        c3_poisons.judge, one_of(POISONED, "poisoned_queue", queue_at_hook=queue(messages=12)),
    ),
    "3 not held": (
        c3_poisons.judge, {**POISONED, "poisoned_queue": dataclasses.replace(QUEUE, hooks=[])},
    ),
    "3 not known to be confirmed": (
        c3_poisons.judge, one_of(POISONED, "poisoned_queue", outcomes_before={POISONS[0]: ["unknown"]}),
    ),
    "4 the same leader": (
        c4_restarts.judge, one_of(RESTARTS, "restart_queue_leader", queue_after=queue(leader="n1")),
    ),
    "4 a replica stays away": (
        c4_restarts.judge, one_of(RESTARTS, "restart_queue_leader", queue_back=queue(online=["n1", "n2"])),
    ),
    "4 the broker was still in sync": (c4_restarts.judge, one_of(RESTARTS, "restart_broker", replicas_without=BACK)),
    "4 not in sync again": (c4_restarts.judge, one_of(RESTARTS, "restart_broker", replicas_back=AWAY)),
    "4 the effect was not seen at the kill": (
        c4_restarts.judge, one_of(RESTARTS, "restart_consumer", at_hook=checkpoint(RESTART[:9])),
    ),
    "5 the witnesses disagree": (
        c5_lag_alert.judge, {"lag_alert": but(LAG, lag_held={**HELD, "exporter": {"0": 39.0}})},
    ),
    "5 fired twice": (
        c5_lag_alert.judge,
        {"lag_alert": but(LAG, alert_times=path("inactive", "pending", "inactive", "pending", "firing", "inactive"))},
    ),
    "6 an alarm was on before": (c6_disk_alarm.judge, {"disk_alarm": but(DISK, alarms_before={**NODES, "n1": 1.0})}),
    "7 an answer that says nothing": (
        c7_access.judge,
        one_of(ACCESS, "access_kafka", probes=probes(c7_access.EXPECTED["access-kafka"], other_group="unclear")),
    ),
    "7 no right at all": (c7_access.judge, one_of(ACCESS, "access_kafka", account={**ACCOUNT, "rights": []})),
    "8 not read to its end": (c8_replay.judge, {"replay": but(REPLAY, dedupe_offsets=offsets(19, 20))}),
    "8 the projection is of fewer": (
        c8_replay.judge,
        {"replay": but(REPLAY, projection=EMPTY, projection_rebuilt=EMPTY)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("unknown", UNKNOWNS.values(), ids=UNKNOWNS)
def test_unknown(unknown: tuple[Judge, Cases]) -> None:
    judge, cases = unknown
    found = judge(seen(**cases))
    assert (UNKNOWN, ()) == (found.verdict, found.ids), found.because


def test_a_target_without_tls_and_logins_blocks_what_is_about_them_and_nothing_else() -> None:
    plain = one_of(ACCESS, "access_kafka", offers={"lack": "its listeners are PLAINTEXT, and not SASL_SSL"})
    found = c7_access.judge(seen(**plain))
    assert (Verdict.BLOCKED, True) == (found.verdict, "--profile secure" in found.because)
    wrong = one_of(plain, "access_rabbitmq", account={**ACCOUNT, "tags": ["administrator"]})
    assert FAIL is c7_access.judge(seen(**wrong)).verdict


def test_a_quick_run_says_what_it_shrinks_and_where() -> None:
    quick = Seen({**PARAMETERS, "full_events": 200}, {"lag-alert": LAG, "replay": REPLAY})
    assert c5_lag_alert.judge(quick).because.endswith(
        "(quick: 40 events where the criterion has 200: not the full proof)"
    )
    assert "quick" not in c8_replay.judge(quick).because
