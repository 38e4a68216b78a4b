"""The HTTP client against servers that misbehave in ways in which a RabbitMQ can't be made to."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from exporter.clients.rabbitmq import http
from exporter.clients.rabbitmq.collecting import Run
from exporter.clients.rabbitmq.failures import RequestError, judge, not_json
from exporter.clients.rabbitmq.http import Answer, Client, address_of
from exporter.clients.rabbitmq.management import Management
from exporter.clients.rabbitmq.node_endpoints import NodeEndpoints
from exporter.clients.rabbitmq.node_word import hear, judge_nodes
from exporter.config.model import RabbitMQ
from exporter.model.common import Kind
from tests.pem import self_signed

Serve = Callable[[socket.socket], None]


class Server:
    """Hands each connection to a function, in a thread of its own."""

    def __init__(self, serve: Serve, wrap: Callable[[socket.socket], socket.socket] | None = None) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.connections = 0
        self._serve, self._wrap = serve, wrap
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._one, args=[connection], daemon=True).start()

    def _one(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            wrapped = self._wrap(connection) if self._wrap else connection
            with wrapped:
                self._serve(wrapped)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)


@pytest.fixture
def serving() -> Iterator[Callable[..., Server]]:
    made: list[Server] = []

    def make(serve: Serve, wrap: Callable[[socket.socket], socket.socket] | None = None) -> Server:
        made.append(Server(serve, wrap))
        return made[-1]

    yield make
    for server in made:
        server.close()


def request_of(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            raise OSError("closed")
        data += more
    return data


def hang(connection: socket.socket) -> None:
    """Read what comes, and say nothing until the other side gives up."""
    while connection.recv(65536):
        pass


def answer(body: bytes, status: str = "200 OK", headers: bytes = b"") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n%s" % (status.encode(), len(body), headers, body)


def once(body: bytes) -> Serve:
    def serve(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(answer(body, headers=b"Connection: close\r\n"))

    return serve


def config(*ports: int, scheme: str = "http", **settings: Any) -> RabbitMQ:
    return RabbitMQ(urls=tuple(f"{scheme}://127.0.0.1:{port}" for port in ports), **{"timeout": 2.0, **settings})


def get(asked: RabbitMQ, seconds: float = 2.0) -> Answer:
    client = Client(asked)
    try:
        return client.get(asked.urls[0], "/api/overview", True, seconds, time.monotonic() + seconds)
    finally:
        client.close()


def failure(asked: RabbitMQ, seconds: float = 2.0) -> tuple[Kind, str]:
    with pytest.raises(RequestError) as caught:
        get(asked, seconds)
    return caught.value.failure.kind, caught.value.failure.detail


def test_an_answer_that_trickles_in_ends_at_the_deadline(serving: Callable[..., Server]) -> None:
    ended = threading.Event()

    def trickle(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while not ended.wait(0.1):
            connection.sendall(b"x")

    server = serving(trickle)
    began = time.monotonic()
    kind, _ = failure(config(server.port), 1.0)
    ended.set()
    assert Kind.TIMEOUT is kind
    assert time.monotonic() - began < 3


def test_a_server_that_says_nothing_is_late(serving: Callable[..., Server]) -> None:
    kind, detail = failure(config(serving(hang).port), 0.5)
    assert (Kind.TIMEOUT, True) == (kind, "no answer within 0.5 s" in detail)


def test_an_answer_without_end_is_refused(serving: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LARGEST", 1 << 20)
    server = serving(once(b"x" * (3 << 20)))
    assert (Kind.PROTOCOL, True) == (failure(config(server.port))[0], "over 1 MiB" in failure(config(server.port))[1])


def test_a_greeting_that_is_not_http(serving: Callable[..., Server]) -> None:
    def greet(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(b"AMQP\0\0\x09\x01")

    kind, detail = failure(config(serving(greet).port))
    assert (Kind.PROTOCOL, True) == (kind, "this is the AMQP port" in detail), detail


def test_a_connection_that_went_stale_is_replaced_without_a_failure(serving: Callable[..., Server]) -> None:
    def keep_alive_once(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(answer(b"{}"))  # says it stays open, and closes

    server = serving(keep_alive_once)
    asked = config(server.port)
    client = Client(asked)
    for _ in range(3):
        assert b"{}" == client.get(asked.urls[0], "/", True, 2.0, time.monotonic() + 2).body
    assert 3 == server.connections
    client.close()


def test_redirects_are_not_followed(serving: Callable[..., Server]) -> None:
    """The password would go along."""

    def redirect(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(answer(b"", "302 Found", b"Location: http://127.0.0.1:1/\r\nConnection: close\r\n"))

    kind, detail = failure(config(serving(redirect).port))
    assert (Kind.PROTOCOL, True) == (kind, "HTTP 302" in detail)


def test_the_login_is_utf_8(serving: Callable[..., Server]) -> None:
    seen: list[bytes] = []

    def note(connection: socket.socket) -> None:
        seen.append(request_of(connection))
        connection.sendall(answer(b"{}", headers=b"Connection: close\r\n"))

    get(config(serving(note).port, username="jürgen", url_password="pä:ss"))
    assert b"Authorization: Basic asO8cmdlbjpww6Q6c3M=\r\n" in seen[0]


def test_a_node_that_hangs_costs_one_timeout_and_the_next_url_is_used(serving: Callable[..., Server]) -> None:
    hanging = serving(hang)
    good = serving(once(b'{"fine": true}'))
    management = Management(config(hanging.port, good.port, timeout=1.0))
    management.begin()
    began = time.monotonic()
    assert {"fine": True} == management.get("overview")
    assert time.monotonic() - began < 1.8
    management.begin()
    began = time.monotonic()
    assert {"fine": True} == management.get("overview")  # what answered last is asked first
    assert time.monotonic() - began < 0.8
    management.close()


def test_when_all_hang_two_are_tried_and_then_one_a_poll(serving: Callable[..., Server]) -> None:
    hanging = [serving(hang) for _ in range(3)]
    management = Management(config(*(server.port for server in hanging), timeout=0.5))
    counts = []
    for _ in range(3):
        management.begin()
        with pytest.raises(RequestError):
            management.get("overview")
        with pytest.raises(RequestError):
            management.get("nodes")
        counts.append(sum(server.connections for server in hanging))
    management.close()
    assert [2, 3, 4] == counts


def test_a_web_page_is_no_management_api(serving: Callable[..., Server]) -> None:
    server = serving(once(b"<!DOCTYPE html><html></html>"))
    management = Management(config(server.port))
    management.begin()
    with pytest.raises(RequestError) as caught:
        management.get("overview")
    assert (Kind.PROTOCOL, True) == (caught.value.failure.kind, "a web page" in caught.value.failure.detail)
    management.close()


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (401, b'{"error":"not_authorized","reason":"Login failed"}', Kind.AUTHENTICATION, "wrong user or password"),
        (401, b'{"reason":"Not monitor user"}', Kind.AUTHORIZATION, "lacks the `monitoring` tag"),
        (403, b"", Kind.AUTHORIZATION, "is forbidden"),
        (404, b"", Kind.PROTOCOL, "not a management API"),
        (503, b"<html>", Kind.UNREACHABLE, "HTTP 503"),
        (500, b'{"reason":"boom"}', Kind.PROTOCOL, "boom"),
    ],
)
def test_each_status_has_its_kind(status: int, body: bytes, kind: Kind, said: str) -> None:
    found = judge(status, body, "http://h:15672", "/api/nodes")
    assert found is not None
    assert (kind, True) == (found.kind, said in found.detail)


def test_a_metrics_page_is_recognised() -> None:
    assert "that is the metrics port" in not_json(b"# TYPE x gauge\n", "http://h:1", "/api/overview").detail


def test_an_address_has_no_user_and_no_path() -> None:
    assert "http://h:15672" == address_of("http://me:secret@h:15672/path?x=y")
    assert "https://[::1]:443" == address_of("https://[::1]/")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1, and its key."""
    made = self_signed(tmp_path_factory.mktemp("tls"), "lab", "IP:127.0.0.1")
    return made, made.with_suffix(".key")


@pytest.fixture
def tls_port(serving: Callable[..., Server], certificate: tuple[Path, Path]) -> int:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return serving(once(b"{}"), lambda plain: context.wrap_socket(plain, server_side=True)).port


def test_an_unknown_authority_is_named(tls_port: int) -> None:
    kind, detail = failure(config(tls_port, scheme="https"))
    assert (Kind.TLS, True) == (kind, "as `ca_file`" in detail), detail


def test_a_given_authority_is_trusted(tls_port: int, certificate: tuple[Path, Path]) -> None:
    assert b"{}" == get(config(tls_port, scheme="https", ca_file=certificate[0])).body


def test_verification_can_be_left_out(tls_port: int) -> None:
    assert b"{}" == get(config(tls_port, scheme="https", insecure_skip_verify=True)).body


def test_another_host_name_is_named(tls_port: int, certificate: tuple[Path, Path]) -> None:
    asked = RabbitMQ(urls=(f"https://localhost:{tls_port}",), timeout=2.0, ca_file=certificate[0])
    kind, detail = failure(asked)
    assert (Kind.TLS, True) == (kind, "another host name" in detail), detail


def test_plain_http_where_tls_is_spoken_is_explained(tls_port: int) -> None:
    kind, detail = failure(config(tls_port))
    assert kind in {Kind.UNREACHABLE, Kind.PROTOCOL}
    assert "TLS port" in detail or "not HTTP" in detail


IDENTITY = b'rabbitmq_identity_info{rabbitmq_node="rabbit@one",rabbitmq_cluster="c"} 1\n'


def test_a_node_whose_detailed_page_is_late_keeps_its_plain_one(serving: Callable[..., Server]) -> None:
    """As RabbitMQ 4.3 does while a peer is frozen: alarms and disk are known, the depths of its queues are not."""

    def serve(connection: socket.socket) -> None:
        while True:
            if b"/metrics/detailed" in request_of(connection):
                hang(connection)
            connection.sendall(answer(IDENTITY))

    url = f"http://127.0.0.1:{serving(serve).port}"
    run = Run("node_metrics", 1.0)
    with ThreadPoolExecutor() as pool:
        endpoints = NodeEndpoints(config(1, timeout=1.0, node_metrics_urls={"rabbit@one": url}), pool)
        endpoints.begin()
        endpoints.start()
        collected = endpoints.collect()
        endpoints.close()
    judge_nodes(run, collected, None, None)
    word = hear(collected, {}, endpoints.urls)
    assert ({"rabbit@one"}, {"rabbit@one": {}}, {}) == (set(word.pages), word.counted, collected.failures)
    told = [(problem.item, problem.kind) for problem in run.problems]
    assert [("queues of node rabbit@one", Kind.TIMEOUT)] == told
