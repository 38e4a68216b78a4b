"""What the configuration says should be there, so that a query can tell what is missing."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured, known
from exporter.model.common import ClusterSnapshot

SYSTEMS = {"kafka", "rabbitmq"}
BROKERS = Family(
    "mq_expected_brokers",
    "gauge",
    "Number of Kafka brokers that the configuration expects. Absent where it expects none.",
)
NODES = Family(
    "mq_expected_nodes",
    "gauge",
    "Number of RabbitMQ nodes that the configuration expects. Absent where it expects none.",
)
GROUP = Family(
    "mq_expected_group",
    "gauge",
    "1 for each consumer group that the configuration expects, whether the cluster has it or not.",
    ("group",),
)
FAMILIES = (BROKERS, NODES, GROUP)


def measure(snapshot: ClusterSnapshot) -> Measured:
    """One sample for each expectation."""
    expected = snapshot.expected
    return {
        BROKERS: known({(): expected.brokers}),
        NODES: known({(): expected.nodes}),
        GROUP: {(group,): 1 for group in expected.groups},
    }
