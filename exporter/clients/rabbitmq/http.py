"""GET with limits: a deadline for the whole answer, a limit on its size, no retries but on a stale connection."""

from __future__ import annotations

import os
import time
from base64 import b64encode
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import requests
import urllib3

from exporter.clients.rabbitmq.failures import Failure, RequestError, causes, explain, judge, late
from exporter.config.model import RabbitMQ, Secret
from exporter.model.common import Kind

LARGEST = 128 * 1024 * 1024  # bytes of one answer; a listing of 100,000 queues is about 40 MB
CHUNK = 262144


@dataclass(frozen=True, slots=True)
class Answer:
    """A good answer. `clock_offset`: the server's clock minus ours by its Date header, good to 1 s; else None."""

    body: bytes
    clock_offset: float | None


def address_of(url: str) -> str:
    """Scheme, host and port: all of a URL that may appear in a label or a message."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
    return f"{parts.scheme}://{host}:{port}"


class Client:
    """One kept-alive connection to one server. For one thread at a time. No proxy, no .netrc."""

    def __init__(self, config: RabbitMQ) -> None:
        self._config = config
        self._session: requests.Session | None = None

    def get(self, url: str, path: str, login: bool, patience: float, by: float) -> Answer:
        """The answer to GET url+path, whole before `by` (monotonic) and with no pause over `patience` seconds.

        Raises RequestError.
        """
        address = address_of(url)
        headers = {"Accept-Encoding": "identity"} | (self._login() if login else {})
        for attempt in (1, 2):
            reused = self._session is not None
            try:
                return self._read(url + path, headers, address, patience, by)
            except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
                self.close()
                stale = reused and attempt == 1 and any(isinstance(one, ConnectionError) for one in causes(error))
                if not stale or any(isinstance(one, ConnectionRefusedError) for one in causes(error)):
                    raise RequestError(explain(error, address, patience)) from None
        raise AssertionError("the second attempt returns or raises")

    def _read(self, url: str, headers: dict[str, str], address: str, patience: float, by: float) -> Answer:
        began, wall = time.monotonic(), time.time()
        patience = min(patience, by - began)
        if patience <= 0:
            raise RequestError(late(address, self._config.timeout))
        with self._open().get(url, headers=headers, timeout=patience, stream=True, allow_redirects=False) as response:
            offset = _clock_offset(response.headers.get("Date"), wall + (time.monotonic() - began) / 2)
            body = self._body(response, address, patience, by)
        path = urlsplit(url).path
        if (failure := judge(response.status_code, body, address, path)) is not None:
            raise RequestError(failure)
        return Answer(body, offset)

    def _body(self, response: requests.Response, address: str, patience: float, by: float) -> bytes:
        chunks, size = [], 0
        while chunk := response.raw.read1(CHUNK, decode_content=True):
            chunks.append(chunk)
            size += len(chunk)
            if size > LARGEST:
                raise RequestError(Failure(Kind.PROTOCOL, f"{address}: an answer of over {LARGEST >> 20} MiB"))
            if time.monotonic() > by:
                raise RequestError(late(address, patience))
        return b"".join(chunks)

    def _open(self) -> requests.Session:
        if self._session is None:
            session = requests.Session()
            session.trust_env = False
            config = self._config
            if config.insecure_skip_verify:
                urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # said once, in the configuration
            session.verify = False if config.insecure_skip_verify else str(config.ca_file) if config.ca_file else True
            if config.client_cert_file is not None:
                key = config.client_key_file or config.client_cert_file
                session.cert = (str(config.client_cert_file), str(key))
            self._session = session
        return self._session

    def _login(self) -> dict[str, str]:
        """Basic authentication in UTF-8, with the password read anew. Raises RequestError when it can't be read."""
        user = self._config.username
        pair = f"{user}:{read_password(self._config)}".encode()
        return {"Authorization": f"Basic {b64encode(pair).decode()}"}

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._session is not None:
            self._session.close()
            self._session = None


def read_password(config: RabbitMQ) -> str:
    """The password as it is now. Raises RequestError, which names the file or variable and never its content."""
    if config.url_password is not None:
        return config.url_password.get_secret_value()
    return "guest" if config.password is None else read_secret(config.password)


def read_secret(secret: Secret) -> str:
    """The secret as it is now, without the line end of its file. Raises RequestError."""
    if secret.env is not None:
        value = os.environ.get(secret.env)
        if value is None:
            raise RequestError(Failure(Kind.AUTHENTICATION, f"the environment variable {secret.env} is not set"))
        return value
    assert secret.file is not None
    try:
        return secret.file.read_text().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise RequestError(
            Failure(Kind.AUTHENTICATION, f"the password file {secret.file} cannot be read: {reason}")
        ) from None


def _clock_offset(date: str | None, asked_at: float) -> float | None:
    """Date says whole seconds, and RabbitMQ's HTTP server renews it once a second: it is from 0 to 2 s behind."""
    if date is None:
        return None
    try:
        return parsedate_to_datetime(date).timestamp() + 1.0 - asked_at
    except (TypeError, ValueError):
        return None
