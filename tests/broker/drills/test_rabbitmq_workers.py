"""What the workers promise, on a real broker: outcomes, hooks, and a death that leaves what it should."""

from __future__ import annotations

from typing import Any

from drills.actors.hooks import AFTER_CONFIRM_BEFORE_LEDGER, AFTER_DB_COMMIT_BEFORE_ACK, BEFORE_DB_COMMIT
from drills.lab.waiting import wait_for
from drills.ledger.tables import deliveries, hooks, workers
from drills.model.publish import Attempt, Outcome
from tests.broker.drills.conftest import CONSUMER, PUBLISHER, Bench


def event(number: int, **more: Any) -> dict[str, Any]:
    return {"event_id": f"E{number:03}", **more}


def unacked(bench: Bench, expected: int) -> str | None:
    found = bench.witness.queue(bench.vhost, "work")
    return None if found is not None and found.unacked == expected else f"{found}"


def test_confirmed_and_returned_are_told_apart_and_pending_is_written_first(bench: Bench) -> None:
    publisher = bench.start(PUBLISHER, "p")
    bench.publish(publisher, event(1), event(2))
    publisher.stop()
    lost = bench.start(PUBLISHER, "q", queue="nowhere")
    bench.publish(lost, event(3))
    lost.stop()
    outcomes = [Outcome.CONFIRMED, Outcome.CONFIRMED, Outcome.RETURNED]
    assert [Attempt(f"E00{n}", 1, told) for n, told in enumerate(outcomes, 1)] == bench.ledger.attempts("case")
    assert [0, 0] == [row["exit_code"] for row in bench.ledger.rows(workers)]


def test_a_publisher_killed_at_the_confirm_leaves_pending_and_another_retries_that_id(bench: Bench) -> None:
    first = bench.start(PUBLISHER, "first")
    first.arm(AFTER_CONFIRM_BEFORE_LEDGER, "E001")
    first.send("publish", events=[event(1)], confirm_seconds=20)
    first.await_event("hook", 20, hook=AFTER_CONFIRM_BEFORE_LEDGER, event_id="E001")
    gone = first.kill()
    assert {"exit_code": -9, "gone": True} == {name: gone[name] for name in ("exit_code", "gone")}
    assert [Attempt("E001", 1, Outcome.PENDING)] == bench.ledger.attempts("case")
    second = bench.start(PUBLISHER, "second")
    second.send("retry", events=[event(1), event(2)], confirm_seconds=20)
    assert ["E001"] == second.await_event("retrying", 20)["ids"]
    second.await_event("settled", 40)
    both = [Attempt("E001", 1, Outcome.PENDING), Attempt("E001", 2, Outcome.CONFIRMED)]
    assert both == bench.ledger.attempts("case")


def test_killed_after_the_commit_it_is_delivered_again_and_applied_once(bench: Bench) -> None:
    bench.publish(bench.start(PUBLISHER, "p"), *(event(n) for n in (1, 2, 3)))
    first = bench.start(CONSUMER, "first")
    first.arm(AFTER_DB_COMMIT_BEFORE_ACK, "E002")
    first.send("start")
    first.await_event("hook", 30, event_id="E002")
    assert {"E001": 1, "E002": 1} == bench.reader.checkpoint().effects
    wait_for("the broker shows it unacked", lambda: unacked(bench, 1), 20)
    first.kill()
    second = bench.start(CONSUMER, "second")
    second.send("start")
    second.await_event("acked", 30, event_id="E003")
    assert {"exit_code": 0, "gone": True} == {k: v for k, v in second.stop().items() if k in ("exit_code", "gone")}
    found = bench.reader.checkpoint()
    assert (3, {"E001": 1, "E002": 1, "E003": 1}) == (found.counter, found.effects)
    seen = [(row["event_id"], row["worker"], row["redelivered"]) for row in bench.ledger.rows(deliveries)]
    again = [("E002", "first", False), ("E002", "second", True), ("E003", "second", False)]
    assert [("E001", "first", False), *again] == seen
    assert [("E002", None)] == [(row["event_id"], row["released"]) for row in bench.ledger.rows(hooks)]


def test_killed_before_the_commit_nothing_is_left_and_released_it_goes_on(bench: Bench) -> None:
    bench.publish(bench.start(PUBLISHER, "p"), event(1))
    first = bench.start(CONSUMER, "first")
    first.arm(BEFORE_DB_COMMIT, "E001")
    first.send("start")
    first.await_event("hook", 30, event_id="E001")
    first.kill()
    assert (0, {}, {}) == (lambda found: (found.counter, found.effects, found.inbox))(bench.reader.checkpoint())
    second = bench.start(CONSUMER, "second")
    second.arm(BEFORE_DB_COMMIT, "E001")
    second.send("start")
    second.await_event("hook", 30, event_id="E001")
    second.release()
    second.await_event("acked", 30, event_id="E001")
    assert 1 == bench.reader.checkpoint().counter


def test_the_same_id_with_another_payload_is_set_aside_whole(bench: Bench) -> None:
    bench.publish(bench.start(PUBLISHER, "p"), event(5), event(5), event(5, amount=2))
    consumer = bench.start(CONSUMER, "c")
    consumer.send("start")
    outcomes = [consumer.await_event("handled", 30)["outcome"] for _ in range(3)]
    consumer.stop()
    assert ["applied", "repeated", "conflict"] == outcomes
    found = bench.reader.checkpoint()
    assert (1, ["E005"]) == (found.counter, [row["event_id"] for row in found.quarantine])
    assert found.inbox["E005"] != found.quarantine[0]["payload_hash"]


def test_a_worker_whose_driver_is_gone_ends_at_once(bench: Bench) -> None:
    consumer = bench.start(CONSUMER, "c")
    assert consumer._child.stdin is not None
    consumer._child.stdin.close()
    wait_for("it has ended", lambda: "alive" if consumer.alive else None, 10)
    assert 70 == consumer._child.wait(10)
