"""Logging in by SASL: kafka-python's mechanisms, which are plain state machines, over our own connection."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from http.client import HTTPException
from importlib import import_module
from types import ModuleType
from typing import Any

from exporter.clients.kafka import codes
from exporter.clients.kafka.failures import Failure, UnusableError
from exporter.clients.kafka.properties import Value
from exporter.clients.kafka.wire import Cursor, plain, varint
from exporter.model.common import Kind

HANDSHAKE, AUTHENTICATE = 17, 36
MAX_ROUNDS = 10
LARGEST_TOKEN = 1024 * 1024  # bytes of an answer with a token
Ask = Callable[[int, int, bytes, bool], bytes]  # api key, version, body, flexible -> body of the answer


@cache
def mechanisms() -> ModuleType:
    """kafka-python's mechanisms. The first call takes up to a second, so it is no part of a connection's deadline."""
    with warnings.catch_warnings():
        # kafka-python 3.0.12 reads its schemas by importlib.resources.read_text, deprecated in Python 3.11
        warnings.simplefilter("ignore", DeprecationWarning)
        return import_module("kafka.net.sasl")


def log_in(ask: Ask, values: Mapping[str, Value], host: str, address: str, authenticate_version: int) -> float:
    """Authenticate. The lifetime of the session in seconds, 0 when it has no end. Raises UnusableError."""
    name = str(values.get("sasl_mechanism", "")).upper()
    _handshake(ask, name, address)
    mechanism = _mechanism(name, values, host, address)
    lifetime = 0.0
    for _ in range(MAX_ROUNDS):
        token = _step(mechanism.auth_bytes, name, address)
        answer = _authenticate(ask, token, authenticate_version, name, address)
        _step(partial(mechanism.receive, answer[0]), name, address)
        lifetime = answer[1]
        if mechanism.is_done():
            break
    if not (mechanism.is_done() and mechanism.is_authenticated()):
        raise UnusableError(Failure(Kind.AUTHENTICATION, f"{address}: {name} did not finish: check user and password"))
    return lifetime


def _handshake(ask: Ask, name: str, address: str) -> None:
    answer = Cursor(ask(HANDSHAKE, 1, plain(name), False), flexible=False)
    code, enabled = answer.int16(), answer.array(answer.text)
    if code == codes.NONE and name in enabled:
        return
    if enabled:
        detail = f"{address}: the broker does not offer SASL mechanism {name}, only {', '.join(sorted(enabled))}"
    else:
        detail = f"{address}: {codes.name(code)}: this listener takes no SASL login; see security_protocol"
    raise UnusableError(Failure(Kind.AUTHENTICATION, detail))


def _authenticate(ask: Ask, token: bytes, version: int, name: str, address: str) -> tuple[bytes, float]:
    flexible = version >= 2
    body = varint(len(token) + 1) + token + b"\0" if flexible else len(token).to_bytes(4, "big") + token
    answer = Cursor(ask(AUTHENTICATE, version, body, flexible), flexible)
    code, message = answer.int16(), answer.nullable_text()
    received = answer.nullable_bytes() or b""
    if code != codes.NONE:
        words = message or codes.name(code)
        detail = f"{address}: {name} login refused: {words}: check the user and the secret that holds the password"
        raise UnusableError(Failure(Kind.AUTHENTICATION, detail))
    return received, answer.int64() / 1000 if version >= 1 else 0.0


def _mechanism(name: str, values: Mapping[str, Value], host: str, address: str) -> Any:
    properties: dict[str, Any] = {**values, "host": host, "sasl_mechanism": name}
    if name == "OAUTHBEARER":
        properties["sasl_oauth_token_provider"] = _token_provider(values, address)
    return _step(lambda: mechanisms().get_sasl_mechanism(name)(**properties), name, address)


def _step(action: Callable[[], Any], name: str, address: str) -> Any:
    """Run one step of a mechanism. Its errors come from many libraries (Kerberos, boto) and may quote a credential."""
    try:
        return action()
    except UnusableError:
        raise
    except ImportError as error:
        detail = f"{address}: SASL {name} needs the Python package {error.name}, which is not installed"
    except Exception as error:  # noqa: BLE001 - a login that fails, for whatever reason, must not end the poll
        detail = f"{address}: SASL {name} failed in this client ({type(error).__name__}): check its properties"
        if isinstance(error, RuntimeError):  # kafka-python's own words, such as "GSSAPI lib not found!"
            detail = f"{address}: SASL {name} failed in this client: {error}"
    raise UnusableError(Failure(Kind.AUTHENTICATION, detail))


def _token_provider(values: Mapping[str, Value], address: str) -> Any:
    """An object for kafka-python's mechanism: a class of the user's own, or one that gives a single token."""
    oauth = import_module("kafka.net.sasl.oauth")
    if "sasl_oauth_token_provider" in values:
        module, _, attribute = str(values["sasl_oauth_token_provider"]).partition(":")
        return _step(lambda: getattr(import_module(module), attribute)(), "OAUTHBEARER", address)
    token = str(values["sasl_oauth_token"]) if "sasl_oauth_token" in values else _fetch_token(values, address)
    made = type("OneToken", (oauth.AbstractTokenProvider,), {"token": lambda _self: token})
    return made()


def _fetch_token(values: Mapping[str, Value], address: str, timeout: float = 5.0) -> str:
    """A token by the client-credentials grant of OAuth 2 (RFC 6749, 4.4)."""
    url = str(values.get("sasl_oauthbearer_token_endpoint_url", ""))
    form = {"grant_type": "client_credentials"}
    for field in ("client_id", "client_secret", "scope"):
        if f"sasl_oauthbearer_{field}" in values:
            form[field] = str(values[f"sasl_oauthbearer_{field}"])
    if not url.startswith(("http://", "https://")):
        detail = f"{address}: sasl_oauthbearer_token_endpoint_url must be an http or https URL"
        raise UnusableError(Failure(Kind.AUTHENTICATION, detail))
    request = urllib.request.Request(url, urllib.parse.urlencode(form).encode())  # noqa: S310 - checked just above
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310
            return str(json.loads(answer.read(LARGEST_TOKEN))["access_token"])
    except urllib.error.HTTPError as error:
        why = f"HTTP {error.code}"
        error.close()
    except (OSError, HTTPException, ValueError, KeyError, TypeError, RecursionError) as error:
        why = type(error).__name__
    raise UnusableError(Failure(Kind.AUTHENTICATION, f"{address}: no token from {url}: {why}"))
