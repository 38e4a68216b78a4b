"""What a run is refused for. Nothing is changed when one of these objects."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from drills.engine.drill import Case, Drill
from drills.engine.errors import Refused
from drills.faults.change import Change
from drills.lab import locks
from drills.lab.errors import RefusedError
from drills.lab.record import write_whole
from drills.targets import kafka_isr
from drills.targets.rabbitmq_api import Management
from drills.targets.target import Target, TargetError

CRITICAL = "node-is-quorum-critical"
SHOWN = 5  # partitions that a refusal names


def check_target(target: Target, drill: Drill) -> None:
    """Raises Refused for a target that may not be broken, is another than it says, or lacks what the drill needs."""
    if not target.drillable:
        raise Refused(
            f"target {target.name!r} does not say `drillable: true` in {target.source}: it is not to be broken. "
            "If it may be, write that there"
        )
    if target.name != target.own_name:
        raise Refused(
            f"{target.source} says that this is {target.name!r}, and the cluster says that it is {target.own_name!r}: "
            "one of the two is not what you think"
        )
    lacking = [system for system in drill.systems if system not in target.systems]
    if lacking:
        raise Refused(f"drill {drill.name} needs {', '.join(lacking)}; target {target.name} has none")


def check_confirmed(target: Target, yes: str | None, asked: TextIO, line: str) -> None:
    """Asks for the target's name unless `--yes` gives it. Raises Refused. `line`: what to type instead of an answer."""
    if yes is not None:
        if yes != target.name:
            raise Refused(f"--yes names {yes!r}, and the target is {target.name!r}")
        return
    if not asked.isatty():
        raise Refused(f"nobody can be asked (no terminal). When {target.name} may be broken, run: {line}")
    print(f"This breaks {target.name} on purpose. Type its name to go on: ", end="", flush=True)  # noqa: T201
    try:
        answer = asked.readline().strip()
    except KeyboardInterrupt:
        raise Refused("Ctrl-C at the question; nothing was touched") from None
    if answer != target.name:
        raise Refused(f"{answer!r} is not {target.name!r}; nothing was touched")


@contextlib.contextmanager
def one_driver(target: Target, purpose: str) -> Iterator[None]:
    """Holds the target; raises Refused when another driver does. It is free when this process ends, however it ends."""
    try:
        with locks.hold(target.lock, purpose, seconds=0):
            yield
    except RefusedError as error:
        raise Refused(f"target {target.name} is in use. {error}") from error


def left_run(target: Target) -> str | None:
    """The run that did not put everything back on this target; None when all did."""
    try:
        return _mark(target).read_text().strip() or None
    except FileNotFoundError:
        return None


def check_clean(target: Target) -> None:
    """Raises Refused while an earlier run's changes may stand."""
    run = left_run(target)
    if run is not None:
        raise Refused(
            f"run {Path(run).name} on {target.name} did not end by itself, and what it changed may stand. "
            f"Put it back first: mq-drill recover {run}\n(if that run's folder is gone, look at the cluster "
            f"yourself, then remove {_mark(target)})"
        )


def mark_left(target: Target, folder: Path) -> None:
    """Notes that the run in `folder` may have changed the target, before it does."""
    write_whole(_mark(target), f"{folder}\n")


def unmark_left(target: Target, folder: Path) -> None:
    """Notes that this run put everything back."""
    if left_run(target) == str(folder):
        _mark(target).unlink(missing_ok=True)


def check_quorum(target: Target, case: Case, change: Change) -> None:
    """Raises Refused for a fault that takes a second member of a quorum, unless the case is about that."""
    taken = change.members()
    if not taken or case.about_quorum_loss:
        return
    for node in sorted(taken):
        others = [name for name in target.quorum(node) if name not in taken and _is_down(target, name)]
        gone = sorted(taken.intersection(target.quorum(node))) + others
        if len(gone) > 1:
            raise Refused(
                f"`{change.says()}` would leave {', '.join(gone)} gone at once; {case.name} is not about that"
            )
        if node in target.nodes("rabbitmq"):
            _check_critical(target, node, change)
        _check_in_sync(target, node, change)


def _is_down(target: Target, node: str) -> bool:
    return target.node(node).condition() != "serving"


def _check_critical(target: Target, node: str, change: Change) -> None:
    """RabbitMQ knows which queues, of others too, would lose their majority with a node."""
    try:
        objection = Management(target.rabbitmq, (node,)).check(CRITICAL)
    except TargetError as error:
        raise Refused(f"whether `{change.says()}` takes a majority could not be asked: {error}") from error
    if objection is not None:
        raise Refused(f"`{change.says()}` would take a majority from queues: {objection}")


def _check_in_sync(target: Target, node: str, change: Change) -> None:
    """A broker that is needed for the least number of in-sync replicas, of any topic, stays."""
    broker = target.kafka_broker(node)
    if broker is None:
        return
    try:
        short = kafka_isr.too_few_without(kafka_isr.read(target.kafka), broker)
    except TargetError as error:
        raise Refused(f"whether `{change.says()}` takes too many replicas could not be asked: {error}") from error
    if short:
        more = f" and {len(short) - SHOWN} more" if len(short) > SHOWN else ""
        raise Refused(
            f"`{change.says()}` would leave fewer in-sync replicas than {kafka_isr.LEAST} of "
            f"{', '.join(short[:SHOWN])}{more}"
        )


def _mark(target: Target) -> Path:
    return target.lock.with_name(f"{target.lock.name}-left")
