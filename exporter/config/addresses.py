"""Addresses as people write them: Kafka's HOST:PORT, RabbitMQ's management URL, the address to listen on."""

from __future__ import annotations

import re
from urllib.parse import urlsplit


def split_host_port(value: str) -> tuple[str, int]:
    """Host (without brackets, may be empty) and port of `HOST:PORT` or `[IPV6]:PORT`. Raises ValueError."""
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%\w]+)\]|([^\[\]:/\s]*)):(\d{1,5})", value.strip())
    if match is None or int(match[3]) > 65535:
        raise ValueError(f"expected HOST:PORT (an IPv6 address in brackets, [::1]:9092), got {value!r}")
    return match[1] or match[2] or "", int(match[3])


def check_bootstrap(value: str) -> str:
    """One bootstrap server. Raises ValueError when host or port is missing, or when it is a URL."""
    if "@" in value:
        raise ValueError(
            "leave user and password out; write `sasl.username` under `client:`, the password in `secrets:`"
        )
    if "://" in value:
        raise ValueError("expected HOST:PORT without a scheme; TLS is set with `client: {security_protocol: SSL}`")
    host, port = split_host_port(value)
    if not host or port == 0:
        raise ValueError(f"expected HOST:PORT, got {value!r}")
    return value.strip()


def check_management_url(value: str) -> str:
    """A management URL without user and password. Raises ValueError, whose text never repeats a password."""
    try:
        parts = urlsplit(value.strip())
        port = parts.port
    except ValueError:
        raise ValueError("expected a URL such as http://HOST:15672; the port is not a number") from None
    if "@" in value:
        raise ValueError("leave user and password out of the URL; write `username: NAME` and `password: {file: PATH}`")
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise ValueError(f"expected a URL such as http://HOST:15672, got {value!r}")
    if "?" in value or "#" in value:
        raise ValueError("expected the management URL alone, without `?` or `#`")
    return value.strip().rstrip("/")


def check_listen_address(value: str) -> str:
    """`HOST:PORT`, `[IPV6]:PORT`, or `:PORT` for every interface. Raises ValueError."""
    try:
        split_host_port(value)
    except ValueError:
        raise ValueError(
            f"expected HOST:PORT, [IPV6]:PORT or :PORT (every interface) to listen on, got {value!r}"
        ) from None
    return value.strip()
