"""A PostgreSQL server of our own: Debian's programs, a folder and a port of its own, never as root, gone with us."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

from drills.lab.waiting import wait_for

USER, PASSWORD = "drill", "s3cret-of-the-tests"


@dataclass(frozen=True)
class Server:
    """A server that answers on loopback, to one user with a password."""

    port: int

    def url(self, database: str) -> str:
        """The URL of a database in it."""
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def fresh(self, database: str) -> str:
        """Makes an empty database; its URL."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{database}" TEMPLATE template0'.encode())
        return self.url(database)

    def lack(self) -> str | None:
        """Why it does not answer; None when it does."""
        try:
            psycopg.connect(self.url("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError as error:
            return str(error).strip()
        return None


def programs() -> Path:
    """The folder of the newest PostgreSQL that Debian's packages put here. Fails the test when there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    assert found, "no PostgreSQL here: mq-drill lab install"
    return found[-1].parent


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """Starts a server and ends it with the block, or with this process."""
    folder = Path(tempfile.mkdtemp(prefix="mqops-postgresql-"))
    try:
        yield from _in(folder)
    finally:
        shutil.rmtree(folder)


def _in(folder: Path) -> Iterator[Server]:
    data, log, secret = folder / "data", folder / "log", folder / "password"
    secret.write_text(PASSWORD)
    if os.geteuid() == 0:  # it refuses to run as root
        for path in (folder, secret):
            shutil.chown(path, "postgres", "postgres")
    command = [str(programs() / "initdb"), "-D", str(data), "-U", USER, "-E", "UTF8", "--locale=C", "--no-sync"]
    command += ["--auth=scram-sha-256", f"--pwfile={secret}"]
    subprocess.run([*_as_nobody_special(), *command], check=True, capture_output=True, cwd=folder)
    server = Server(_free_port())
    command = [str(programs() / "postgres"), "-D", str(data), "-k", str(folder), "-p", str(server.port)]
    with log.open("wb") as out:
        process = subprocess.Popen([*_as_nobody_special(), *command], stdout=out, stderr=out, cwd=folder)
    try:
        wait_for("PostgreSQL answers", server.lack, 60)
        yield server
    finally:
        process.send_signal(signal.SIGQUIT)  # at once, without writing out what is thrown away next
        process.wait(60)


def _as_nobody_special() -> list[str]:
    become = ["--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    return ["setpriv", *become, "--pdeathsig=INT"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
