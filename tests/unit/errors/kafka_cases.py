"""What can go wrong on the way to a Kafka broker."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from exporter.config.model import Secret
from exporter.model.common import Kind
from tests.unit.errors import servers
from tests.unit.errors.case import Cases
from tests.unit.errors.servers import closed_port, closes, plain, says, silent, tls, web
from tests.unit.kafka.fake_broker import broker
from tests.unit.kafka.sasl_broker import mechanisms_only, sasl_answers

CASES = Cases()
TLS = {"security_protocol": "SSL"}
PLAIN = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_plain_username": "monitor"}
HANDSHAKE_ENDED = "HERE: closed the connection in the TLS handshake: is it a plaintext port? See security_protocol"
LATE = (
    "HERE: no answer within 0.5 s: the broker may be frozen, overloaded or cut off: look at its log and the way to it"
)


def at(port: int, host: str = "127.0.0.1", **more: Any) -> dict[str, Any]:
    return {"bootstrap_servers": (f"{host}:{port}",), **more}


def echo(key: int, version: int, body: bytes) -> bytes:
    return b""


def hangs_up(key: int, version: int, body: bytes) -> None:
    """At the first request after ApiVersions."""


def trusting(folder: Path, **more: str) -> dict[str, str]:
    return {**TLS, "ssl_cafile": str(folder / "ca.pem"), **more}


@CASES.add(
    Kind.AUTHENTICATION,
    "HERE: PLAIN login refused: Authentication failed: Invalid username or password: "
    "check the user and the secret that holds the password",
    "The broker knows no such user, or the password is another one.",
    "Compare the user (`sasl.username`) and the content of the secret's file or variable with the broker's. "
    "A corrected secret counts from the next poll, without a restart.",
)
def wrong_password(stack: ExitStack, folder: Path) -> dict[str, Any]:
    port = plain(stack, broker(sasl_answers(["PLAIN"], "monitor", "right")))
    (folder / "wrong").write_text("wr0ng\n")
    return at(port, client=PLAIN, secrets={"sasl_plain_password": Secret(file=folder / "wrong")})


@CASES.add(
    Kind.AUTHENTICATION,
    "HERE: the broker does not offer SASL mechanism PLAIN, only GSSAPI, SCRAM-SHA-512",
    "The listener has SASL, but not by this mechanism.",
    "Set `sasl_mechanism` to one of those that are named.",
)
def mechanism_that_the_broker_lacks(stack: ExitStack, folder: Path) -> dict[str, Any]:
    port = plain(stack, broker(mechanisms_only(["SCRAM-SHA-512", "GSSAPI"])))
    return at(port, client={**PLAIN, "sasl_plain_password": "x"})


@CASES.add(
    Kind.AUTHENTICATION,
    "HERE: ILLEGAL_SASL_STATE: this listener takes no SASL login; see security_protocol",
    "The listener has no SASL at all.",
    "Set `security_protocol` to `SSL` or `PLAINTEXT`, or use the port of the listener that has SASL.",
)
def login_where_none_is_taken(stack: ExitStack, folder: Path) -> dict[str, Any]:
    port = plain(stack, broker(mechanisms_only([], code=34)))
    return at(port, client={**PLAIN, "sasl_plain_password": "x"})


@CASES.add(
    Kind.UNREACHABLE,
    "HERE: the broker closed the connection after the first requests: does this listener want a SASL login? "
    "See security_protocol",
    "The broker took the connection and ended it at a request that needs a login.",
    "Set `security_protocol` to `SASL_SSL` or `SASL_PLAINTEXT`, with `sasl_mechanism`, user and secret.",
)
def no_login_where_one_is_wanted(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, broker(hangs_up)))


@CASES.add(
    Kind.AUTHENTICATION,
    "the secret sasl_plain_password can't be read from file FOLDER/missing: No such file or directory",
    "The file of the secret is gone or unreadable since the exporter started.",
    "Put it back; it is read at each login.",
)
def secret_file_that_is_gone(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(closed_port(stack), client=PLAIN, secrets={"sasl_plain_password": Secret(file=folder / "missing")})


@CASES.add(
    Kind.TLS,
    "HERE: the broker's certificate is not trusted (unable to get local issuer certificate): "
    "is ssl_cafile the CA that signed it?",
    "The broker's certificate was signed by another authority than the one the exporter trusts.",
    "Set `ssl_cafile` to the PEM file of the CA that signed the broker's certificate.",
)
def wrong_ca(stack: ExitStack, folder: Path) -> dict[str, Any]:
    port = tls(stack, folder, broker(echo))
    return at(port, "localhost", client={**TLS, "ssl_cafile": str(folder / "stranger.pem")})


@CASES.add(
    Kind.TLS,
    "HERE: the broker's certificate has expired: renew it",
    "The certificate's time is over; every client is refused by its own check.",
    "Renew the broker's certificate. If it is new, compare the clocks.",
)
def expired_certificate(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(tls(stack, folder, broker(echo), "expired"), "localhost", client=trusting(folder))


@CASES.add(
    Kind.TLS,
    "HERE: IP address mismatch, certificate is not valid for '127.0.0.1': connect by a name that the certificate has, "
    "or set ssl_check_hostname to false",
    "The certificate is genuine, but of another name than the one in `bootstrap_servers` or `advertised.listeners`.",
    "Use a name that stands in the certificate (`openssl s_client -connect HOST:PORT | openssl x509 -noout -text`).",
)
def certificate_for_another_name(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(tls(stack, folder, broker(echo)), client=trusting(folder))


@CASES.add(
    Kind.TLS,
    "HERE: refuses our client certificate (TLSV13_ALERT_CERTIFICATE_REQUIRED): "
    "set ssl_certfile and ssl_keyfile to one that it trusts",
    "The listener lets in only clients with a certificate (`ssl.client.auth=required`).",
    "Set `ssl_certfile` and `ssl_keyfile`, and `ssl_password` under `secrets:` if the key is encrypted.",
)
def client_certificate_required(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(tls(stack, folder, broker(echo), mutual=True), "localhost", client=trusting(folder))


@CASES.add(
    Kind.TLS,
    "HERE: says that our client certificate has expired: renew the one that ssl_certfile names",
    "The broker trusts the authority, but the certificate's time is over.",
    "Renew it; the file is read at each connection, so no restart is needed.",
)
def client_certificate_that_expired(stack: ExitStack, folder: Path) -> dict[str, Any]:
    own = {"ssl_certfile": str(folder / "expired.pem"), "ssl_keyfile": str(folder / "expired.key")}
    return at(tls(stack, folder, broker(echo), mutual=True), "localhost", client=trusting(folder, **own))


@CASES.add(
    Kind.TLS,
    HANDSHAKE_ENDED,
    "TLS was offered to a listener that does not speak it: a broker takes the greeting for a very long request.",
    "Use the TLS port, or set `security_protocol` to `PLAINTEXT` or `SASL_PLAINTEXT`.",
)
def tls_against_plaintext(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, says()), "localhost", client=trusting(folder))


@CASES.add(
    Kind.TLS,
    "HERE speaks TLS: set security_protocol to SSL or SASL_SSL",
    "The listener expects TLS and was greeted without it.",
    "Set `security_protocol` to `SSL` or `SASL_SSL`, and `ssl_cafile`.",
)
def plaintext_against_tls(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, says(b"\x15\x03\x03\0\2\2\x50")))


@CASES.add(
    Kind.PROTOCOL,
    "HERE speaks HTTP: that is not Kafka's port (often 9092): correct bootstrap_servers",
    "A web server listens there: a proxy, or RabbitMQ's management or metrics port.",
    "Correct the port in `bootstrap_servers`.",
)
def an_http_server(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, web(b"Bad Request", "400 Bad Request")))


@CASES.add(
    Kind.PROTOCOL,
    "HERE speaks AMQP: that is RabbitMQ's port, not Kafka's (often 9092): correct bootstrap_servers",
    "A RabbitMQ node listens there. Where its greeting is lost, only the end of the connection is seen (below).",
    "Correct the port, or move the address to a `rabbitmq:` entry, with the management URL.",
)
def rabbitmqs_amqp_port(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, says(b"AMQP\0\0\x09\x01")))


@CASES.add(
    Kind.UNREACHABLE,
    "HERE: the broker closed the connection at the first request: does this port expect TLS (see security_protocol), "
    "or is it not Kafka's?",
    "Whoever listens there takes a connection and ends it without a word.",
    "Look at the broker's log at that time; try `security_protocol: SSL`; check the port.",
)
def a_peer_that_closes_at_once(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, closes))


@CASES.add(
    Kind.UNREACHABLE,
    "HERE: the name can't be resolved (Name or service not known): check its spelling and DNS",
    "The name server knows no such host, or none answers.",
    "`getent hosts NAME` on the exporter's machine. Brokers name themselves in `advertised.listeners`: "
    "those names must be known here too.",
)
def name_that_nobody_knows(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(9092, servers.no_name(stack))


@CASES.add(
    Kind.UNREACHABLE,
    "HERE: connection refused: no broker listens on this port: does it run, and is the port right?",
    "The host answers, the port is closed.",
    "Start the broker, or correct the port; look at `listeners` in its configuration.",
)
def refused(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(closed_port(stack))


@CASES.add(
    Kind.TIMEOUT,
    "HERE: no connection within 0.5 s: the host is down, or a firewall drops the packets: try to reach it from here",
    "Nothing came back at all.",
    "`nc -vz HOST PORT` on the exporter's machine; look at firewalls, security groups and routes.",
)
def black_holed(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(servers.black_hole(stack), timeout=0.5)


@CASES.add(
    Kind.TIMEOUT,
    LATE,
    "The connection was taken and no answer came: a process that hangs, or a load balancer without a broker behind it.",
    "Look at the broker's log and load; a larger `timeout:` helps only where answers come late and not never.",
)
def accepted_and_silent(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, silent), timeout=0.5)


@CASES.add(
    Kind.TIMEOUT,
    "HERE: no TLS handshake within 0.5 s: a frozen broker, or a port that does not speak TLS: see security_protocol",
    "The connection was taken and the TLS greeting never answered.",
    "Check that it is the TLS port; look at the broker's log and load.",
)
def silent_where_tls_is_expected(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, silent), "localhost", client=trusting(folder), timeout=0.5)


@CASES.add(
    Kind.PROTOCOL,
    "HERE: an answer belongs to another request: is a proxy in between mixing connections?",
    "Answers come in another order than the requests.",
    "Connect to the brokers without the proxy.",
)
def answers_of_other_requests(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, says(b"\0\0\0\x08\0\0\0\x4dabcd")))
