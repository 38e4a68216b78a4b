"""TLS and basic authentication in Prometheus' own format: tight, told when wrong, read again when changed."""

from __future__ import annotations

import base64
import logging
import os
import shutil
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bcrypt
import pytest

from exporter.config.mistakes import ConfigError
from exporter.config.web import load_web
from exporter.http_guard import Guard, WebSecurity, credentials
from exporter.http_response import Request, Response, text
from exporter.server import Limits, Server
from tests.pem import self_signed
from tests.unit.server.served import poller_of, site_of, snapshot, wait_for

HASH = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()


def site(_: Request) -> Response:
    return text("in\n")


def asked(user: str, password: str) -> Request:
    encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
    return Request("GET", "/metrics", {"authorization": f"Basic {encoded}"})


@pytest.fixture
def web(tmp_path: Path) -> Path:
    return tmp_path / "web.yaml"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return self_signed(tmp_path, "server")


def told(path: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_web(path)
    return [line.removeprefix(f"{path}").replace(str(path.parent), "{here}") for line in str(caught.value).splitlines()]


def test_only_users_with_their_password_come_in(web: Path) -> None:
    web.write_text(f"basic_auth_users: {{monitor: '{HASH}', other: '{HASH.replace('$2b$', '$2y$')}'}}")
    guard = Guard(site, WebSecurity(web))
    requests = [
        asked("monitor", "secret"),
        asked("other", "secret"),
        asked("monitor", "wrong"),
        asked("nobody", "secret"),
    ]
    requests += [
        asked("", ""),
        asked("monitor", "a\0b"),
        asked("monitor", "secret" + "x" * 100),
        Request("GET", "/metrics"),
    ]
    twice = [[guard(request).status.value for request in requests] for _ in range(2)]
    assert [[200, 200, 401, 401, 401, 401, 401, 401]] * 2 == twice
    assert {"WWW-Authenticate": 'Basic realm="mq-exporter", charset="UTF-8"'} == guard(requests[-1]).headers


def test_a_password_is_compared_once_and_remembered_without_being_kept(web: Path) -> None:
    slow = bcrypt.hashpw(b"secret", bcrypt.gensalt(11)).decode()
    web.write_text(f"basic_auth_users: {{monitor: '{slow}'}}")
    guard = Guard(site, WebSecurity(web))
    guard(asked("monitor", "secret"))
    began = time.process_time()
    for _ in range(20):
        assert 200 == guard(asked("monitor", "secret")).status.value
    assert time.process_time() - began < 0.2
    assert b"secret" not in b"".join(guard._outcomes)


@pytest.mark.parametrize(
    "header", ["", "Basic", "Basic !!!", "Bearer abc", "Basic " + base64.b64encode(b"nocolon").decode()]
)
def test_unreadable_credentials_are_none(header: str) -> None:
    assert credentials(header) is None


def test_an_empty_file_lets_everybody_in(web: Path) -> None:
    web.write_text("# nothing\n")
    assert 200 == Guard(site, WebSecurity(web))(Request("GET", "/")).status.value


def test_mistakes_are_told_with_their_line_and_no_secret(web: Path) -> None:
    web.write_text("basic_auth_users:\n  monitor: hunter2\ntls_server_confg: {}\n")
    assert [
        ":2:3: basic_auth_users.monitor: expected a bcrypt hash; make one with: htpasswd -nBC 10 USER",
        ":3:1: tls_server_confg: unknown key; did you mean `tls_server_config`?",
    ] == told(web)


def test_certificates_that_do_not_work_are_told(web: Path) -> None:
    web.write_text(
        "tls_server_config:\n  cert_file: a.pem\n  key_file: a.key\n  client_auth_type: RequireAndVerifyClientCert\n"
    )
    assert [
        ":2:3: tls_server_config.cert_file: there is no file {here}/a.pem",
        ":3:3: tls_server_config.key_file: there is no file {here}/a.key",
        ":4:3: tls_server_config.client_auth_type: needs `client_ca_file`: whose certificates are to be accepted",
    ] == told(web)
    for name in ("a.pem", "a.key"):
        (web.parent / name).write_text("no certificate")
    web.write_text("tls_server_config:\n  cert_file: a.pem\n  key_file: a.key\n")
    (mistake,) = told(web)
    assert mistake.startswith(":2:3: tls_server_config.cert_file: certificate and key cannot be used together: ")


@contextmanager
def guarded(web: Path) -> Iterator[Server]:
    poller = poller_of({"a": lambda: snapshot("a")})
    poller.poll_once()
    security = WebSecurity(web)
    limits = Limits(first_request=2)
    server = Server("127.0.0.1:0", Guard(site_of(poller), security), limits, lambda: security.current().context)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def https(server: Server, trusted: Path, client: Path | None = None, path: str = "/-/healthy") -> bytes:
    context = ssl.create_default_context(cafile=trusted)
    if client is not None:
        context.load_cert_chain(client, client.with_suffix(".key"))
    raw = socket.create_connection(("127.0.0.1", server.server_port), timeout=20)
    with raw, context.wrap_socket(raw, server_hostname="localhost") as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_https_is_served_and_slow_handshakes_keep_nobody_waiting(web: Path, certificate: Path) -> None:
    web.write_text("tls_server_config: {cert_file: server.pem, key_file: server.key}")
    with guarded(web) as server:
        assert server.url.startswith("https://127.0.0.1:")
        silent = [socket.create_connection(("127.0.0.1", server.server_port)) for _ in range(5)]
        assert https(server, certificate).startswith(b"HTTP/1.1 200 OK")
        assert b"mq_dlq_unhandled_messages" in https(server, certificate, path="/metrics")
        wait_for(lambda: len(server.connections) == 0, "the silent ones were given up")
        for connection in silent:
            connection.close()


def test_plain_http_is_refused_on_a_tls_port(web: Path, certificate: Path) -> None:
    web.write_text("tls_server_config: {cert_file: server.pem, key_file: server.key}")
    with guarded(web) as server, socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"mq_" not in b"".join(iter(lambda: connection.recv(65536), b""))


def test_only_clients_with_a_certificate_come_in_where_one_is_required(web: Path, certificate: Path) -> None:
    client, stranger = self_signed(web.parent, "client"), self_signed(web.parent, "stranger")
    web.write_text(
        "tls_server_config: {cert_file: server.pem, key_file: server.key, client_ca_file: client.pem, "
        "client_auth_type: RequireAndVerifyClientCert, min_version: TLS13}"
    )
    with guarded(web) as server:
        assert https(server, certificate, client).startswith(b"HTTP/1.1 200 OK")
        for wrong, reason in [(None, "certificate required"), (stranger, "unknown ca")] * 10:  # a reset would hide it
            with pytest.raises(ssl.SSLError, match=f"(?i){reason}"):
                https(server, certificate, wrong)


def test_a_new_certificate_is_used_without_a_restart_and_a_broken_one_is_not(
    web: Path, certificate: Path, caplog: pytest.LogCaptureFixture
) -> None:
    web.write_text("tls_server_config: {cert_file: server.pem, key_file: server.key}")
    with guarded(web) as server:
        assert https(server, certificate).startswith(b"HTTP/1.1 200 OK")
        old = certificate.read_bytes()
        self_signed(web.parent, "server")
        assert old != certificate.read_bytes()
        assert https(server, certificate).startswith(b"HTTP/1.1 200 OK")
        good = web.parent / "good.pem"
        shutil.copy(certificate, good)
        certificate.write_text("broken")
        os.utime(certificate, ns=(1, 1))
        with caplog.at_level(logging.ERROR):
            for _ in range(3):
                assert https(server, good).startswith(b"HTTP/1.1 200 OK")
        assert 1 == caplog.text.count("web configuration not read anew")
