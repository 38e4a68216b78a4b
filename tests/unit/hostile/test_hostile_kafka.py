"""1,000 damaged answers of Kafka brokers: no fault, no hang, no growth, no wrong page, and all is well afterwards."""

from __future__ import annotations

from exporter.clients.kafka.reader import KafkaReader
from exporter.config.model import Kafka
from tests.unit.hostile import recordings
from tests.unit.hostile.kafka_peer import Peer, cluster
from tests.unit.hostile.siege import Outcome, besiege, honest
from tests.unit.hostile.watched import Watched

TIMEOUT = 1.0
DEADLINE = 20.0  # of a poll that takes two timeouts at most where the machine is idle
FIRST = frozenset({3, 18})  # Metadata, ApiVersions: without them a poll has nothing more to ask
FACTS = (
    "mq_kafka_group_committed_offset",
    "mq_kafka_group_lag_offsets",
    "mq_kafka_partition_high_watermark_offset",
    "mq_kafka_partition_log_start_offset",
    "mq_kafka_partition_in_sync_replicas",
    "mq_kafka_group_members",
    "mq_kafka_broker_up",
    "mq_kafka_controller",
    "mq_kafka_log_dir_used_bytes",
    "mq_dlq_depth_messages",
)


def section(peer: Peer) -> Kafka:
    return Kafka(bootstrap_servers=peer.recording.bootstrap, timeout=TIMEOUT, slow_interval=0.001)


def hostile(seed: int, answers: int) -> Outcome:
    """Polls until so many damaged answers were given."""
    with cluster(recordings.kafka(), seed) as peer, Watched(section(peer), KafkaReader, DEADLINE) as watched:
        return besiege(watched, peer, FIRST, sorted({key for _, key, _ in peer.recording.any} - FIRST), answers, FACTS)


def test_1000_damaged_answers_of_kafka_change_nothing_that_lasts() -> None:
    outcome = hostile(4, 1000)
    assert outcome.damaged >= 1000
    assert outcome.growth < 1.1, outcome.alive
    assert outcome.slowest < DEADLINE


def test_the_recorded_answers_are_read_whole() -> None:
    with cluster(recordings.kafka(), 0) as peer, Watched(section(peer), KafkaReader, DEADLINE) as watched:
        page = honest(watched, peer, FACTS)
        assert set(FACTS) == {name for name, _ in page}
        assert all(run.success for run in watched.poller.snapshots()["kafka"].runs)
