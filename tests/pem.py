"""Certificates for servers and clients on loopback, made as a lab makes its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from drills.lab.keys import authority, sign

LOCALHOST = "DNS:localhost"


def certificates(folder: Path) -> tuple[Path, Path, Path]:
    """`ca.pem`, `cert.pem` for `localhost` alone, its `cert.key`; of the same CA `expired.pem` with `expired.key`."""
    ca, certificate, key = authority(folder, "test CA"), folder / "cert.pem", folder / "cert.key"
    sign(folder, "localhost", certificate, key, hosts=LOCALHOST)
    sign(folder, "localhost", folder / "expired.pem", folder / "expired.key", days="-1", hosts=LOCALHOST)
    return ca, certificate, key


def self_signed(folder: Path, name: str, hosts: str = LOCALHOST) -> Path:
    """NAME.pem, which nobody but itself has signed, with its key NAME.key."""
    certificate = folder / f"{name}.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={hosts}"]
    command += ["-keyout", str(certificate.with_suffix(".key")), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate
