"""Connections that fail say why and what to do; those that work are used again. All on loopback."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import socket
import struct
import threading
import time
from pathlib import Path

import pytest

from exporter.clients.kafka.address import Address
from exporter.clients.kafka.brokers import Brokers, Failure, Request
from exporter.clients.kafka.properties import Client
from exporter.clients.kafka.recorder import Recorder
from exporter.clients.kafka.topics import TopicReader
from exporter.clients.kafka.wire import INT16, INT32, Cursor, compact, compact_array, plain, plain_array
from exporter.config.model import Filter, Secret
from exporter.model.common import Kind
from tests.pem import certificates
from tests.unit.errors.servers import says
from tests.unit.kafka.fake_broker import API_VERSIONS_ANSWER, broker, exactly, listener, server_context
from tests.unit.kafka.sasl_broker import ECHO, sasl_answers

METADATA = Request(3, 12, b"\0\0\1\0")
NO_TOPICS = INT32.pack(0) + b"\1" + b"\0" + INT32.pack(1) + b"\1" + b"\0"  # v12: no brokers, no cluster id
NO_KEY = "no certificate with its key, or a key whose password is another one"
TOO_LARGE = (
    "HERE: an answer of 2147483647 bytes is not Kafka's; allowed are 268435456 "
    "(client property receive_message_max_bytes)"
)


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    return certificates(tmp_path_factory.mktemp("pem"))


def brokers(address: str, timeout: float = 2.0, secrets: dict[str, Secret] | None = None, **client: str) -> Brokers:
    made = Brokers([address], Client.of(client, secrets or {}), timeout)
    made.begin()
    return made


def asked(address: str, timeout: float = 2.0, secrets: dict[str, Secret] | None = None, **client: str) -> object:
    """The answer to one request, or its failure as (kind, detail)."""
    made = brokers(address, timeout, secrets, **client)
    try:
        answer = made.ask({-1: [METADATA]})[-1]
    finally:
        made.close()
    return (answer.kind, answer.detail.replace(address, "HERE")) if isinstance(answer, Failure) else answer[0]


def echo(key: int, version: int, body: bytes) -> bytes:
    return ECHO


def test_an_answer_comes_back_without_its_header() -> None:
    with listener(broker(echo)) as port:
        assert asked(f"127.0.0.1:{port}") == ECHO


def test_a_length_that_cannot_be_is_refused() -> None:
    with listener(says(b"\x7f\xff\xff\xffxxxx")) as port:
        assert asked(f"127.0.0.1:{port}") == (Kind.PROTOCOL, TOO_LARGE)


def test_tls_works_with_the_right_ca(pem: tuple[Path, Path, Path]) -> None:
    ca, cert, key = pem
    with listener(broker(echo), server_context(cert, key)) as port:
        assert asked(f"localhost:{port}", security_protocol="SSL", ssl_cafile=str(ca)) == ECHO


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        ({"ssl_cafile": "missing.pem"}, "ssl_cafile FOLDER/missing.pem can't be used: No such file or directory"),
        ({"ssl_cafile": "cert.key"}, "ssl_cafile FOLDER/cert.key can't be used: NO_CERTIFICATE_OR_CRL_FOUND"),
        (
            {"ssl_cafile": "ca.pem", "ssl_certfile": "ca.pem"},
            f"ssl_certfile FOLDER/ca.pem can't be used: {NO_KEY}",
        ),
    ],
)
def test_a_file_that_is_no_certificate_is_named(
    pem: tuple[Path, Path, Path], client: dict[str, str], expected: str
) -> None:
    folder = pem[0].parent
    given = {name: str(folder / value) for name, value in client.items()}
    with listener(broker(echo), server_context(pem[1], pem[2])) as port:
        kind, detail = asked(f"localhost:{port}", security_protocol="SSL", **given)  # type: ignore[misc]
    assert (kind, detail.replace(str(folder), "FOLDER")) == (Kind.TLS, f"{expected}; it must be PEM and readable")


def test_a_name_that_does_not_match_can_be_allowed(pem: tuple[Path, Path, Path]) -> None:
    ca, cert, key = pem
    with listener(broker(echo), server_context(cert, key)) as port:
        given = {"security.protocol": "SSL", "ssl.ca.location": str(ca), "ssl.check.hostname": "false"}
        assert asked(f"127.0.0.1:{port}", **given) == ECHO


PLAIN = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_plain_username": "u"}


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text("hunter2\n")
    return path


def test_the_password_comes_from_its_file_at_each_login(password_file: Path) -> None:
    secrets = {"sasl.password": Secret(file=password_file)}
    with listener(broker(sasl_answers(["PLAIN"], "u", "hunter2"))) as port:
        assert asked(f"127.0.0.1:{port}", secrets=secrets, **PLAIN) == ECHO
        made = brokers(f"127.0.0.1:{port}", 2.0, secrets, **PLAIN)
        password_file.write_text("stale0")
        failed = made.ask({-1: [METADATA]})[-1]
        assert isinstance(failed, Failure)
        assert (failed.kind, "hunter2" in failed.detail, "stale0" in failed.detail) == (
            Kind.AUTHENTICATION,
            False,
            False,
        )
        password_file.write_text("hunter2")
        made.begin()
        assert made.ask({-1: [METADATA]})[-1] == [ECHO]
        made.close()


def test_a_secret_that_cannot_be_read_names_its_file_or_variable(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    file = asked("127.0.0.1:1", secrets={"sasl_plain_password": Secret(file=missing)}, **PLAIN)
    assert file == (
        Kind.AUTHENTICATION,
        f"the secret sasl_plain_password can't be read from file {missing}: No such file or directory",
    )
    variable = asked("127.0.0.1:1", secrets={"sasl_plain_password": Secret(env="NO_SUCH_VARIABLE")}, **PLAIN)
    assert variable == (
        Kind.AUTHENTICATION,
        "the secret sasl_plain_password can't be read from environment variable NO_SUCH_VARIABLE: not set",
    )


def scram_server(user: str, password: str):  # type: ignore[no-untyped-def]
    """The server's half of SCRAM-SHA-256 (RFC 5802), written on its own."""
    seen: dict[str, str] = {}

    def step(token: str) -> str:
        if "first" not in seen:
            seen["first"] = token[3:]
            nonce = dict(pair.split("=", 1) for pair in seen["first"].split(","))["r"] + "server"
            seen["reply"] = f"r={nonce},s={base64.b64encode(b'salt').decode()},i=4096"
            return seen["reply"]
        bare, _, proof = token.rpartition(",p=")
        message = f"{seen['first']},{seen['reply']},{bare}".encode()
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), b"salt", 4096)
        client_key = hmac.new(salted, b"Client Key", "sha256").digest()
        signature = hmac.new(hashlib.sha256(client_key).digest(), message, "sha256").digest()
        assert base64.b64decode(proof) == bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        server_key = hmac.new(salted, b"Server Key", "sha256").digest()
        return "v=" + base64.b64encode(hmac.new(server_key, message, "sha256").digest()).decode()

    def answer(key: int, version: int, body: bytes) -> bytes:
        if key == 17:
            return INT16.pack(0) + plain_array([plain("SCRAM-SHA-256")])
        if key == 36:
            reply = step((Cursor(body).nullable_bytes() or b"").decode()).encode()
            return INT16.pack(0) + b"\0" + bytes([len(reply) + 1]) + reply + (1000).to_bytes(8, "big") + b"\0"
        return ECHO

    return answer


