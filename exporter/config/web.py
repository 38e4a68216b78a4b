"""Prometheus' own web configuration: TLS, basic authentication and headers of the HTTP server.

Format: https://prometheus.io/docs/prometheus/latest/configuration/https/. Every key of it is honoured, or refused with
a reason: a setting for security that is silently ignored would be worse than none.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr, ValidationError

from exporter.config.document import Document, read, unreadable
from exporter.config.explain import explain
from exporter.config.mistakes import ConfigError, Mistake
from exporter.config.section import Section
from exporter.config.web_tls import CURVES, Cipher, Curve, apply

BCRYPT = re.compile(r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}")
LINE = re.compile(r"[\x20-\x7e]*")
REFUSED = {
    "rate_limit": "is not offered here: connections are bounded and a scrape costs next to nothing; delete it",
    "tls_server_config.cert": "certificates are not read from this file; write it to a file of its own: `cert_file`",
    "tls_server_config.key": "keys are not read from this file; write it to a file of its own: `key_file`",
    "tls_server_config.client_ca": "certificates are not read from this file; write it to its own: `client_ca_file`",
}
"""Keys of the format that are not honoured, and why."""


def check_hash(value: SecretStr) -> SecretStr:
    """A bcrypt hash. Raises ValueError, without repeating what may be the password itself."""
    if BCRYPT.fullmatch(value.get_secret_value()) is None:
        raise ValueError("expected a bcrypt hash; make one with: htpasswd -nBC 10 USER")
    return value


def check_auth_type(value: str) -> str:
    """One of those that Python's TLS can enforce. Raises ValueError."""
    if value in {"RequestClientCert", "RequireAnyClientCert"}:
        raise ValueError(
            f"{value} is not offered: certificates are always verified here; write VerifyClientCertIfGiven or "
            "RequireAndVerifyClientCert, with `client_ca_file`"
        )
    if value not in POLICIES:
        raise ValueError(f"expected {', '.join(POLICIES)}, got {value!r}")
    return value


def check_line(value: str) -> str:
    """A header's value. Raises ValueError for what would end the line."""
    if LINE.fullmatch(value) is None:
        raise ValueError("expected one line of printable ASCII")
    return value


def check_http2(value: bool) -> bool:
    """Raises ValueError when HTTP/2 is asked for."""
    if value:
        raise ValueError("HTTP/2 is not spoken here, and Prometheus does not need it; delete it, or write false")
    return value


POLICIES = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
HeaderLine = Annotated[str, AfterValidator(check_line)]


class TLSServer(Section):
    """Certificate, key, whose client certificates are accepted, and what is spoken."""

    cert_file: Path
    key_file: Path
    client_ca_file: Path | None = None
    client_auth_type: Annotated[str, AfterValidator(check_auth_type)] = "NoClientCert"
    client_allowed_sans: tuple[str, ...] = ()
    min_version: Literal["TLS12", "TLS13"] = "TLS12"
    max_version: Literal["TLS12", "TLS13"] = "TLS13"
    cipher_suites: tuple[Cipher, ...] = ()
    prefer_server_cipher_suites: bool = True
    curve_preferences: tuple[Curve, ...] = ()


class Headers(Section):
    """Headers that every answer of the site gets; the ones the format knows, by their names on the wire."""

    content_security_policy: HeaderLine | None = Field(default=None, alias="Content-Security-Policy")
    x_frame_options: Literal["deny", "sameorigin"] | None = Field(default=None, alias="X-Frame-Options")
    x_content_type_options: Literal["nosniff"] | None = Field(default=None, alias="X-Content-Type-Options")
    x_xss_protection: HeaderLine | None = Field(default=None, alias="X-XSS-Protection")
    strict_transport_security: HeaderLine | None = Field(default=None, alias="Strict-Transport-Security")


class HTTPServer(Section):
    """How HTTP is spoken."""

    http2: Annotated[bool, AfterValidator(check_http2)] = False
    headers: Headers = Headers()


class WebFile(Section):
    """The whole file. An empty one means plain HTTP for everybody, as in Prometheus."""

    tls_server_config: TLSServer | None = None
    http_server_config: HTTPServer = HTTPServer()
    basic_auth_users: dict[str, Annotated[SecretStr, AfterValidator(check_hash)]] = Field(default={})

    @property
    def headers(self) -> dict[str, str]:
        """Those that are set, by name."""
        return self.http_server_config.headers.model_dump(by_alias=True, exclude_none=True)


