"""A broker's half of SASL, for the tests of connections."""

from __future__ import annotations

from collections.abc import Sequence

from exporter.clients.kafka.wire import INT16, Cursor, compact, plain, plain_array
from tests.unit.kafka.fake_broker import Answer

ECHO = b"an answer"


def mechanisms_only(mechanisms: Sequence[str], code: int = 33) -> Answer:
    """Offers these mechanisms, and has an error for every other."""

    def answer(key: int, version: int, body: bytes) -> bytes:
        wanted = Cursor(body, flexible=False).text()
        return INT16.pack(0 if wanted in mechanisms else code) + plain_array(map(plain, mechanisms))

    return answer


def sasl_answers(mechanisms: Sequence[str], user: str, password: str) -> Answer:
    """A broker that lets this user in by PLAIN."""
    handshake = mechanisms_only(mechanisms)

    def answer(key: int, version: int, body: bytes) -> bytes | None:
        if key == 17:
            return handshake(key, version, body)
        if key == 36:
            token = Cursor(body).nullable_bytes()
            good = token == f"{user}\0{user}\0{password}".encode()
            message = None if good else "Authentication failed: Invalid username or password"
            return INT16.pack(0 if good else 58) + compact(message) + b"\1" + (0).to_bytes(8, "big") + b"\0"
        return ECHO

    return answer