SCRAM = {**PLAIN, "sasl_mechanism": "SCRAM-SHA-256", "sasl_plain_password": "secret"}


def test_scram_logs_in_and_a_session_that_nears_its_end_is_renewed() -> None:
    logins = []

    def serve(sock: socket.socket) -> None:
        logins.append(1)
        broker(scram_server("u", "secret"))(sock)

    with listener(serve) as port:
        made = brokers(f"127.0.0.1:{port}", 2.0, **SCRAM)
        assert made.ask({-1: [METADATA]})[-1] == [ECHO]
        assert made.ask({-1: [METADATA]})[-1] == [ECHO]
        assert len(logins) == 1
        deadline = time.monotonic() + 5
        while len(logins) < 2 and time.monotonic() < deadline:
            assert made.ask({-1: [METADATA]})[-1] == [ECHO]  # the broker gave the session one second
        assert len(logins) == 2
        made.close()


def oauth_answers(token: str):  # type: ignore[no-untyped-def]
    """A broker that lets in who has this token."""

    def answer(key: int, version: int, body: bytes) -> bytes:
        if key == 17:
            return INT16.pack(0) + plain_array([plain("OAUTHBEARER")])
        if key == 36:
            sent = Cursor(body).nullable_bytes() or b""
            if sent == b"\x01":  # the client has seen the error and ends the exchange
                return INT16.pack(58) + compact("token refused") + b"\1" + bytes(8) + b"\0"
            good = sent == f"n,,\x01auth=Bearer {token}\x01\x01".encode()
            reply = b"" if good else b'{"status":"invalid_token"}'
            return INT16.pack(0) + b"\0" + bytes([len(reply) + 1]) + reply + bytes(8) + b"\0"
        return ECHO

    return answer


OAUTH = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}


def test_a_token_from_a_secret_logs_in_and_a_wrong_one_is_told(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t0ken\n")
    secrets = {"sasl_oauth_token": Secret(file=token)}
    with listener(broker(oauth_answers("t0ken"))) as port:
        assert asked(f"127.0.0.1:{port}", secrets=secrets, **OAUTH) == ECHO
        token.write_text("stale1")
        kind, detail = asked(f"127.0.0.1:{port}", secrets=secrets, **OAUTH)  # type: ignore[misc]
    assert (kind, "token refused" in detail, "stale1" in detail) == (Kind.AUTHENTICATION, True, False)


def test_a_token_is_fetched_by_client_credentials() -> None:
    forms: list[bytes] = []

    def endpoint(sock: socket.socket) -> None:
        with sock:
            head = b""
            while b"\r\n\r\n" not in head:
                head += sock.recv(4096)
            start, _, rest = head.partition(b"\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in start.split(b"\r\n") if b"ength:" in line)
            forms.append(rest + exactly(sock, length - len(rest)))
            reply = b'{"access_token":"fetched"}'
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(reply) + reply)

    with listener(endpoint) as token_port, listener(broker(oauth_answers("fetched"))) as port:
        given = {
            "sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{token_port}/token",
            "sasl.oauthbearer.client.id": "me",
            "sasl.oauthbearer.client.secret": "s3cret",
            "sasl.oauthbearer.scope": "kafka",
        }
        assert asked(f"127.0.0.1:{port}", **OAUTH, **given) == ECHO
    assert forms == [b"grant_type=client_credentials&client_id=me&client_secret=s3cret&scope=kafka"]


def test_kerberos_without_its_library_says_what_is_missing() -> None:
    with listener(broker(sasl_answers(["GSSAPI"], "u", "p"))) as port:
        given = {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "GSSAPI",
            "sasl_kerberos_service_name": "kafka",
        }
        kind, detail = asked(f"127.0.0.1:{port}", **given)  # type: ignore[misc]
    assert (kind, detail) == (Kind.AUTHENTICATION, "HERE: SASL GSSAPI failed in this client: GSSAPI lib not found!")


def test_a_connection_closed_while_idle_is_opened_again_without_a_failure() -> None:
    sockets: list[socket.socket] = []

    def serve(sock: socket.socket) -> None:
        sockets.append(sock)
        broker(echo)(sock)

    with listener(serve) as port:
        made = brokers(f"127.0.0.1:{port}")
        assert made.ask({-1: [METADATA]})[-1] == [ECHO]
        sockets[0].shutdown(socket.SHUT_RDWR)
        assert made.ask({-1: [METADATA, METADATA]})[-1] == [ECHO, ECHO]
        assert len(sockets) == 2
        made.close()


def test_brokers_that_hang_cost_one_timeout_together_and_the_others_nothing() -> None:
    def hang_after_versions(key: int, version: int, body: bytes) -> bytes | None:
        threading.Event().wait(5)
        return None

    with (
        listener(broker(hang_after_versions)) as one,
        listener(broker(hang_after_versions)) as two,
        listener(broker(echo)) as good,
    ):
        made = brokers(f"127.0.0.1:{good}", 0.5)
        made.learn({number: Address("127.0.0.1", port) for number, port in ((1, one), (2, two), (3, good))})
        started = time.monotonic()
        answers = made.ask({number: [METADATA] for number in (1, 2, 3)})
        assert time.monotonic() - started < 1.5
        assert answers[3] == [ECHO]
        kinds = [answer.kind for number in (1, 2) if isinstance(answer := answers[number], Failure)]
        assert kinds == [Kind.TIMEOUT, Kind.TIMEOUT]
        started = time.monotonic()
        again = made.ask({number: [METADATA] for number in (1, 2, 3)})
        assert time.monotonic() - started < 0.4
        assert again[3] == [ECHO]
        assert made.endpoints() == {f"127.0.0.1:{one}": False, f"127.0.0.1:{two}": False, f"127.0.0.1:{good}": True}
        made.close()


def test_large_requests_and_answers_move_at_the_same_time() -> None:
    big = os.urandom(3_000_000)

    def answer(key: int, version: int, body: bytes) -> bytes:
        return body

    with listener(broker(answer)) as port:
        made = brokers(f"127.0.0.1:{port}", 20.0)
        assert made.ask({-1: [Request(3, 12, big), Request(3, 12, big)]})[-1] == [big, big]
        made.close()


def test_a_broker_that_metadata_does_not_name_is_a_failure_and_no_exception() -> None:
    made = brokers("127.0.0.1:1")
    failed = made.ask({7: [METADATA]})[7]
    assert isinstance(failed, Failure)
    assert failed.detail == "broker 7 is not in the metadata: is it down or fenced?"


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("h:1", "h", 1),
        ("h", "h", 9092),
        ("[::1]:2", "::1", 2),
        ("[::1]", "::1", 9092),
        ("PLAINTEXT://h:3", "h", 3),
        (" h:4 ", "h", 4),
    ],
)
def test_addresses_are_read_as_people_write_them(text: str, host: str, port: int) -> None:
    assert Address.parse(text) == Address(host, port)
    assert Address.parse(str(Address(host, port))) == Address(host, port)


