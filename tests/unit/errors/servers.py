"""Servers on loopback that are not what the exporter expects."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.ports import reserved_port
from tests.unit.kafka.fake_broker import listener, server_context

Serve = Callable[[socket.socket], None]
METRICS_PAGE = b"# HELP erlang_vm_atom_count x\n"


def tls(stack: ExitStack, folder: Path, serve: Serve, name: str = "cert", mutual: bool = False) -> int:
    """A port that speaks TLS with NAME.pem; `mutual`: only clients with one of ca.pem are let in."""
    context = server_context(folder / f"{name}.pem", folder / f"{name}.key")
    if mutual:
        context.load_verify_locations(folder / "ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    return stack.enter_context(listener(serve, context))


def plain(stack: ExitStack, serve: Serve) -> int:
    """A port without TLS."""
    return stack.enter_context(listener(serve))


def closed_port(stack: ExitStack) -> int:
    """A port where nobody listens."""
    return stack.enter_context(reserved_port())


def says(*parts: bytes) -> Serve:
    """Takes what comes first, says this, and ends; the client is given time to read it."""

    def serve(sock: socket.socket) -> None:
        with sock, suppress(OSError):
            sock.recv(65536)
            for part in parts:
                sock.sendall(part)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(65536):
                pass

    return serve


def silent(sock: socket.socket) -> None:
    """Takes everything and says nothing."""
    with sock, suppress(OSError):
        while sock.recv(65536):
            pass


def closes(sock: socket.socket) -> None:
    """Takes nothing."""
    sock.close()


def web(body: bytes, status: str = "200 OK", *more: str) -> Serve:
    """One HTTP answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *more, "", ""]
    return says("\r\n".join(lines).encode() + body)


def black_hole(stack: ExitStack) -> int:
    """A port whose connections are never accepted: the queue of a listener that nobody serves is full."""
    holder = stack.enter_context(socket.socket())
    holder.bind(("127.0.0.1", 0))
    holder.listen(0)
    port = int(holder.getsockname()[1])
    for _ in range(3):
        waiting = stack.enter_context(socket.socket())
        waiting.setblocking(False)
        with suppress(BlockingIOError):
            waiting.connect(("127.0.0.1", port))
    return port


def no_name(stack: ExitStack) -> str:
    """A host that no name server knows, without asking one."""
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    real = socket.getaddrinfo

    def found(host: object, *more: object, **named: object) -> object:
        if host == "no-such-host.invalid":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *more, **named)  # type: ignore[arg-type]

    patch.setattr(socket, "getaddrinfo", found)
    return "no-such-host.invalid"
