"""A run as a driver stores it, without brokers: rows of a ledger that tests fill, with a drill of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from drills import checker
from drills.engine import seeing
from drills.engine.drill import PHASES, Case, Criterion, Drill
from drills.evidence import samples
from drills.evidence.samples import Sample
from drills.ledger import Ledger, tables
from drills.ledger.database import sqlite_url
from drills.model.publish import Outcome
from drills.model.seen import Seen
from drills.model.verdict import Judgement, Verdict

RUN = "crash-window-20261201-021500-0000002a"
BEGAN = 1796091300.0
EVIL = "<script>alert(1)</script> \"q\" 'a' & \\ \n\u202eline"
PASSWORD = "pl4nted-s3cret"
EVENTS = [f"E{number:03}" for number in range(1, 101)]


class Baseline(Case):
    """The design that is right."""

    name = "baseline"
    title = "A hundred events, once each"

    def plan(self, _: Mapping[str, Any]) -> Iterable[str]:
        """Nothing to tell."""
        return ()


class Crash(Baseline):
    """A consumer that is killed."""

    name = "after-commit"
    title = "Killed after the commit, before the ack"


class Control(Baseline):
    """A design that is wrong."""

    name = "no-inbox"
    title = "Two copies without an inbox"
    negative_control = True


def _never(_: Seen) -> Judgement:
    raise AssertionError("evidence is written from judgements that are stored")


DRILL = Drill(
    "crash-window",
    "Is a confirmed event ever lost, or its effect applied twice, when a process dies between confirm, commit and ack?",
    "Có sự kiện đã xác nhận nào bị mất, hoặc tác dụng lặp lại, khi tiến trình chết giữa xác nhận, commit và ack?",
    ("rabbitmq",),
    [Baseline(), Crash(), Control()],
    [
        Criterion(1, "Baseline: 100 confirms, 100 effects", "Cơ sở: 100 xác nhận, 100 tác dụng", _never, ("baseline",)),
        Criterion(2, "Killed after commit, before ack", "Bị giết sau commit, trước ack", _never, ("after-commit",)),
        Criterion(4, "Negative control: no inbox", "Đối chứng âm: không có inbox", _never, ("no-inbox",)),
    ],
    lambda _: {"count": 100},
)  # fmt: skip


class Clock:
    """Times that are the same in every run of the tests."""

    def __init__(self) -> None:
        self.now = BEGAN

    def time(self) -> float:
        """Seconds since 1970; each look is a twentieth of a second later."""
        self.now += 0.05
        return self.now

    def monotonic(self) -> float:
        """The same clock."""
        return self.now - BEGAN + 5000

    def pause(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds


class StoredRun:
    """The writer of a stored run. `folder` gets its ledger."""

    def __init__(self, folder: Path, clock: Clock, only: list[int] | None = None) -> None:
        self.folder, self.clock = folder, clock
        folder.mkdir(parents=True, exist_ok=True)
        self.ledger = Ledger(sqlite_url(folder / "ledger.db"), RUN)
        self.ledger.create()
        parameters = {"count": 100, "budget": {"unacked_most": 1}, "quick": False, "only": only, "fixed": "ab" * 32}
        driver = {"driver_pid": 4242, "driver_started": 17, "versions": {"rabbitmq": "3.10.8", "pika": "1.4.4"}}
        self.ledger.begin(drill=DRILL.name, target="dev", seed=42, quick=False, parameters=parameters, **driver)

    def phases(self, case: str, names: Iterable[str] = PHASES, last: str = "ended") -> Iterable[str]:
        """Goes through phases, each noted before and after; the last one ends as told."""
        names = list(names)
        for name in names:
            self.ledger.note("phase", f"{name} begins", case, phase=name, state="began")
            yield name
            self.clock.pause(3)
            state = last if name == names[-1] else "ended"
            if state != "began":
                self.ledger.note("phase", f"{name} {state}", case, phase=name, state=state)

    def publish(self, case: str, events: Iterable[str], outcome: Outcome = Outcome.CONFIRMED) -> None:
        """Attempts with their outcome."""
        for event in events:
            number = self.ledger.attempt(case, event, f"{case}/publisher")
            if outcome is not Outcome.PENDING:
                self.ledger.settle(case, event, number, outcome)

    def deliver(self, case: str, events: Iterable[str], *, again: bool = False) -> None:
        """Deliveries."""
        for event in events:
            self.ledger.delivered(case, event, f"{case}/consumer", "work", redelivered=again)

    def close_books(self, case: str, effects: Mapping[str, int], *, waiting: int = 0, **facts: Any) -> None:
        """The facts that a reconciliation is made of."""
        readings = [{"at": 0.0, "waiting": 0, "unacked": 0}, {"at": 6.0, "waiting": waiting, "unacked": 0}]
        self.ledger.fact(case, "drain", {"leader": "rabbit@one", "sentinel": "s-1", "readings": readings}, "the drain")
        for name, value in {"effects": dict(effects), **facts}.items():
            self.ledger.fact(case, name, value, "the business database, by a second connection")

    def fault(self, case: str, kind: str, bite: Any, **arguments: Any) -> int:
        """A fault that was made, and perhaps proven."""
        number = self.ledger.plan_change(case, kind, arguments, is_fault=True)
        self.ledger.change(number, made=self.clock.time())
        if bite is not None:
            self.ledger.change(number, bite=bite, bitten=self.clock.time())
        return number

    def check_the_checker(self) -> None:
        """As the engine does, over a business that is a dictionary."""
        effects: dict[str, dict[str, int]] = {case: {} for case in checker.CASES}

        def apply(case: str, event: str) -> None:
            effects[case][event] = effects[case].get(event, 0) + 1

        def account(case: str) -> Any:
            self.ledger.fact(case, "effects", effects[case], "the business database")
            return seeing.account(self.ledger, case, self.ledger.facts()[case])

        checker.check(self.ledger, apply, account)

    def samples(self, readings: Iterable[Sample]) -> None:
        """`metrics.csv`, as a sampler leaves it."""
        with (self.folder / "metrics.csv").open("a", newline="") as out:
            out.write(",".join(samples.HEADER) + "\r\n" + samples.rows(readings))


def whole(folder: Path, clock: Clock) -> StoredRun:
    """A run that passed, with a killed consumer, a negative control, samples and names that nobody should trust."""
    run = StoredRun(folder, clock)
    for phase in run.phases("baseline"):
        if phase == "steady":
            run.publish("baseline", EVENTS)
            run.deliver("baseline", EVENTS)
        if phase == "drain":
            run.close_books("baseline", dict.fromkeys(EVENTS, 1), depth_before=100, note=EVIL)
    _crash(run)
    for phase in run.phases("no-inbox"):
        if phase == "drain":
            run.publish("no-inbox", ["E005"])
            run.deliver("no-inbox", ["E005", "E005"])
            run.close_books("no-inbox", {"E005": 2})
    run.check_the_checker()
    run.ledger.note(
        "note", f"the target says {EVIL}; amqp://drill:{PASSWORD}@127.0.0.1:5672/", target_password=PASSWORD
    )
    ledger = run.ledger
    ledger.judge(
        1,
        Judgement(
            Verdict.PASS,
            "100 confirms, depth 100, then inbox E001 to E100 and counter 100",
            evidence={"confirms": 100, "counter": 100, "broker": EVIL},
        ),
    )
    ledger.judge(
        2, Judgement(Verdict.PASS, "E050 redelivered, one inbox row, counter 100", ("E050",), {"redelivered": True})
    )
    ledger.judge(
        4,
        Judgement(
            Verdict.PASS,
            "without an inbox 101, with it 100",
            ("E005",),
            {"right_design": 100, "negative_control": {"design": "no inbox", "counter": 101}},
        ),
    )
    run.samples(_readings(clock))
    ledger.finish("finished", 0)
    return run  # fmt: skip


def _crash(run: StoredRun) -> None:
    ledger, case, number = run.ledger, "after-commit", 0
    for phase in run.phases(case):
        if phase == "fixture":
            vhost = ledger.plan_change(case, "vhost", {"name": f"drill-{RUN}-after-commit"}, is_fault=False)
            ledger.change(vhost, made=run.clock.time())
            ledger.worker_began(name=f"{case}/consumer", case=case, role="consumer", pid=77, started=5)
            run.publish(case, EVENTS)
            run.publish(case, ["U001"], Outcome.PENDING)
        if phase == "inject":
            run.deliver(case, EVENTS[:50])
            ledger.hook_reached(case, f"{case}/consumer", "AFTER_DB_COMMIT_BEFORE_ACK", "E050")
            number = run.fault(case, "kill_process", {"pid": 77, "gone": True}, name=EVIL, pid=77)
            ledger.worker_ended(f"{case}/consumer", -9)
        if phase == "recover":
            ledger.change(number, undone=run.clock.time())
            ledger.note("recovery", f"start consumer: {EVIL}", case, number=number, state="undone")
            run.deliver(case, ["E050"], again=True)
            run.deliver(case, EVENTS[50:])
        if phase == "drain":
            run.close_books(case, dict.fromkeys([*EVENTS, "U001"], 1))
            times = {"detection_seconds": None, "service_seconds": 1.4, "drained_seconds": 7.25}
            ledger.fact(case, "recovery", times, "the ledger's clock")
    ledger.change(vhost, undone=run.clock.time())


def _readings(clock: Clock) -> Iterable[Sample]:
    """Every two seconds: a queue that fills, drains, is not read for a while, and drains to its end."""
    for tick in range(int((clock.now - BEGAN) / 2)):
        at, second = BEGAN + 2 * tick, 2 * tick
        unreadable = 34 <= second <= 37
        yield Sample(at, second, samples.SCRAPED, "{}", 0.0 if unreadable else 1.0)
        if not unreadable:
            labels = f'{{"queue": "work", "vhost": "drill-{RUN}-{"baseline" if second < 21 else "after-commit"}"}}'
            ready = max(0.0, 100 - 12.0 * abs((second % 21) - 6))
            yield Sample(at, second, "mq_rabbitmq_queue_messages_ready", labels, ready)
            yield Sample(at, second, "mq_rabbitmq_queue_messages_unacknowledged", labels, 1.0 if ready else 0.0)
            yield Sample(at, second, "mq_rabbitmq_queue_oldest_message_age_seconds", labels, ready / 9)


def half(folder: Path, clock: Clock) -> StoredRun:
    """A run whose driver was killed in the middle of the second case, with a fault in place."""
    run = StoredRun(folder, clock)
    for _ in run.phases("baseline"):
        pass
    run.publish("baseline", EVENTS)
    run.close_books("baseline", dict.fromkeys(EVENTS, 1))
    for phase in run.phases("after-commit", PHASES[:3], last="began"):
        if phase == "inject":
            run.publish("after-commit", EVENTS[:3])
            run.fault("after-commit", "kill_node", None, node="rabbitmq-1")
    return run


def failed(folder: Path, clock: Clock) -> StoredRun:
    """A run that found a lost, a doubled and an unexpected event, with a rollback that failed."""
    run = StoredRun(folder, clock)
    for phase in run.phases("baseline"):
        if phase == "drain":
            run.publish("baseline", EVENTS)
            run.deliver("baseline", EVENTS)
            effects = {**dict.fromkeys(EVENTS[:-1], 1), "E007": 2, f"X<b>{EVIL}": 1}
            run.close_books("baseline", effects, seen_at={"E100": "queue work, unacknowledged"})
    number = run.fault("baseline", "stop_node", {"state": "gone"}, node="rabbitmq-2")
    run.ledger.change(number, undo_error="rabbitmq-2 did not come back within 180 s")
    run.ledger.judge(1, Judgement(Verdict.FAIL, "E100 is lost, E007 was applied twice", ("E007", "E100")))
    run.ledger.judge(2, Judgement(Verdict.UNKNOWN, "no bite: the leader did not move"))
    run.ledger.judge(4, Judgement(Verdict.BLOCKED, "RabbitMQ 3.10 has no such thing; it came with 4.0"))
    run.ledger.finish("finished", 6)
    return run


def timeline(run: StoredRun) -> list[Any]:
    """Its timeline's rows."""
    return list(run.ledger.rows(tables.timeline))
