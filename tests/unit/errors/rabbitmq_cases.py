"""What can go wrong on the way to RabbitMQ's management API."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from exporter.config.model import Secret
from exporter.model.common import Kind
from tests.unit.errors import servers
from tests.unit.errors.case import Cases
from tests.unit.errors.servers import closed_port, plain, says, silent, tls, web

CASES = Cases()
JSON = "Content-Type: application/json"


def at(port: int, host: str = "127.0.0.1", scheme: str = "http", **more: Any) -> dict[str, Any]:
    return {"urls": (f"{scheme}://{host}:{port}",), "node_metrics": False, **more}


def https(port: int, folder: Path, host: str = "localhost", ca: str = "ca.pem", **more: Any) -> dict[str, Any]:
    return at(port, host, "https", ca_file=folder / ca, **more)


def refusing(reason: str, status: str = "401 Unauthorized") -> servers.Serve:
    return web(b'{"error":"not_authorized","reason":"%s"}' % reason.encode(), status, JSON)


@CASES.add(
    Kind.AUTHENTICATION,
    "HERE: login refused (Login failed): wrong user or password: check `username` and `password`",
    "The node knows no such user, or the password is another one. `guest` may log in from localhost only.",
    "Compare `username:` and the content of the password's file or variable with the broker's "
    "(`rabbitmqctl authenticate_user NAME PASSWORD`). A corrected one counts from the next poll, without a restart.",
)
def wrong_password(stack: ExitStack, folder: Path) -> dict[str, Any]:
    (folder / "wrong").write_text("wr0ng\n")
    return at(plain(stack, refusing("Login failed")), username="monitor", password=Secret(file=folder / "wrong"))


@CASES.add(
    Kind.AUTHENTICATION,
    "the password file FOLDER/missing cannot be read: No such file or directory",
    "The password's file is gone or unreadable since the exporter started.",
    "Put it back; it is read at each request.",
)
def password_file_that_is_gone(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(closed_port(stack), username="monitor", password=Secret(file=folder / "missing"))


@CASES.add(
    Kind.AUTHORIZATION,
    "HERE: /api/overview: the user lacks the `monitoring` tag (rabbitmqctl set_user_tags USER monitoring)",
    "The password is right, and the user may not use the management API.",
    "Give the user the tag, as it says.",
)
def user_without_a_tag(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, refusing("Not management user")))


@CASES.add(
    Kind.AUTHORIZATION,
    "HERE: /api/overview is forbidden: a proxy, or a missing right",
    "Something between the exporter and the node refuses the path.",
    "Let the proxy pass `/api/`.",
)
def forbidden_by_a_proxy(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, web(b"", "403 Forbidden")))


@CASES.add(
    Kind.TLS,
    "HERE: its certificate is signed by an authority that is not known here: give the CA's as `ca_file`",
    "The node's certificate was signed by another authority than the one the exporter trusts.",
    "Set `ca_file:` to the PEM file of the CA that signed the node's certificate.",
)
def wrong_ca(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return https(tls(stack, folder, web(b"{}")), folder, ca="stranger.pem")


@CASES.add(
    Kind.TLS,
    "HERE: its certificate has expired: renew it",
    "The certificate's time is over.",
    "Renew the node's certificate. If it is new, compare the clocks.",
)
def expired_certificate(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return https(tls(stack, folder, web(b"{}"), "expired"), folder)


@CASES.add(
    Kind.TLS,
    "HERE: its certificate is for another host name: use a name in the URL that the certificate has",
    "The certificate is genuine, but of another name than the one in the URL.",
    "Use a name that stands in the certificate (`openssl s_client -connect HOST:PORT | openssl x509 -noout -text`).",
)
def certificate_for_another_name(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return https(tls(stack, folder, web(b"{}")), folder, "127.0.0.1")


@CASES.add(
    Kind.TLS,
    "HERE: it demands a client certificate: give `client_cert_file` and `client_key_file`",
    "The listener lets in only clients with a certificate (`ssl_options.fail_if_no_peer_cert`).",
    "Set both in the cluster's entry.",
)
def client_certificate_required(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return https(tls(stack, folder, web(b"{}"), mutual=True), folder)


@CASES.add(
    Kind.TLS,
    "HERE: our client certificate has expired: renew the one that `client_cert_file` names",
    "The node trusts the authority, but the certificate's time is over.",
    "Renew it; the file is read at each connection, so no restart is needed.",
)
def client_certificate_that_expired(stack: ExitStack, folder: Path) -> dict[str, Any]:
    own = {"client_cert_file": folder / "expired.pem", "client_key_file": folder / "expired.key"}
    return https(tls(stack, folder, web(b"{}"), mutual=True), folder, **own)


@CASES.add(
    Kind.TLS,
    "HERE: it does not speak TLS on this port: write http:// in the URL, or give the TLS port (often 15671)",
    "`https://` leads to a listener without TLS.",
    "Correct the scheme or the port in `urls:`.",
)
def tls_against_plaintext(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return https(plain(stack, web(b"Bad Request", "400 Bad Request")), folder)


@CASES.add(
    Kind.TLS,
    "HERE: it closed the connection in the TLS handshake: does this port speak TLS (often 15671)?",
    "`https://` leads to something that ends such a connection without a word: the AMQP port, or Kafka's.",
    "Correct the scheme or the port in `urls:`.",
)
def tls_against_a_port_that_closes(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return https(plain(stack, says()), folder)


@CASES.add(
    Kind.TLS,
    "HERE: it speaks TLS on this port: write https:// in the URL",
    "`http://` leads to a listener with TLS.",
    "Write `https://`, and set `ca_file:`.",
)
def plaintext_against_tls(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, says(b"\x15\x03\x03\0\2\2\x50")))


@CASES.add(
    Kind.PROTOCOL,
    "HERE answered with a web page, not with JSON: a wrong port, a login page of a proxy, or a wrong path "
    "(/api/overview)",
    "A web server answers, and it is not the management API.",
    "Correct the URL; where a proxy is in between, let it pass `/api/` without a login page of its own.",
)
def an_http_server(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, web(b"<!DOCTYPE html><html></html>")))


@CASES.add(
    Kind.PROTOCOL,
    "HERE has no /api/overview: not a management API, a proxy that changes paths, or a plugin that is not enabled",
    "A web server answers that knows no such path: RabbitMQ's metrics port (15692) is one.",
    "Give the management port (by default 15672); `rabbitmq-plugins enable rabbitmq_management`.",
)
def rabbitmqs_metrics_port(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, web(b"", "404 Not Found")))


@CASES.add(
    Kind.PROTOCOL,
    "HERE answered with Prometheus metrics: that is the metrics port, give the management port (by default 15672) "
    "(/api/overview)",
    "Every path of that port is a metrics page.",
    "Give the management port.",
)
def another_metrics_port(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, web(servers.METRICS_PAGE)))


@CASES.add(
    Kind.PROTOCOL,
    "HERE: this is the AMQP port: give the management port (by default 15672)",
    "The port is for clients that publish and consume. Where its greeting is lost, only the end of the connection is "
    "seen (below).",
    "Give the management port.",
)
def rabbitmqs_amqp_port(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, says(b"AMQP\0\0\x09\x01")))


@CASES.add(
    Kind.UNREACHABLE,
    "HERE: closed without an answer: is it a TLS port (write https://), the AMQP port or Kafka's (management is "
    "15672), or a node going down?",
    "Whoever listens there takes a connection and ends it without a word. A Kafka broker does that: it takes the "
    "request for a very long one.",
    "Check the port; look at the node's log at that time.",
)
def a_peer_that_closes_at_once(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, says()))


@CASES.add(
    Kind.UNREACHABLE,
    "HERE: HTTP 503 for /api/overview: a proxy without a node?",
    "A load balancer answers in place of a node.",
    "Look at the nodes behind it; give the nodes' own URLs where you can: a spare that is gone is then seen.",
)
def proxy_without_a_node(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, web(b"<html>", "503 Service Unavailable")))


@CASES.add(
    Kind.UNREACHABLE,
    "HERE: the name no-such-host.invalid cannot be resolved: check its spelling and DNS",
    "The name server knows no such host, or none answers.",
    "`getent hosts NAME` on the exporter's machine.",
)
def name_that_nobody_knows(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(15672, servers.no_name(stack))


@CASES.add(
    Kind.UNREACHABLE,
    "HERE: connection refused: nothing listens there: is the node down, or rabbitmq_management not enabled?",
    "The host answers, the port is closed.",
    "`rabbitmq-plugins enable rabbitmq_management`, or correct the port.",
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
    "HERE: no answer within 0.5 s: is a node frozen? Its peers' management API hangs as well",
    "The connection was taken and no answer came. A frozen member makes its healthy peers' API hang for a minute.",
    "Look for the frozen node (`mq_exporter_endpoint_up`, `mq_rabbitmq_node_up`). "
    "A larger `timeout:` helps only where answers come late and not never.",
)
def accepted_and_silent(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, silent), timeout=0.5)


@CASES.add(
    Kind.PROTOCOL,
    "HERE: HTTP 302 for /api/overview: no reason given",
    "The answer sends us elsewhere, and the password would go along: it is not followed.",
    "Give the URL to which it leads (`curl -i URL/api/overview`).",
)
def redirected(stack: ExitStack, folder: Path) -> dict[str, Any]:
    return at(plain(stack, web(b"", "302 Found", "Location: http://127.0.0.1:1/")))
