"""The sampler reads the page as Prometheus does, keeps what is the run's own, and says when it could not read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from drills.evidence import samples
from drills.evidence.samples import SCRAPED, STOPPED, Sample, Sampler, chosen, read, rows
from drills.lab.waiting import wait_for

PAGE = """\
# HELP mq_rabbitmq_queue_messages_ready Messages.
# TYPE mq_rabbitmq_queue_messages_ready gauge
mq_rabbitmq_queue_messages_ready{vhost="drill-run-a",queue="w \\"q\\", x"} 3
mq_rabbitmq_queue_messages_ready{vhost="/",queue="of somebody else"} 7
mq_rabbitmq_queue_messages_ready{vhost="/",queue="drill-run-b"} NaN
# HELP mq_rabbitmq_node_up Up.
# TYPE mq_rabbitmq_node_up gauge
mq_rabbitmq_node_up{node="rabbit@a"} 0
# HELP go_threads Threads.
# TYPE go_threads gauge
go_threads 9
"""
KEPT = [
    Sample(1.0, 2.0, "mq_rabbitmq_queue_messages_ready", '{"queue": "w \\"q\\", x", "vhost": "drill-run-a"}', 3.0),
    Sample(1.0, 2.0, "mq_rabbitmq_node_up", '{"node": "rabbit@a"}', 0.0),
]


class Exporter(ThreadingHTTPServer):
    """A page, or an error while `fails` is set."""

    def __init__(self) -> None:
        exporter = self
        self.fails = False

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(500 if exporter.fails else 200)
                self.end_headers()
                self.wfile.write(PAGE.encode())

            def log_message(self, *_: object) -> None:
                return

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/metrics"


@pytest.fixture
def exporter() -> Iterator[Exporter]:
    with Exporter() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_the_runs_own_series_and_the_health_of_nodes_are_kept(tmp_path: Path) -> None:
    """A value that is no number is kept out when the file is read: absent, not 0."""
    path = tmp_path / "metrics.csv"
    path.write_text(rows(chosen(PAGE, "drill-run-", 1.0, 2.0)))
    assert KEPT == list(read(path))
    assert ('w "q", x', "drill-run-a") == tuple(sorted(KEPT[0].scope(), reverse=True))


def test_a_torn_last_row_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(",".join(samples.HEADER) + "\r\n" + rows(KEPT) + '1.000,2.000,mq_rabbitmq_node_up,"{""no')
    assert KEPT == list(read(path))
    assert [] == list(read(tmp_path / "nothing.csv"))


def seen(path: Path, name: str) -> list[float]:
    return [one.value for one in read(path) if one.name == name]


def waits_for_scrapes(path: Path, expected: float) -> None:
    def lack() -> str | None:
        found = seen(path, SCRAPED)
        return None if expected in found else f"scrapes: {found}"

    wait_for(f"a scrape with {expected} is written", lack, 20)


def test_a_failed_read_is_a_row_that_says_so_and_nothing_else(
    exporter: Exporter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "EVERY", 0.05)
    path = tmp_path / "metrics.csv"
    with Sampler(exporter.url, path, "drill-run-") as sampler:
        waits_for_scrapes(path, 1.0)
        exporter.fails = True
        waits_for_scrapes(path, 0.0)
    scrapes = seen(path, SCRAPED)
    assert scrapes.count(1.0) == len(seen(path, "mq_rabbitmq_node_up"))
    assert None is sampler.error


def test_the_file_is_bounded(exporter: Exporter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "EVERY", 0.01)
    monkeypatch.setattr(samples, "MOST_BYTES", 2000)
    path = tmp_path / "metrics.csv"
    with Sampler(exporter.url, path, "drill-run-") as sampler:
        wait_for("it stopped", lambda: None if seen(path, STOPPED) else "not yet", 20)
    assert path.stat().st_size < 3000
    assert sampler.error == "metrics.csv is full at 2000 bytes"


def test_a_folder_that_is_gone_ends_the_samples_and_nothing_else(tmp_path: Path) -> None:
    with Sampler("http://127.0.0.1:1/", tmp_path / "gone" / "metrics.csv", "drill-run-") as sampler:
        wait_for("it told", lambda: None if sampler.error else "nothing", 20)
    assert "metrics.csv: " in str(sampler.error)
