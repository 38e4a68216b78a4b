"""What witnesses read, and what they say when something is not there."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from drills.model.drain import Drain, Reading
from drills.witness.agreement import Agreement
from drills.witness.exporter_page import parse
from drills.witness.rabbitmq import QueueReading, RabbitWitness, WitnessError, read_queue
from drills.witness.rabbitmq_drain import prove

PAGE = """\
# TYPE mq_rabbitmq_queue_messages_ready gauge
mq_rabbitmq_queue_messages_ready{cluster="a",queue="work",vhost="v"} 3
mq_rabbitmq_queue_messages_ready{cluster="b",queue="work",vhost="v"} 4
"""


def reading(messages: int | None, unacked: int | None, at: float = 0.0) -> QueueReading:
    return QueueReading(at, "n1", ("n1",), ("n1",), messages, None, unacked, None)


def test_a_count_that_the_api_leaves_out_is_not_0() -> None:
    found = read_queue({"leader": "n1", "members": ["n2", "n1"], "online": ["n1"]}, 1.0)
    assert QueueReading(1.0, "n1", ("n1", "n2"), ("n1",), None, None, None, None) == found
    assert not found.has_majority


def test_the_page_gives_the_one_sample_that_was_asked_for() -> None:
    page = parse(PAGE, 0.0)
    assert 3 == page.value("mq_rabbitmq_queue_messages_ready", cluster="a", queue="work")
    assert page.value("mq_rabbitmq_queue_messages_ready", cluster="c") is None
    with pytest.raises(WitnessError):
        page.value("mq_rabbitmq_queue_messages_ready", queue="work")


def test_witnesses_that_differ_are_told_and_silence_is_neither() -> None:
    found = Agreement("exporter", "API", {"ready": (3, 4), "unacked": (0, 0), "consumers": (None, 1)})
    assert ["ready: exporter says 3, API says 4"] == found.disagreements
    assert ["consumers"] == found.silent


def test_a_drain_is_proven_by_zero_readings_far_enough_apart() -> None:
    readings = iter([reading(1, 1, 0.0), reading(None, None), reading(0, 0, 1.0), reading(0, 0, 6.5)])
    found = prove(lambda: next(readings), "sentinel-1", lambda _: None, 30.0)
    assert Drain("n1", "sentinel-1", (Reading(0.0, 0, 1), Reading(1.0, 0, 0), Reading(6.5, 0, 0))) == found
    assert found.lack() is None


def test_a_sentinel_that_was_not_consumed_proves_nothing() -> None:
    def lost(_: str) -> None:
        raise TimeoutError

    found = prove(lambda: reading(0, 0), "sentinel-1", lost, 0.1)
    assert "no sentinel was consumed" == found.lack()


@contextmanager
def node(answer: Mapping[str, Any]) -> Iterator[str]:
    """A management API that says this to everything; its URL."""
    body = json.dumps(answer).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_node_that_does_not_know_the_counts_is_not_the_only_one_that_is_asked() -> None:
    """Seen on 3.10 after a restart: for two minutes one node knew the queue and not how much was in it."""
    bare, whole = {"leader": "n2", "members": ["n2"], "online": ["n2"]}, {"messages": 0, "messages_unacknowledged": 0}
    with ExitStack() as nodes:
        first, second = (nodes.enter_context(node(answer)) for answer in (bare, {**bare, **whole}))
        for urls, messages in (
            ([first, second], 0),
            ([second, first], 0),
            ([first], None),
            ([first, "http://[::1]:9"], None),
        ):
            found = RabbitWitness(urls, "guest", "guest").queue("v", "work")
            assert found is not None
            assert ("n2", messages) == (found.leader, found.messages), urls
