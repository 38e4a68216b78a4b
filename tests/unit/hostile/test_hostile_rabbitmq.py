"""1,000 damaged answers of RabbitMQ nodes: no fault, no hang, no growth, no wrong page, and all is well afterwards."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from exporter.clients.rabbitmq import http
from exporter.clients.rabbitmq.reader import RabbitReader
from exporter.config.model import RabbitMQ
from tests.unit.hostile import recordings
from tests.unit.hostile.rabbitmq_peer import Peer, cluster
from tests.unit.hostile.siege import Outcome, besiege, honest
from tests.unit.hostile.watched import Watched

TIMEOUT = 1.0
DEADLINE = 20.0  # of a poll that takes two timeouts at most where the machine is idle
FACTS = (
    "mq_rabbitmq_queue_messages_ready",
    "mq_rabbitmq_queue_messages_unacknowledged",
    "mq_rabbitmq_queue_consumers",
    "mq_rabbitmq_queue_replicas_online",
    "mq_rabbitmq_stream_retained_messages",
    "mq_rabbitmq_node_up",
    "mq_rabbitmq_node_memory_used_bytes",
    "mq_rabbitmq_connections",
    "mq_dlq_depth_messages",
    "mq_disk_free_bytes",
)
FIRST = frozenset({"/api/overview"})  # without it a poll has little more to ask


def section(peer: Peer) -> RabbitMQ:
    return RabbitMQ(urls=peer.recording.urls, timeout=TIMEOUT, slow_interval=0.001)


def hostile(seed: int, answers: int) -> Outcome:
    """Polls until so many damaged answers were given."""
    with cluster(recordings.rabbitmq(), seed) as peer, Watched(section(peer), RabbitReader, DEADLINE) as watched:
        return besiege(
            watched, peer, FIRST, sorted({urlsplit(url).path for url in peer.recording.answers} - FIRST), answers, FACTS
        )


def test_1000_damaged_answers_of_rabbitmq_change_nothing_that_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LARGEST", 4 << 20)
    outcome = hostile(4, 1000)
    assert outcome.damaged >= 1000
    assert outcome.growth < 1.1, outcome.alive
    assert outcome.slowest < DEADLINE


def test_the_recorded_answers_are_read_whole() -> None:
    with cluster(recordings.rabbitmq(), 0) as peer, Watched(section(peer), RabbitReader, DEADLINE) as watched:
        page = honest(watched, peer, FACTS)
        assert set(FACTS) == {name for name, _ in page}
        assert all(run.success for run in watched.poller.snapshots()["rabbitmq"].runs)
