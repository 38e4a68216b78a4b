"""What real brokers answered once (written by record.py), as it is played back."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).parent
KAFKA, RABBITMQ = HERE / "kafka.json.gz", HERE / "rabbitmq.json.gz"
Question = tuple[str, int, int]  # address, api key, version


def digest(body: bytes) -> str:
    """Enough of a hash to tell the requests of one recording apart."""
    return sha256(body).hexdigest()[:12]


@dataclass(frozen=True)
class KafkaRecording:
    """`exact` by the request's digest too; `any` has the first answer to a request of this kind."""

    bootstrap: tuple[str, ...]
    exact: dict[tuple[str, int, int, str], bytes]
    any: dict[Question, bytes]

    def answer(self, address: str, api_key: int, version: int, body: bytes) -> bytes | None:
        found = self.exact.get((address, api_key, version, digest(body)))
        return self.any.get((address, api_key, version)) if found is None else found


@dataclass(frozen=True)
class RabbitRecording:
    """URL with path -> body."""

    urls: tuple[str, ...]
    nodes: dict[str, str]
    answers: dict[str, bytes]

    def answer(self, address: str, path: str) -> bytes | None:
        """What was said there; else what any node said of that path, whichever columns were asked for."""
        found = self.answers.get(f"http://{address}{path}")
        if found is None and path.startswith("/api/"):
            wanted = path.partition("?")[0]
            found = next((body for url, body in self.answers.items() if urlsplit(url).path == wanted), None)
        return found


@cache
def kafka() -> KafkaRecording:
    read = json.loads(gzip.decompress(KAFKA.read_bytes()))
    exact = {(a, key, version, sha): b64decode(body) for a, key, version, sha, body in read["answers"]}
    any_ = {key[:3]: body for key, body in reversed(exact.items())}
    return KafkaRecording(tuple(read["bootstrap"]), exact, any_)


@cache
def rabbitmq() -> RabbitRecording:
    read = json.loads(gzip.decompress(RABBITMQ.read_bytes()))
    answers = {url: body.encode() for url, body in read["answers"].items()}
    return RabbitRecording(tuple(read["urls"]), read["nodes"], answers)
