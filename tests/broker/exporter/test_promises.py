"""The promises of the exporter, kept by a real process on real brokers and read over HTTP."""

from __future__ import annotations

import gzip
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from drills.lab import Lab
from tests.broker.exporter.conftest import (
    OPENMETRICS,
    TIMEOUT,
    Exporter,
    config_of,
    free_port,
    start_exporter,
    stop_exporter,
)

pytestmark = pytest.mark.usefixtures("lab")


def make_lag(lab: Lab, admin: AdminClient, topic: str, group: str, records: int = 10, committed: int = 4) -> None:
    """A topic with three partitions; the group has committed some of partition 0 and nothing of the others' records."""
    admin.create_topics([NewTopic(topic, 3, 3)], operation_timeout=30)[topic].result()
    producer = Producer({"bootstrap.servers": lab.kafka.bootstrap, "acks": "all"})
    for number in range(records):
        producer.produce(topic, f"{number}".encode(), partition=0)
    assert 0 == producer.flush(30)
    consumer = Consumer({"bootstrap.servers": lab.kafka.bootstrap, "group.id": group, "enable.auto.commit": False})
    found = consumer.commit(
        offsets=[TopicPartition(topic, 0, committed), TopicPartition(topic, 1, 0), TopicPartition(topic, 2, 0)],
        asynchronous=False,
    )
    assert [None, None, None] == [partition.error for partition in found]
    consumer.close()


def scrape_until(done: threading.Event, exporter: Exporter, times: list[float], failures: list[str]) -> None:
    while not done.is_set():
        began = time.monotonic()
        try:
            status = exporter.get("/metrics").status_code
        except requests.RequestException as error:
            failures.append(repr(error))
        else:
            failures.extend([] if status == 200 else [str(status)])
        times.append(time.monotonic() - began)
        done.wait(0.05)


def test_a_healthy_lab_withholds_nothing_and_every_lagging_partition_has_an_age(
    exporter: Exporter, lab: Lab, kafka_admin: AdminClient, topic_name: str, group_name: str
) -> None:
    make_lag(lab, kafka_admin, topic_name, group_name)
    exporter.await_value(6, "mq_kafka_group_topic_lag_offsets", group=group_name, topic=topic_name)
    assert {1.0} == set(exporter.samples("mq_exporter_collector_success").values())
    assert {0.0} >= set(exporter.samples("mq_exporter_items_skipped").values())
    lags = exporter.samples("mq_kafka_group_lag_offsets", group=group_name)
    ages = exporter.samples("mq_kafka_group_oldest_message_age_seconds", group=group_name)
    assert [0.0, 0.0, 6.0] == sorted(lags.values())
    assert set(lags) == set(ages)
    assert all(ages[at] > 0 if lag > 0 else ages[at] == 0 for at, lag in lags.items())


def test_promise_2_a_frozen_broker_costs_freshness_and_never_a_scrape(
    breakable_lab: Lab, exporter: Exporter, kafka_admin: AdminClient, topic_name: str, group_name: str
) -> None:
    """A scrape that waited for a broker would take at least the time-out of a request to it."""
    lab = breakable_lab
    make_lag(lab, kafka_admin, topic_name, group_name)
    exporter.await_value(6, "mq_kafka_group_topic_lag_offsets", group=group_name, topic=topic_name)
    done, times, failures = threading.Event(), [], []  # type: ignore[var-annotated]
    scraper = threading.Thread(target=scrape_until, args=(done, exporter, times, failures))
    broker = lab.node("kafka-1")
    broker.pause()
    try:
        scraper.start()
        exporter.await_that(
            lambda: set(exporter.samples("mq_exporter_endpoint_up", cluster="lab-kafka").values()),
            lambda seen: seen == {0.0, 1.0},
            "one endpoint down, the others up",
        )
        exporter.await_that(
            lambda: exporter.samples("mq_exporter_collector_success", cluster="lab-kafka", collector="offsets"),
            lambda seen: set(seen.values()) == {0.0} or not seen,
            "the collector of offsets says that it did not read everything",
        )
        assert exporter.samples("mq_kafka_partition_high_watermark_offset"), "the other brokers' partitions stay"
    finally:
        broker.resume()
        done.set()
        scraper.join()
    assert [] == failures
    assert max(times) < TIMEOUT, f"{len(times)} scrapes, the slowest took {max(times):.2f} s"
    exporter.await_that(
        lambda: set(exporter.samples("mq_exporter_collector_success").values()), lambda seen: seen == {1.0}, "recovered"
    )


def test_promise_3_a_dead_cluster_does_not_hide_the_other(
    lab: Lab, tmp_path: Path, kafka_admin: AdminClient, topic_name: str, group_name: str
) -> None:
    make_lag(lab, kafka_admin, topic_name, group_name)
    config = config_of(lab)
    dead = {**config["kafka"][0], "cluster": "dead", "bootstrap_servers": [f"127.0.0.1:{free_port()}"]}
    exporter = start_exporter(tmp_path, {"kafka": [*config["kafka"], dead]})
    try:
        exporter.await_value(6, "mq_kafka_group_topic_lag_offsets", group=group_name, topic=topic_name)
        exporter.await_that(
            lambda: exporter.samples("mq_exporter_collector_errors_total", cluster="dead", kind="unreachable"),
            lambda seen: sum(seen.values()) > 0,
            "the dead cluster's errors are counted",
        )
        assert {0.0} == set(exporter.samples("mq_exporter_collector_success", cluster="dead").values())
        assert {1.0} == set(exporter.samples("mq_exporter_collector_success", cluster="lab-kafka").values())
        assert 200 == exporter.get("/-/healthy").status_code, "liveness is not broker health"
    finally:
        stop_exporter(exporter)


