"""Polling: no scrape waits, stale data is withheld, faults stay in their cluster, a reload is all or none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics

from exporter import page
from exporter.config.model import Config, Kafka
from exporter.metrics import registry
from exporter.model.common import ClusterSnapshot, CollectorRun, Disk, Kind, Problem
from exporter.poll import Poller, Section
from tests.unit.kafka.test_kafka_metrics import SNAPSHOT


class FakeReader:
    """Gives what `answer` gives; the poller knows no more of a reader than this."""

    def __init__(self, section: Section, answer: Callable[[], ClusterSnapshot]) -> None:
        self.section, self.answer, self.closed, self.restored = section, answer, 0, None

    def poll(self) -> ClusterSnapshot:
        return self.answer()

    def state(self) -> dict[str, Any]:
        return {"history": [1, 2]}

    def restore(self, state: dict[str, Any]) -> None:
        self.restored = state

    def close(self) -> None:
        self.closed += 1


def snapshot(name: str, free: int = 5, problems: tuple[Problem, ...] = ()) -> ClusterSnapshot:
    run = CollectorRun("topics", not problems, 1000.0, 0.1, 15.0, problems, {"unreadable_group": len(problems)})
    return ClusterSnapshot(name, "kafka", 1000.0, 15.0, (run,), {"h:1": True}, disks=(Disk("1", "/d", free, 1, False),))


def config(*names: str, interval: float = 15.0, **web: Any) -> Config:
    return Config(kafka=[Kafka(cluster=n, bootstrap_servers=("h:1",), interval=interval) for n in names], **web)


def poller(answers: dict[str, Callable[[], ClusterSnapshot]], interval: float = 15.0) -> Poller:
    return Poller(config(*answers, interval=interval), lambda section: FakeReader(section, answers[section.cluster]))


def values(found: Poller) -> dict[tuple[str, str], float]:
    text = b"".join(found.page(openmetrics=True)).decode()
    return {
        (sample.name, ",".join(v for k, v in sorted(sample.labels.items()))): sample.value
        for family in parse_openmetrics(text)
        for sample in family.samples
    }


def wait_for(claim: Callable[[], bool], what: str, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not claim():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        pause.wait(0.01)


def test_a_poll_is_on_the_page_with_its_health() -> None:
    problem = Problem(Kind.TIMEOUT, "group g", "no answer")
    found = poller({"a": lambda: snapshot("a"), "b": lambda: snapshot("b", problems=(problem,))})
    assert not found.ready()
    found.poll_once()
    assert found.ready()
    page = values(found)
    assert 5.0 == page["mq_disk_free_bytes", "a,/d,1,kafka"]
    assert 1.0 == page["mq_exporter_collector_success", "a,topics"]
    assert 0.0 == page["mq_exporter_collector_success", "b,topics"]
    assert 1.0 == page["mq_exporter_collector_errors_total", "b,topics,timeout"]
    assert 0.0 == page["mq_exporter_collector_errors_total", "a,topics,tls"]
    assert 1.0 == page["mq_exporter_items_skipped", "b,topics,unreadable_group"]
    assert 1000.0 == page["mq_exporter_collector_last_success_timestamp_seconds", "a,topics"]
    assert ("mq_exporter_collector_last_success_timestamp_seconds", "b,topics") not in page
    assert 3.0 == page["mq_exporter_series", "a"]


def test_a_hanging_cluster_costs_its_own_freshness_and_never_a_scrape() -> None:
    release, hang = threading.Event(), threading.Event()

    def answer() -> ClusterSnapshot:
        if hang.is_set():
            release.wait(30)
        return snapshot("a")

    found = poller({"a": answer, "b": lambda: snapshot("b")}, interval=0.2)
    found.start()
    try:
        wait_for(found.ready, "both clusters polled")
        hang.set()
        wait_for(lambda: ("mq_disk_free_bytes", "a,/d,1,kafka") not in values(found), "stale data is withheld")
        page = values(found)
        assert 5.0 == page["mq_disk_free_bytes", "b,/d,1,kafka"]
        assert 0.0 == page["mq_exporter_collector_success", "a,topics"]
        assert 0.0 == page["mq_exporter_series", "a"]
        wait_for(lambda: values(found)["mq_exporter_polls_skipped_total", "a"] > 0, "skipped polls are counted")
        release.set()
        wait_for(lambda: ("mq_disk_free_bytes", "a,/d,1,kafka") in values(found), "it recovers")
    finally:
        release.set()
        found.stop()


def test_a_fault_in_a_reader_is_counted_and_stays_in_its_cluster(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> ClusterSnapshot:
        raise RuntimeError("a fault of ours")

    found = poller({"a": broken, "b": lambda: snapshot("b")})
    found.poll_once()
    page = values(found)
    assert 1.0 == page["mq_exporter_collector_errors_total", "a,poll,protocol"]
    assert 5.0 == page["mq_disk_free_bytes", "b,/d,1,kafka"]
    assert "a fault of ours" in caplog.text


def test_a_fault_in_a_subject_withholds_only_its_own_families(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: ClusterSnapshot) -> Any:
        raise ZeroDivisionError("a fault of ours")

    faulty = tuple(replace(s, measure=broken) if s.name == "clocks" else s for s in registry.subjects())
    monkeypatch.setattr(registry, "subjects", lambda: faulty)
    only = tuple(s for s in faulty if s.name in {"clocks", "disk"})
    monkeypatch.setattr(registry, "subjects", lambda: only)
    found = poller({"a": lambda: snapshot("a")})
    found.poll_once()
    page = values(found)
    assert 5.0 == page["mq_disk_free_bytes", "a,/d,1,kafka"]
    assert 0.0 == page["mq_exporter_collector_success", "a,measure"]


def test_a_reload_keeps_unchanged_clusters_and_refuses_a_broken_one_whole() -> None:
    made: list[FakeReader] = []

    def readers(section: Section) -> FakeReader:
        if section.cluster == "bad":
            raise ValueError("no such property")
        made.append(FakeReader(section, lambda: snapshot(section.cluster)))
        return made[-1]

    found = Poller(config("a", "b"), readers)
    found.poll_once()
    with pytest.raises(ValueError, match="no such property"):
        found.apply(config("a", "c", "bad"))
    assert 0.0 == values(found)["mq_exporter_config_reload_success", ""]
    assert ["a", "b"] == list(found.clusters)
    assert [0, 0, 1] == [reader.closed for reader in made], "the reader made for `c` is closed again"
    found.apply(config("a", "c"))
    assert 1.0 == values(found)["mq_exporter_config_reload_success", ""]
    assert 5.0 == values(found)["mq_disk_free_bytes", "a,/d,1,kafka"], "`a` was not disturbed"
    wait_for(lambda: made[1].closed == 1, "the reader of `b` is closed")


def test_history_survives_a_restart(tmp_path: Any) -> None:
    made: list[FakeReader] = []

    def readers(section: Section) -> FakeReader:
        made.append(FakeReader(section, lambda: snapshot(section.cluster)))
        return made[-1]

    first = Poller(config("a/b", state_dir=tmp_path), readers)
    first.poll_once()
    first.stop()
    Poller(config("a/b", state_dir=tmp_path), readers)
    assert {"history": [1, 2]} == made[1].restored


def test_a_damaged_history_is_ignored(tmp_path: Any) -> None:
    (tmp_path / "a.json").write_text("{")
    made = FakeReader(Kafka(bootstrap_servers=("h:1",)), lambda: snapshot("a"))
    Poller(config("a", state_dir=tmp_path), lambda _: made)
    assert {} == made.restored


@pytest.mark.parametrize("room", [100_000, 100])
def test_what_is_measured_anew_is_what_the_page_shows(room: int) -> None:
    topic = SNAPSHOT.topics[0]
    many = tuple(replace(topic, name=f"t{n}", labels=tuple((f"t{n}", p) for _, p in topic.labels)) for n in range(50))
    grown = replace(SNAPSHOT, topics=many)
    section = Kafka(cluster=SNAPSHOT.cluster, bootstrap_servers=("h:1",), max_series=room)
    found = Poller(Config(kafka=[section]), lambda section: FakeReader(section, lambda: grown))
    found.poll_once()
    cluster = found.clusters[SNAPSHOT.cluster]
    assert cluster.published is not None
    measured = cluster.published.measured()
    assert (room == 100) == (cluster.health.dropped > 0)
    assert cluster.published.page.series == sum(map(len, measured.values()))
    again = page.Renderer(SNAPSHOT.cluster).render(measured, 0.0)
    assert cluster.published.page.bodies == again.bodies
