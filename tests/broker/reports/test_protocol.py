"""Public reports about who may see what: the exporter's own page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import bcrypt
import pytest
import requests

from drills.lab import Lab
from drills.lab.processes import tail
from drills.lab.waiting import wait_for
from tests.broker.exporter.process import PATIENCE, ROOT, Page, free_port, kafka_of, only, write_config
from tests.broker.kafka.lag_world import LagWorld
from tests.broker.reports.conftest import Name
from tests.pem import certificates

USER, PASSWORD = "prometheus", "scrape-me"


@dataclass(frozen=True)
class Guarded:
    """An exporter whose page needs TLS and a password."""

    url: str
    ca: Path

    def get(self, *user: str) -> requests.Response:
        """The page, as this user or as nobody."""
        headers = {"Accept": "application/openmetrics-text; version=1.0.0"}
        auth = (user[0], user[1]) if user else None
        return requests.get(f"{self.url}/metrics", auth=auth, verify=str(self.ca), headers=headers, timeout=30)


@contextmanager
def guarded(folder: Path, lab: Lab, topic: str, group: str, mutation: str | None = None) -> Iterator[Guarded]:
    """Runs until the block ends; serving at its beginning."""
    ca, certificate, key = certificates(folder)
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    web = folder / "web.yml"
    tls = f"tls_server_config:\n  cert_file: {certificate}\n  key_file: {key}\n"
    web.write_text(f"{tls}basic_auth_users:\n  {USER}: {hashed}\n")
    port, file, log = free_port(), folder / "exporter.json", folder / "exporter.log"
    write_config(file, port, {"kafka": [kafka_of(lab, topics=only(topic), groups=only(group))]})
    module = ["exporter"] if mutation is None else ["tests.broker.exporter.mutated", mutation, "--"]
    command = [sys.executable, "-m", *module, "--config", str(file), "--web.config.file", str(web)]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=ROOT)
    exporter = Guarded(f"https://localhost:{port}", ca)

    def lack() -> str | None:
        assert process.poll() is None, tail(log, 20)
        try:
            text = exporter.get(USER, PASSWORD).text
        except requests.ConnectionError:
            return "port not open"
        return None if "mq_kafka_group_lag_offsets{" in text else "no lag yet"

    try:
        wait_for("the exporter shows lag", lack, PATIENCE)
        yield exporter
    finally:
        process.terminate()
        process.wait(60)


def test_the_page_is_shown_over_tls_to_who_has_the_password(
    kafka_lab: Lab, kafka: LagWorld, fresh_name: Name, tmp_path: Path
) -> None:
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    kafka.produce(topic, 5)
    kafka.commit(group, topic, {0: 2})
    with guarded(tmp_path, kafka_lab, topic, group) as exporter:
        check_guarded(exporter, group)
        with pytest.raises(requests.RequestException):
            requests.get(exporter.url.replace("https", "http") + "/metrics", timeout=30).raise_for_status()
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    with (
        guarded(open_to_all, kafka_lab, topic, group, "everybody_comes_in") as exporter,
        pytest.raises(AssertionError),
    ):
        check_guarded(exporter, group)


def check_guarded(exporter: Guarded, group: str) -> None:
    """The right lag for who has the password; not a word of it for anybody else."""
    page = Page(exporter.get(USER, PASSWORD).text, 0.0)
    assert {"0": 3.0} == page.by("mq_kafka_group_lag_offsets", "partition", group=group)
    for answer in (exporter.get(), exporter.get(USER, "wrong"), exporter.get("nobody", PASSWORD)):
        assert (401, False) == (answer.status_code, group in answer.text)