def test_promise_4_deleted_things_are_gone_and_asking_creates_nothing(
    exporter: Exporter, lab: Lab, kafka_admin: AdminClient, topic_name: str, group_name: str
) -> None:
    make_lag(lab, kafka_admin, topic_name, group_name)
    exporter.await_value(6, "mq_kafka_group_topic_lag_offsets", group=group_name, topic=topic_name)
    kafka_admin.delete_topics([topic_name])[topic_name].result(30)
    exporter.await_value(None, "mq_kafka_group_topic_lag_offsets", group=group_name, topic=topic_name)
    exporter.await_value(None, "mq_kafka_topic_partitions", topic=topic_name)
    exporter.await_polls(3)
    assert topic_name not in kafka_admin.list_topics(timeout=10).topics


def test_promise_5_the_page_is_valid_to_strict_parsers_and_promtool(exporter: Exporter) -> None:
    plain = exporter.get("/metrics")
    assert "text/plain; version=0.0.4; charset=utf-8" == plain.headers["Content-Type"]
    names = [family.name for family in parse_text(plain.text)]
    assert sorted(set(names)) == sorted(names), "a family is there twice"
    strict = exporter.get("/metrics", Accept=OPENMETRICS)
    assert strict.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    seen = [
        (sample.name, tuple(sorted(sample.labels.items())))
        for family in parse_openmetrics(strict.text)
        for sample in family.samples
    ]
    assert len(set(seen)) == len(seen)
    found = subprocess.run(["promtool", "check", "metrics"], input=plain.content, capture_output=True, check=False)
    assert (0, b"", b"") == (found.returncode, found.stdout, found.stderr)


def test_gzip_and_plain_hold_the_same_page(exporter: Exporter) -> None:
    packed = requests.get(exporter.url + "/metrics", headers={"Accept-Encoding": "gzip"}, timeout=10, stream=True)
    assert "gzip" == packed.headers["Content-Encoding"]
    body = gzip.decompress(packed.raw.read())
    plain = exporter.get("/metrics", **{"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in plain.headers
    heads = [line for line in body.splitlines() if line.startswith(b"#")]
    assert heads == [line for line in plain.content.splitlines() if line.startswith(b"#")]


def test_promise_6_the_budget_of_series_holds_and_the_highest_lags_stay(
    lab: Lab, tmp_path: Path, kafka_admin: AdminClient, fresh_name: Callable[[str], str]
) -> None:
    topics = [fresh_name(f"topic{number}") for number in range(4)]
    group = fresh_name("group")
    for number, topic in enumerate(topics):
        make_lag(lab, kafka_admin, topic, group, records=10 * (number + 1), committed=1)
    config = config_of(lab)
    limited = {**config["kafka"][0], "max_series": 150, "topics": {"allow": [f"{topic}" for topic in topics]}}
    exporter = start_exporter(tmp_path, {"kafka": [limited]})
    try:
        exporter.await_that(
            lambda: exporter.value("mq_exporter_series_dropped", cluster="lab-kafka"),
            lambda seen: bool(seen),
            "dropped",
        )
        assert (exporter.value("mq_exporter_series", cluster="lab-kafka") or 0) <= 150
        kept = exporter.samples("mq_kafka_group_lag_offsets", group=group)
        totals = exporter.samples("mq_kafka_group_topic_lag_offsets", group=group)
        assert {9.0, 19.0, 29.0, 39.0} == set(totals.values()), "totals are never dropped"
        assert 39.0 in kept.values()
    finally:
        stop_exporter(exporter)
        for topic in topics:
            kafka_admin.delete_topics([topic])[topic].result(30)


def test_promise_9_liveness_is_the_process_and_readiness_the_first_complete_page(lab: Lab, tmp_path: Path) -> None:
    exporter = start_exporter(tmp_path, config_of(lab))
    try:
        assert 200 == exporter.get("/-/healthy").status_code
        exporter.await_that(lambda: exporter.get("/-/ready").status_code, lambda seen: seen == 200, "ready")
    finally:
        stop_exporter(exporter)


def test_a_real_prometheus_scrapes_without_an_error(monitored_lab: Lab, exporter: Exporter) -> None:
    prometheus = monitored_lab.prometheus
    prometheus.scrape("mq-exporter", [exporter.url.removeprefix("http://")], "1s")
    exporter.await_that(
        lambda: [row["value"][1] for row in prometheus.query('count_over_time(up{job="mq-exporter"}[1m])')],
        lambda seen: bool(seen) and int(seen[0]) >= 5,
        "five scrapes",
    )
    assert ["1"] == [row["value"][1] for row in prometheus.query('min_over_time(up{job="mq-exporter"}[1m])')]
    targets = requests.get(f"{prometheus.url}/api/v1/targets", timeout=10).json()["data"]["activeTargets"]
    ours = [target for target in targets if target["labels"]["job"] == "mq-exporter"]
    assert [("up", "")] == [(target["health"], target["lastError"]) for target in ours]
    scraped = prometheus.query('scrape_samples_scraped{job="mq-exporter"}')
    kept = prometheus.query('scrape_samples_post_metric_relabeling{job="mq-exporter"}')
    assert [row["value"][1] for row in scraped] == [row["value"][1] for row in kept]