def load_web(path: Path) -> tuple[WebFile, ssl.SSLContext | None]:
    """The file, and its certificates ready for use. Raises ConfigError with every mistake."""
    document = read(path)
    if document.data is None and not document.mistakes:
        return WebFile(), None
    try:
        web = WebFile.model_validate(document.data)
    except ValidationError as error:
        found = (_reasoned(mistake) for mistake in explain(error, document, WebFile))
        raise ConfigError([*document.mistakes, *found]) from None
    if document.mistakes:
        raise ConfigError(document.mistakes)
    tls = web.tls_server_config
    return web, None if tls is None else _context(document, anchored(tls, path))


def _reasoned(mistake: Mistake) -> Mistake:
    """The mistake, with a reason where the key is one of the format."""
    return replace(mistake, text=REFUSED.get(mistake.key, mistake.text))


def anchored(tls: TLSServer, path: Path) -> TLSServer:
    """The same with paths that are meant from the file's own folder."""
    folder = path.absolute().parent
    files = {"cert_file": tls.cert_file, "key_file": tls.key_file, "client_ca_file": tls.client_ca_file}
    return tls.model_copy(update={key: folder / name for key, name in files.items() if name is not None})


def _context(document: Document, tls: TLSServer) -> ssl.SSLContext:
    mistakes = list(_file_mistakes(document, tls))
    if mistakes:
        raise ConfigError(mistakes)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    apply(context, tls.min_version, tls.max_version, tls.cipher_suites, tls.prefer_server_cipher_suites)
    if tls.curve_preferences:
        context.set_ecdh_curve(CURVES[tls.curve_preferences[0]])
    try:
        # With a password that is wrong: an encrypted key is an error here, and not a question on the terminal.
        context.load_cert_chain(tls.cert_file, tls.key_file, password="")
    except (ssl.SSLError, OSError, ValueError) as error:
        text = f"certificate and key cannot be used together: {_reason(error)}"
        raise ConfigError([document.mistake(("tls_server_config", "cert_file"), text)]) from None
    if tls.client_ca_file is not None:
        try:
            context.load_verify_locations(tls.client_ca_file)
        except (ssl.SSLError, OSError) as error:
            text = f"no certificates in PEM in this file: {_reason(error)}"
            raise ConfigError([document.mistake(("tls_server_config", "client_ca_file"), text)]) from None
    context.verify_mode = POLICIES[tls.client_auth_type]
    return context


def _file_mistakes(document: Document, tls: TLSServer) -> list[Mistake]:
    files = {"cert_file": tls.cert_file, "key_file": tls.key_file, "client_ca_file": tls.client_ca_file}
    found = [
        document.mistake(("tls_server_config", key), why)
        for key, path in files.items()
        if path is not None and (why := unreadable(path))
    ]
    found += _contradictions(document, tls)
    verifies = tls.client_auth_type != "NoClientCert"
    if verifies and tls.client_ca_file is None:
        text = "needs `client_ca_file`: whose certificates are to be accepted"
        found.append(document.mistake(("tls_server_config", "client_auth_type"), text))
    if tls.client_ca_file is not None and not verifies:
        text = "has no effect without `client_auth_type: RequireAndVerifyClientCert` (or VerifyClientCertIfGiven)"
        found.append(document.mistake(("tls_server_config", "client_ca_file"), text))
    return found


def _contradictions(document: Document, tls: TLSServer) -> Iterator[Mistake]:
    """Settings that are right one by one and can't all be true."""
    if tls.min_version > tls.max_version:
        yield document.mistake(("tls_server_config", "min_version"), f"is above `max_version: {tls.max_version}`")
    if tls.client_allowed_sans and tls.client_auth_type != "RequireAndVerifyClientCert":
        text = "has no effect without `client_auth_type: RequireAndVerifyClientCert`"
        yield document.mistake(("tls_server_config", "client_allowed_sans"), text)
    if tls.cipher_suites and tls.min_version == "TLS13":
        text = "has no effect with `min_version: TLS13`: the cipher suites of TLS 1.3 can't be chosen"
        yield document.mistake(("tls_server_config", "cipher_suites"), text)
    if len(tls.curve_preferences) > 1:
        text = "Python's TLS takes one curve and no order of several; write the one that must be used, or delete it"
        yield document.mistake(("tls_server_config", "curve_preferences"), text)


def _reason(error: Exception) -> str:
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
