"""Where a broker listens."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_PORT = 9092


@dataclass(frozen=True, slots=True)
class Address:
    """Where a broker listens."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Of `host:port`, `[v6]:port` or `host`, with or without a listener's `NAME://` in front."""
        rest = text.strip().rpartition("//")[2]
        host, colon, port = rest.rpartition(":")
        if not colon or rest.endswith("]"):
            host, port = rest, str(DEFAULT_PORT)
        if not port.isdigit():
            raise ValueError(f"{text!r} is not HOST:PORT")
        return cls(host.strip("[]"), int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
