"""The objectives of a cluster as its snapshots carry them: what the configuration says, its patterns compiled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from exporter.config.objectives import KafkaObjectives, Objective, RabbitMQObjectives
from exporter.model.objectives import BACKLOG, DLQ, LAG_FLOOR, LAG_SECONDS, UNACKNOWLEDGED, Objectives, Rule


@cache
def of_kafka(given: KafkaObjectives) -> Objectives:
    """As the poll hands them on, with their patterns compiled once."""
    return Objectives(
        lag=tuple(
            _rule(one, (one.group, one.topic), {LAG_SECONDS: one.lag, LAG_FLOOR: one.floor}) for one in given.groups
        ),
        dead_letters=tuple(_rule(one, (".*", one.topic), {DLQ: one.unhandled}) for one in given.dead_letters),
    )


@cache
def of_rabbitmq(given: RabbitMQObjectives) -> Objectives:
    """As the poll hands them on, with their patterns compiled once."""
    return Objectives(
        queues=tuple(
            _rule(one, (one.vhost, one.queue), {BACKLOG: one.backlog, UNACKNOWLEDGED: one.unacknowledged})
            for one in given.queues
        ),
        dead_letters=tuple(_rule(one, (one.vhost, one.queue), {DLQ: one.unhandled}) for one in given.dead_letters),
    )


def _rule(given: Objective, patterns: Sequence[str], limits: dict[str, float | None]) -> Rule:
    compiled = tuple(re.compile(pattern, re.DOTALL) for pattern in patterns)
    said = {name: value for name, value in limits.items() if value is not None}
    return Rule(compiled, given.owner, given.tier, said)
