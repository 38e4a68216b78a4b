"""What a secure lab keeps secret: a private authority, one certificate for its servers, and a password for each user.

All of it lies in one folder of the lab (mode 0700, keys and passwords 0600), is made once, and goes with the lab.
"""

from __future__ import annotations

import os
import secrets
import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from drills.lab.errors import LabError
from drills.lab.node import Site

SECURE = "secure"
ADMIN, MONITOR = "admin", "monitor"
SERVER = "lab-node"  # the common name of the servers' certificate; to Kafka it is the user that nodes are to each other
DAYS = "30"
LOOPBACK = "DNS:localhost,IP:127.0.0.1"
OPENSSL = 30.0  # seconds for one command


@dataclass(frozen=True, slots=True)
class Keys:
    """The folder of a secure lab's secrets, and what is in it."""

    folder: Path

    @property
    def ca(self) -> Path:
        """The authority's certificate, which clients trust."""
        return self.folder / "ca.pem"

    @property
    def certificate(self) -> Path:
        """The servers' certificate; also the nodes' own as clients of each other."""
        return self.folder / "server.pem"

    @property
    def key(self) -> Path:
        """Its key."""
        return self.folder / "server-key.pem"

    @property
    def store(self) -> Path:
        """Key, certificate and authority in one file, as Kafka wants them."""
        return self.folder / "store.pem"

    def password_file(self, system: str, user: str) -> Path:
        """The file with the password of a user, made when there is none."""
        path = self.folder / f"{system}-{user}.password"
        if not path.exists():
            write_secret(path, secrets.token_urlsafe(18))
        return path

    def password(self, system: str, user: str) -> str:
        """The password of a user."""
        return self.password_file(system, user).read_text()

    def context(self) -> ssl.SSLContext:
        """TLS as a node speaks it: trusts the lab's authority alone, and shows the nodes' certificate."""
        made = ssl.create_default_context(cafile=str(self.ca))
        made.load_cert_chain(self.certificate, self.key)
        return made


def keys_of(site: Site) -> Keys | None:
    """The secrets of a lab, made when they are not there yet; None for a lab without security."""
    if site.record.settings.profile != SECURE:
        return None
    keys = Keys(site.folder / "keys")
    if not keys.store.exists():
        make(keys)
    return keys


def make(keys: Keys, name: str = "mqops lab") -> None:
    """A new authority and a certificate of it. Raises LabError when openssl fails."""
    fresh = Keys(keys.folder.with_name(f".{keys.folder.name}.{os.getpid()}"))
    fresh.folder.mkdir(parents=True, mode=0o700)
    authority(fresh.folder, name)
    sign(fresh.folder, SERVER, fresh.certificate, fresh.key)
    write_secret(fresh.store, "".join(path.read_text() for path in (fresh.key, fresh.certificate, fresh.ca)))
    shutil.rmtree(keys.folder, ignore_errors=True)  # what a killed driver left half done
    fresh.folder.replace(keys.folder)


def authority(folder: Path, name: str) -> Path:
    """A new authority in this folder (`ca.pem`, `ca-key.pem`); its certificate."""
    certificate, key = folder / "ca.pem", folder / "ca-key.pem"
    _openssl(
        "req", "-x509", *_new_key(key), "-out", certificate, "-days", DAYS, "-subj", f"/CN={name}",
        "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign",
    )  # fmt: skip
    key.chmod(0o600)
    return certificate


def sign(folder: Path, name: str, certificate: Path, key: Path, days: str = DAYS, hosts: str = LOOPBACK) -> None:
    """A certificate for this common name and these hosts, signed by the authority of the folder; the key is made."""
    request, names = folder / "request", folder / "names"
    _openssl("req", *_new_key(key), "-out", request, "-subj", f"/CN={name}")
    key.chmod(0o600)
    names.write_text(f"subjectAltName={hosts}\nextendedKeyUsage=serverAuth,clientAuth\n")
    authority_key = folder / "ca-key.pem"
    _openssl(
        "x509", "-req", "-in", request, "-CA", folder / "ca.pem", "-CAkey", authority_key, "-CAcreateserial",
        "-extfile", names, "-out", certificate, "-days", days,
    )  # fmt: skip
    for path in (request, names):
        path.unlink()


def write_secret(path: Path, text: str) -> None:
    """Writes a file that only its owner may read, whole or not at all."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
    fresh.replace(path)


def _new_key(path: Path) -> tuple[str | Path, ...]:
    return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path)


def _openssl(*arguments: str | Path) -> None:
    command = ["openssl", *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=OPENSSL, check=False)
    except FileNotFoundError:
        raise LabError("a secure lab needs openssl: apt-get install -y openssl") from None
    if done.returncode != 0:
        raise LabError(f"openssl {arguments[0]} failed ({done.returncode}): {done.stderr.strip()[-500:]}")
