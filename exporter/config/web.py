"""Prometheus' own web configuration: TLS and basic authentication of the HTTP server.

Format: https://prometheus.io/docs/prometheus/latest/configuration/https/ (keys for TLS and users; others are refused).
"""

from __future__ import annotations

import re
import ssl
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr, ValidationError

from exporter.config.document import Document, read, unreadable
from exporter.config.explain import explain
from exporter.config.mistakes import ConfigError, Mistake
from exporter.config.model import Section

BCRYPT = re.compile(r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}")
VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
POLICIES = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}


def check_hash(value: SecretStr) -> SecretStr:
    """A bcrypt hash. Raises ValueError, without repeating what may be the password itself."""
    if BCRYPT.fullmatch(value.get_secret_value()) is None:
        raise ValueError("expected a bcrypt hash; make one with: htpasswd -nBC 10 USER")
    return value


class TLSServer(Section):
    """Certificate, key, and whose client certificates are accepted."""

    cert_file: Path
    key_file: Path
    client_ca_file: Path | None = None
    client_auth_type: Literal["NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"] = "NoClientCert"
    min_version: Literal["TLS12", "TLS13"] = "TLS12"
    max_version: Literal["TLS12", "TLS13"] = "TLS13"


class WebFile(Section):
    """The whole file. An empty one means plain HTTP for everybody, as in Prometheus."""

    tls_server_config: TLSServer | None = None
    basic_auth_users: dict[str, Annotated[SecretStr, AfterValidator(check_hash)]] = Field(default={})


def load_web(path: Path) -> tuple[WebFile, ssl.SSLContext | None]:
    """The file, and its certificates ready for use. Raises ConfigError with every mistake."""
    document = read(path)
    if document.data is None and not document.mistakes:
        return WebFile(), None
    try:
        web = WebFile.model_validate(document.data)
    except ValidationError as error:
        raise ConfigError([*document.mistakes, *explain(error, document, WebFile)]) from None
    if document.mistakes:
        raise ConfigError(document.mistakes)
    tls = web.tls_server_config
    return web, None if tls is None else _context(document, anchored(tls, path))


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
    context.minimum_version, context.maximum_version = VERSIONS[tls.min_version], VERSIONS[tls.max_version]
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
    verifies = tls.client_auth_type != "NoClientCert"
    if verifies and tls.client_ca_file is None:
        text = "needs `client_ca_file`: whose certificates are to be accepted"
        found.append(document.mistake(("tls_server_config", "client_auth_type"), text))
    if tls.client_ca_file is not None and not verifies:
        text = "has no effect without `client_auth_type: RequireAndVerifyClientCert` (or VerifyClientCertIfGiven)"
        found.append(document.mistake(("tls_server_config", "client_ca_file"), text))
    return found


def _reason(error: Exception) -> str:
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
