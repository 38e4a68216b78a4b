"""Collectors that run at the slow interval: the topology, and the consumers of streams."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from exporter.clients.rabbitmq import cli, questions
from exporter.clients.rabbitmq.background import Background
from exporter.clients.rabbitmq.collecting import Slow
from exporter.clients.rabbitmq.failures import Failure, RequestError
from exporter.clients.rabbitmq.management import Management
from exporter.clients.rabbitmq.questions import Layout, Overview
from exporter.config.model import RabbitMQ
from exporter.model.common import Kind
from exporter.model.rabbitmq import STREAM, QueueName, StreamConsumer
from exporter.model.rabbitmq_listing import Listed
from exporter.model.rabbitmq_streams import Tracked, from_consumers, from_tracking


def collect_layout(
    slow: Slow[Layout],
    management: Management,
    overview: Overview | None,
    failure: Failure | None,
    queues: Mapping[QueueName, Listed],
    named: Collection[str] = (),
    again: bool = False,
) -> Layout | None:
    """The topology, read anew when it is time or when queues appeared that it can't know.

    `failure`: why the management API is of no use in this poll; `overview` is there when it is None. `named`: vhosts
    that the configuration names; `again`: read it whether it is time or not.
    """
    if not (again or slow.due()) and (slow.value is None or not outdated(slow.value, queues)):
        return slow.value
    run = slow.begin()
    found = None
    if failure is not None:
        run.failed("management API", failure)
    else:
        assert overview is not None
        try:
            found = questions.layout(management, overview, named)
        except RequestError as error:
            run.failed("management API", error.failure)
    slow.end(run, found)
    return slow.value


def outdated(layout: Layout, queues: Mapping[QueueName, Listed]) -> bool:
    """Whether there are queues or policies that the layout was read too early for."""
    topology = layout.topology
    return any(
        (name not in topology.queues and not queue.transient)
        or (queue.policy is not None and (name.vhost, queue.policy) not in topology.policies)
        or (queue.operator_policy is not None and (name.vhost, queue.operator_policy) not in topology.operator_policies)
        for name, queue in queues.items()
    )


def collect_streams(
    slow: Slow[tuple[StreamConsumer, ...]],
    management: Management,
    failure: Failure | None,
    queues: Mapping[QueueName, Listed],
) -> tuple[StreamConsumer, ...] | None:
    """Consumers of the streams among the queues, as far as they are connected."""
    if not slow.due():
        return slow.value
    run = slow.begin()
    streams = _streams(queues)
    found: tuple[StreamConsumer, ...] | None = None
    try:
        found = tuple(_consumers(management, failure, streams)) if streams else ()
    except RequestError as error:
        run.failed("streams", error.failure)
    slow.end(run, found)
    return slow.value


def _consumers(
    management: Management, failure: Failure | None, streams: Mapping[QueueName, int]
) -> list[StreamConsumer]:
    """The connected consumers that the broker lists; stored offsets are known to the CLI alone."""
    if failure is not None:
        raise RequestError(failure)
    try:
        consumers = from_consumers(questions.stream_consumers(management))
    except RequestError as error:
        if error.failure.kind is not Kind.PROTOCOL:
            raise
        what = "needs the plugin rabbitmq_stream_management, or `cli:` for stored offsets"
        raise RequestError(Failure(Kind.UNSUPPORTED, f"consumer lag of streams {what}")) from None
    return [consumer for consumer in consumers if consumer.stream in streams]


def collect_tracking(
    tracking: Background[list[Tracked]],
    config: RabbitMQ,
    failure: Failure | None,
    queues: Mapping[QueueName, Listed],
    patience: float,
) -> tuple[StreamConsumer, ...] | None:
    """Consumers of the streams by their stored offsets, as the CLI said last."""
    streams = _streams(queues)
    if not streams:
        return ()
    if failure is not None:  # when a node is frozen the CLI would hang as well
        tracking.refuse(failure)
    else:
        tracking.start(lambda: cli.stream_tracking(config))
    found = tracking.take(patience)
    return None if found is None else tuple(from_tracking(found, streams))


def _streams(queues: Mapping[QueueName, Listed]) -> dict[QueueName, int]:
    """Stream -> its number of members."""
    return {name: len(queue.members or ()) for name, queue in queues.items() if queue.type == STREAM}
