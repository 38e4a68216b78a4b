"""A real Prometheus scrapes over mutual TLS and basic authentication, by its own web configuration on our side."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bcrypt
import pytest
import requests
import yaml

from tests.broker.exporter.process import free_port
from tests.pem import certificates
from tests.unit.cli.test_process import Process

PASSWORD = "scrape me"
PATIENCE = 90.0
pytestmark = pytest.mark.skipif(shutil.which("prometheus") is None, reason="mq-drill lab install brings it")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    certificates(tmp_path)
    tls = {"cert_file": "cert.pem", "key_file": "cert.key", "client_ca_file": "ca.pem"}
    tls |= {"client_auth_type": "RequireAndVerifyClientCert"}
    users = {"prometheus": bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()}
    web = {"tls_server_config": {**tls, "client_allowed_sans": ["localhost"]}, "basic_auth_users": users}
    (tmp_path / "web.yaml").write_text(yaml.safe_dump(web))
    for name, text in (("right", PASSWORD), ("wrong", "wr0ng")):
        (tmp_path / name).write_text(text)
    return tmp_path


def job(name: str, target: str, folder: Path, password: str, **tls: str) -> dict[str, Any]:
    own = {key: str(folder / file) for key, file in {"ca_file": "ca.pem", **tls}.items()}
    return {
        "job_name": name,
        "scheme": "https",
        "basic_auth": {"username": "prometheus", "password_file": str(folder / password)},
        "tls_config": {**own, "server_name": "localhost"},
        "static_configs": [{"targets": [target]}],
    }


@contextmanager
def prometheus(folder: Path, jobs: list[dict[str, Any]]) -> Iterator[str]:
    """Its URL."""
    file = folder / "prometheus.yaml"
    file.write_text(
        yaml.safe_dump({"global": {"scrape_interval": "5s", "scrape_timeout": "5s"}, "scrape_configs": jobs})
    )
    address = f"127.0.0.1:{free_port()}"
    command = ["prometheus", f"--config.file={file}", f"--storage.tsdb.path={folder / 'data'}"]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen([*command, f"--web.listen-address={address}"], stdout=log, stderr=log)
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(60)


def targets(url: str, count: int) -> dict[str, tuple[str, str]]:
    """Job -> (health, last error) once each has been scraped."""
    pause, deadline, seen = threading.Event(), time.monotonic() + PATIENCE, None
    while time.monotonic() < deadline:
        try:
            seen = requests.get(f"{url}/api/v1/targets", timeout=10).json()["data"]["activeTargets"]
        except (requests.RequestException, json.JSONDecodeError) as error:
            seen = error
        if isinstance(seen, list) and len([one for one in seen if one["health"] != "unknown"]) == count:
            return {one["labels"]["job"]: (one["health"], one["lastError"]) for one in seen}
        pause.wait(0.5)
    raise AssertionError(f"not within {PATIENCE} s: {seen}")


def test_it_is_let_in_with_certificate_and_password_and_with_nothing_less(folder: Path) -> None:
    own = {"cert_file": "cert.pem", "key_file": "cert.key"}
    process = Process("--kafka", "127.0.0.1:1", "--web.config.file", str(folder / "web.yaml"))
    try:
        process.wait_for("serves on")
        target = process.url.removeprefix("http://")
        jobs = [
            job("right", target, folder, "right", **own),
            job("wrong", target, folder, "wrong", **own),
            job("bare", target, folder, "right"),
        ]
        with prometheus(folder, jobs) as url:
            seen = targets(url, 3)
    finally:
        process.process.kill()
        process.process.wait(60)
        process.close()
    assert ("up", "") == seen["right"]
    assert ("down", "server returned HTTP status 401 Unauthorized") == seen["wrong"]
    assert ("down", True) == (seen["bare"][0], "certificate" in seen["bare"][1])
