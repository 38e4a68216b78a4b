"""What went wrong with an HTTP request, told so that a tired person knows what to do. Never with a secret in it."""

from __future__ import annotations

import json
import shlex
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import requests
import urllib3.exceptions

from exporter.model.common import Kind, Problem

TLS_ALERT = "\x15\x03"  # how an alert begins; http.client reads it as the first line of an answer
TAGS = {
    "Not management user": "monitoring",
    "Not monitor user": "monitoring",
    "Not monitoring user": "monitoring",
    "Not administrator user": "administrator",
    "Not policymaker user": "policymaker",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request has no answer that can be used."""

    kind: Kind
    detail: str

    def problem(self, item: str) -> Problem:
        """The failure as a problem of a collector."""
        return Problem(self.kind, item, self.detail)


class RequestError(Exception):
    """A request has no answer that can be used. `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind}: {failure.detail}")
        self.failure = failure


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and everything it came from, as requests and urllib3 nest them."""
    seen: set[int] = set()
    todo: list[BaseException] = [error]
    while todo:
        one = todo.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        inner = [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]
        todo += [each for each in inner if isinstance(each, BaseException)]


def explain(error: BaseException, address: str, timeout: float) -> Failure:
    """What an exception of requests means. `address` is the URL's scheme, host and port."""
    chain = list(causes(error))
    text = " ".join(str(one) for one in chain)
    if any(isinstance(one, (requests.exceptions.SSLError, urllib3.exceptions.SSLError, ssl.SSLError)) for one in chain):
        return Failure(Kind.TLS, _tls(text, address))
    if "BadStatusLine" in text and TLS_ALERT in text:
        return Failure(Kind.TLS, f"{address}: it speaks TLS on this port: write https:// in the URL")
    if any(isinstance(one, socket.gaierror) for one in chain):
        host = address.partition("://")[2].rpartition(":")[0]
        return Failure(Kind.UNREACHABLE, f"{address}: the name {host} cannot be resolved: check its spelling and DNS")
    if "BadStatusLine" in text or "AMQP" in text:
        return Failure(Kind.PROTOCOL, _not_http(text, address))
    if any(isinstance(one, ConnectionRefusedError) for one in chain):
        what = "connection refused: nothing listens there: is the node down, or rabbitmq_management not enabled?"
        return Failure(Kind.UNREACHABLE, f"{address}: {what}")
    if any(isinstance(one, urllib3.exceptions.ConnectTimeoutError) for one in chain):
        what = "the host is down, or a firewall drops the packets: try to reach it from here"
        return Failure(Kind.TIMEOUT, f"{address}: no connection within {timeout:g} s: {what}")
    timeouts = (TimeoutError, requests.exceptions.Timeout, urllib3.exceptions.TimeoutError)
    if any(isinstance(one, timeouts) for one in chain):
        return late(address, timeout)
    if any(isinstance(one, (ConnectionResetError, urllib3.exceptions.ProtocolError)) for one in chain):
        port = "a TLS port (write https://), the AMQP port or Kafka's (management is 15672)"
        what = f"closed without an answer: is it {port}, or a node going down?"
        return Failure(Kind.UNREACHABLE, f"{address}: {what}")
    reason = next((one.strerror for one in chain if isinstance(one, OSError) and one.strerror), type(error).__name__)
    return Failure(Kind.UNREACHABLE, f"{address}: {reason}")


def late(address: str, timeout: float) -> Failure:
    """No whole answer in time."""
    what = f"no answer within {timeout:g} s: is a node frozen? Its peers' management API hangs as well"
    return Failure(Kind.TIMEOUT, f"{address}: {what}")


def _tls(text: str, address: str) -> str:
    stranger = "its certificate is signed by an authority that is not known here: give the CA's as `ca_file`"
    stranger_us = "it does not accept our client certificate: give one that its CA signed as `client_cert_file`"
    ours = "renew the one that `client_cert_file` names"
    name = "its certificate is for another host name: use a name in the URL that the certificate has"
    plain = "it does not speak TLS on this port: write http:// in the URL, or give the TLS port (often 15671)"
    hints = (
        ("self-signed", stranger),
        ("self signed", stranger),
        ("unable to get local issuer", stranger),
        ("ALERT_CERTIFICATE_EXPIRED", f"our client certificate has expired: {ours}"),
        ("has expired", "its certificate has expired: renew it"),
        ("not yet valid", "its certificate is not valid yet: compare the clocks of both machines"),
        ("doesn't match", name),
        ("mismatch", name),
        ("WRONG_VERSION_NUMBER", plain),
        ("RECORD_LAYER_FAILURE", plain),
        ("PACKET_LENGTH_TOO_LONG", plain),
        ("HTTP_REQUEST", plain),
        ("CERTIFICATE_REQUIRED", "it demands a client certificate: give `client_cert_file` and `client_key_file`"),
        ("UNKNOWN_CA", stranger_us),
        ("BAD_CERTIFICATE", stranger_us),
        ("EOF", "it closed the connection in the TLS handshake: does this port speak TLS (often 15671)?"),
    )  # fmt: skip
    lowered = text.lower()
    unknown = "the TLS handshake failed: compare its TLS versions and ciphers with ours"
    said = next((hint for sign, hint in hints if sign.lower() in lowered), unknown)
    return f"{address}: {said}"


def _not_http(text: str, address: str) -> str:
    if "AMQP" in text:
        return f"{address}: this is the AMQP port: give the management port (by default 15672)"
    return f"{address}: the answer is not HTTP: give the management port (by default 15672)"


def judge(status: int, body: bytes, address: str, path: str) -> Failure | None:
    """What a status other than 200 means; None for 200."""
    if status == 200:
        return None
    reason = _reason(body)
    if status in {401, 403}:
        return _refused(reason, status, address, path)
    if status == 404:
        what = f"has no {path}: not a management API, a proxy that changes paths, or a plugin that is not enabled"
        return Failure(Kind.PROTOCOL, f"{address} {what}")
    if status in {502, 503, 504}:
        return Failure(Kind.UNREACHABLE, f"{address}: HTTP {status} for {path}: {reason or 'a proxy without a node?'}")
    return Failure(Kind.PROTOCOL, f"{address}: HTTP {status} for {path}: {reason or 'no reason given'}")


def no_monitor() -> Failure:
    """That the user may look at its own things only, as one with the tag `management` alone."""
    what = "nodes, their own endpoints and the connections of others are not shown to it"
    return Failure(Kind.AUTHORIZATION, f"{_lacks('monitoring')}: {what}")


def _lacks(tag: str) -> str:
    return f"the user lacks the `{tag}` tag (rabbitmqctl set_user_tags USER {tag})"


def hidden_vhost(vhost: str, user: str) -> Failure:
    """That the user has no permission on a vhost."""
    command = f"rabbitmqctl set_permissions -p {shlex.quote(vhost)} {shlex.quote(user)} '^$' '^$' '^$'"
    return Failure(Kind.AUTHORIZATION, f"missing permission: its queues and exchanges are hidden; {command}")


def _refused(reason: str, status: int, address: str, path: str) -> Failure:
    if "virtual host" in reason:  # 401, though the login is good
        return Failure(Kind.AUTHORIZATION, f"{address}: {path}: the user has no permission on this vhost")
    tag = TAGS.get(reason)
    if tag is not None:
        return Failure(Kind.AUTHORIZATION, f"{address}: {path}: {_lacks(tag)}")
    if status == 403:
        return Failure(Kind.AUTHORIZATION, f"{address}: {path} is forbidden: {reason or 'a proxy, or a missing right'}")
    what = f"login refused ({reason or 'no reason given'}): wrong user or password: check `username` and `password`"
    return Failure(Kind.AUTHENTICATION, f"{address}: {what}")


def decoded(body: bytes) -> Any:
    """The JSON of an answer. Raises ValueError, also for one that is nested too deeply."""
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _reason(body: bytes) -> str:
    """The `reason` that the management API gives, in one short line."""
    try:
        answer = decoded(body)
    except ValueError:
        return ""
    reason = answer.get("reason") if isinstance(answer, dict) else None
    return " ".join(reason.split())[:200] if isinstance(reason, str) else ""


def not_json(body: bytes, address: str, path: str) -> Failure:
    """An answer that should have been JSON."""
    start = body.lstrip()[:15].lower()
    if start.startswith((b"<!doctype", b"<html")):
        what = "answered with a web page, not with JSON: a wrong port, a login page of a proxy, or a wrong path"
    elif start.startswith(b"# "):
        what = "answered with Prometheus metrics: that is the metrics port, give the management port (by default 15672)"
    else:
        what = "did not answer in JSON; is this the management port (by default 15672)?"
    return Failure(Kind.PROTOCOL, f"{address} {what} ({path})")
