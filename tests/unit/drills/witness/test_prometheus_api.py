"""Prometheus as a witness: what it says, what it does not say, and what it can't be asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from drills.witness.prometheus_api import Prometheus
from drills.witness.rabbitmq import WitnessError

MINE = {"alertname": "Lag", "drill": "mine"}
FIRING = {"state": "firing", "activeAt": "2026-12-01T10:00:00Z", "labels": MINE, "value": "2e+02"}
RULES = {
    "groups": [
        {"rules": [{"name": "Lag", "labels": {"drill": "other"}, "alerts": [{**FIRING, "state": "pending"}]}]},
        {"rules": [{"name": "Lag", "labels": {"drill": "mine"}, "alerts": [FIRING]}]},
        {"rules": [{"name": "Silent", "labels": {}, "alerts": []}]},
    ]
}
VECTOR = {"resultType": "vector", "result": [{"metric": {"topic": 'a "b"'}, "value": [1.0, "7"]}]}
ANSWERS: dict[str, Any] = {"up": VECTOR, "scalar(1)": {"resultType": "scalar", "result": [1.0, "1"]},
                           "none": {"resultType": "vector", "result": []}}  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """Prometheus' two paths; what it is asked beyond that is a bad query."""

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        query = parse_qs(asked.query).get("query", [""])[0]
        if asked.path == "/api/v1/rules":
            self.answer(200, {"status": "success", "data": RULES})
        elif query in ANSWERS:
            self.answer(200, {"status": "success", "data": ANSWERS[query]})
        else:
            self.answer(400, {"status": "error", "error": "parse error"})

    def answer(self, status: int, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def prometheus() -> Iterator[Prometheus]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Prometheus(f"http://127.0.0.1:{server.server_port}/")
        server.shutdown()


def test_values_come_with_their_labels(prometheus: Prometheus) -> None:
    assert [({"topic": 'a "b"'}, 7.0)] == prometheus.values("up")
    assert [({}, 1.0)] == prometheus.values("scalar(1)")
    assert [] == prometheus.values("none")


def test_an_alert_is_that_of_its_rule_and_no_other(prometheus: Prometheus) -> None:
    assert ["pending", "firing"] == prometheus.alerts("Lag")
    assert [FIRING] == prometheus.instances("Lag", drill="mine")
    assert [] == prometheus.alerts("Silent")


@pytest.mark.parametrize(
    "ask",
    [
        lambda one: one.alerts("Absent"),
        lambda one: one.instances("Lag", drill="nobody's"),
        lambda one: one.values("sum("),
    ],
)  # fmt: skip
def test_what_can_not_be_told_is_no_silence(prometheus: Prometheus, ask: Callable[[Prometheus], object]) -> None:
    with pytest.raises(WitnessError):
        ask(prometheus)


def test_nobody_there_is_no_silence_either() -> None:
    with pytest.raises(WitnessError, match="did not answer /api/v1/rules"):
        Prometheus("http://127.0.0.1:9").alerts("Lag")
