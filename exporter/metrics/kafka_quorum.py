"""KRaft's own health: the quorum of controllers."""

from __future__ import annotations

from exporter.metrics.family import Family, Measured
from exporter.model.kafka import KafkaSnapshot

SYSTEMS = {"kafka"}
CONTROLLER = Family(
    "mq_kafka_controller",
    "gauge",
    "1 for the active controller, by its node id. From the quorum itself: metadata names a random broker.",
    ("broker",),
)
VOTERS = Family("mq_kafka_quorum_voters", "gauge", "Voters of the quorum of controllers.")
LAG = Family(
    "mq_kafka_quorum_voter_lag_offsets",
    "gauge",
    "Offsets of the metadata log that a voter is behind the leader, as the leader last heard. Absent when unknown.",
    ("voter",),
)
EPOCH = Family(
    "mq_kafka_quorum_leader_epoch",
    "gauge",
    "Rises with each election of an active controller.",
)
FAMILIES = (CONTROLLER, VOTERS, LAG, EPOCH)


def measure(snapshot: KafkaSnapshot) -> Measured:
    """Nothing while the quorum could not be described."""
    quorum = snapshot.quorum
    if quorum is None:
        return {}
    return {
        CONTROLLER: {(str(quorum.leader),): 1},
        VOTERS: {(): quorum.voters},
        LAG: {(str(voter),): lag for voter, lag in quorum.voter_lags.items()},
        EPOCH: {(): quorum.epoch},
    }