def test_brokers_that_say_they_know_no_metadata_are_asked_anew_in_the_next_poll() -> None:
    """What a broker knows is asked once a connection: an answer that was garbled must not last as long as that."""
    wrong = b"\0\0" + compact_array([struct.pack(">hhh", 18, 0, 3) + b"\0"]) + INT32.pack(0) + b"\0"
    told: list[bytes] = []

    def serve(sock: socket.socket) -> None:
        with sock:
            while True:
                frame = exactly(sock, INT32.unpack(exactly(sock, 4))[0])
                key, _, correlation, _ = struct.unpack_from(">hhih", frame)
                told.append(wrong if not told else API_VERSIONS_ANSWER)
                head, body = (b"", told[-1]) if key == 18 else (b"\0", NO_TOPICS)
                sock.sendall(INT32.pack(4 + len(head) + len(body)) + INT32.pack(correlation) + head + body)

    with listener(serve) as port:
        made = brokers(f"127.0.0.1:{port}")
        reader, said = TopicReader(made, Filter()), []
        for _ in range(2):
            made.begin()
            run = Recorder("topics", 15.0)
            said.append((reader.read(run) is not None, [problem.kind for problem in run.problems]))
        made.close()
    assert [(False, [Kind.UNSUPPORTED]), (True, [])] == said
