"""TLS and basic authentication in front of the site, from files that are read again when they change."""

from __future__ import annotations

import base64
import hmac
import logging
import os
import ssl
import threading
from binascii import Error as NotBase64
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path

import bcrypt
from pydantic import SecretStr

from exporter.config.mistakes import ConfigError
from exporter.config.web import WebFile, anchored, load_web
from exporter.config.web_tls import admits
from exporter.http_response import Request, Response, text

log = logging.getLogger(__name__)
NOBODY = b"$2b$10$zzzzzzzzzzzzzzzzzzzzzumnTM8aj2wWaVXyl4kUmV16mwOJHWsMq"  # compared when the user is unknown: same time
REMEMBERED = 100  # outcomes of comparisons: bcrypt takes 50 ms, a scrape must not
Stamps = dict[Path, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the files said when they were last good."""

    web: WebFile
    context: ssl.SSLContext | None
    stamps: Stamps


class WebSecurity:
    """The web configuration in force. Looked at for each connection; while it is wrong, the last good one stays."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._refused: Stamps = {}
        self._loaded = self._load()

    def _load(self) -> Loaded:
        web, context = load_web(self.path)
        return Loaded(web, context, self._stamps(web))

    def _stamps(self, web: WebFile) -> Stamps:
        tls = web.tls_server_config and anchored(web.tls_server_config, self.path)
        files = [self.path] + ([tls.cert_file, tls.key_file, tls.client_ca_file] if tls else [])
        return {path: _stamp(path) for path in files if path is not None}

    def current(self) -> Loaded:
        """What is in force now."""
        with self._lock:
            stamps = {path: _stamp(path) for path in self._loaded.stamps}
            if stamps not in (self._loaded.stamps, self._refused):
                try:
                    self._loaded = self._load()
                    log.info("%s: TLS and users read anew", self.path)
                except ConfigError as error:
                    self._refused = stamps  # told once for each change
                    for line in str(error).splitlines():
                        log.error("web configuration not read anew, the one before stays in force: %s", line)
            return self._loaded

    def welcomes(self, connection: ssl.SSLSocket) -> bool:
        """Whether this client's certificate is one of those that `client_allowed_sans` names."""
        tls = self.current().web.tls_server_config
        return tls is None or admits(connection, tls.client_allowed_sans)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_ino)


class Guard:
    """Lets requests through to the site when there are no users, or when the request is one of theirs."""

    def __init__(self, site: Callable[[Request], Response], security: WebSecurity) -> None:
        self.site = site
        self.security = security
        self._key = os.urandom(32)  # outcomes are remembered under a digest: no password stays in memory
        self._outcomes: OrderedDict[bytes, bool] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Response:
        """The site's answer, or 401."""
        web = self.security.current().web
        response = self._answer(request, web.basic_auth_users)
        return replace(response, headers={**response.headers, **web.headers}) if web.headers else response

    def _answer(self, request: Request, users: Mapping[str, SecretStr]) -> Response:
        if not users or self._is_one_of(request, {name: hash_.get_secret_value() for name, hash_ in users.items()}):
            return self.site(request)
        ask = {"WWW-Authenticate": 'Basic realm="mq-exporter", charset="UTF-8"'}
        return text("401: a user and a password are needed\n", HTTPStatus.UNAUTHORIZED, **ask)

    def _is_one_of(self, request: Request, users: dict[str, str]) -> bool:
        given = credentials(request.headers.get("authorization", ""))
        if given is None:
            return False
        user, password = given
        known = users.get(user, "").encode() or NOBODY
        digest = hmac.digest(self._key, b"\0".join([user.encode(), known, password]), "sha256")
        with self._lock:
            outcome = self._outcomes.get(digest)
        if outcome is None:
            outcome = len(password) <= 72 and bcrypt.checkpw(password, known) and user in users  # bcrypt reads 72 bytes
            with self._lock:
                self._outcomes[digest] = outcome
                while len(self._outcomes) > REMEMBERED:
                    self._outcomes.popitem(last=False)
        return outcome


def credentials(header: str) -> tuple[str, bytes] | None:
    """User and password of an Authorization header; None when it has none that can be read."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        return (user.decode(), password) if colon else None
    except (NotBase64, UnicodeDecodeError):
        return None
