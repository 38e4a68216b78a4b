"""Streams: what they retain, how far their consumers are behind."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured, known
from exporter.model.rabbitmq import RabbitSnapshot

SYSTEMS = {"rabbitmq"}
RETAINED = Family(
    "mq_rabbitmq_stream_retained_messages",
    "gauge",
    "Messages that the stream retains, as the broker counts them: with the records in which it keeps stored offsets. "
    "Not a backlog: consuming removes nothing.",
    ("vhost", "queue"),
)
LAG = Family(
    "mq_rabbitmq_stream_consumer_lag_offsets",
    "gauge",
    "Offsets from what the consumer stored under its reference name to the last one that a majority of the replicas "
    "holds. The records in which the broker keeps stored offsets take offsets, too, so a consumer that has read all "
    "may show a few. Without `cli:` only for connected consumers of the stream protocol that have a name, and "
    "by what they consumed. AMQP consumers can't be asked. Read at the slow interval.",
    ("vhost", "queue", "consumer"),
    "`cli:` for stored offsets; else the plugin rabbitmq_stream_management",
)
FAMILIES = (RETAINED, LAG)


def measure(snapshot: RabbitSnapshot) -> Measured:
    """One row for each stream, one for each consumer of it."""
    return {
        RETAINED: known({tuple(queue.id): queue.retained for queue in snapshot.queues}),
        LAG: {(*consumer.stream, consumer.consumer): consumer.lag for consumer in snapshot.stream_consumers},
    }
