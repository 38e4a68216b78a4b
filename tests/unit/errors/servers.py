"""Servers on loopback that are not what the exporter expects, and certificates that are not right."""

from __future__ import annotations

import socket
import ssl
import subprocess
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.unit.kafka.fake_broker import certificates, listener, server_context

Serve = Callable[[socket.socket], None]
METRICS_PAGE = b"# HELP erlang_vm_atom_count x\n"


def pem_folder(folder: Path) -> Path:
    """ca.pem signed cert.pem and expired.pem (localhost, key.pem); stranger.pem signed nothing."""
    certificates(folder)
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "9",
    ]
    command += ["-subj", "/CN=stranger", "-keyout", "stranger.key", "-out", "stranger.pem"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


def tls(stack: ExitStack, folder: Path, serve: Serve, certificate: str = "cert.pem", mutual: bool = False) -> int:
    """A port that speaks TLS with this certificate; `mutual`: only clients with one of ca.pem are let in."""
    context = server_context(folder / certificate, folder / "key.pem")
    if mutual:
        context.load_verify_locations(folder / "ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    return stack.enter_context(listener(serve, context))


def plain(stack: ExitStack, serve: Serve) -> int:
    """A port without TLS."""
    return stack.enter_context(listener(serve))


def free_port() -> int:
    """A port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


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
