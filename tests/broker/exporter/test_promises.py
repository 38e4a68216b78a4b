"""The promises of the exporter, kept by a real process on real brokers and read over HTTP; each is seen to fail, too.

Promise 1 (commits before ends) is in tests/broker/kafka/test_lag.py: it is about what happens inside one poll.
"""

from __future__ import annotations

import gzip
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from drills.lab import Lab
from tests.broker.exporter import mutations_process
from tests.broker.exporter.process import (
    OPENMETRICS,
    Exporter,
    Page,
    await_ready,
    free_port,
    kafka_of,
    objects_when,
    only,
    running,
    start_exporter,
    stop_exporter,
)
from tests.broker.kafka.lag_world import LagWorld, row_of
from tests.mutations import fails_under

assert mutations_process  # importing it registers its mutations
Name = Callable[[str], str]
ODD = ['quo"te', "back\\slash", "new\nline", "ünïcødé ☕", "per%2Fcent", "/"]


def make_lag(kafka: LagWorld, fresh_name: Name, records: int = 10, committed: int = 4) -> tuple[str, str]:
    """A topic with three partitions and a group that has read some of partition 0; the others are empty."""
    topic, group = kafka.create(fresh_name("topic"), 3), fresh_name("group")
    kafka.produce(topic, records)
    kafka.commit(group, topic, {0: committed, 1: 0, 2: 0})
    return topic, group


def test_a_healthy_lab_withholds_nothing_and_every_lagging_partition_has_an_age(
    exporter: Exporter, kafka: LagWorld, fresh_name: Name
) -> None:
    topic, group = make_lag(kafka, fresh_name)
    exporter.shows({"0": 6.0, "1": 0.0, "2": 0.0}, "mq_kafka_group_lag_offsets", "partition", group=group, topic=topic)
    at = ("cluster", "collector")
    good = exporter.until(
        "every collector succeeds",
        lambda page: page.by("mq_exporter_collector_success", at),
        lambda seen: len(seen) > 10 and set(seen.values()) == {1.0},
    )
    assert {"lab-kafka", "lab-rabbitmq"} == {cluster for cluster, _ in good}
    withheld = exporter.page().by("mq_exporter_items_skipped", (*at, "reason"))
    assert {} == {what: count for what, count in withheld.items() if count}
    ages = exporter.page().by("mq_kafka_group_oldest_message_age_seconds", "partition", group=group)
    assert {"0": True, "1": False, "2": False} == {partition: age > 0 for partition, age in ages.items()}


def check_scrapes_do_not_wait(exporter: Exporter, timeout: float, readable: set[str]) -> None:
    """A scrape that waited for a broker that hangs would take at least the time-out of a request to it.

    While the broker is a member that does not answer (it is fenced after nine seconds), its partitions are missing,
    the others' are there, and a collector says so.
    """
    times = [0.0]

    def scrape(page: Page) -> tuple[bool, bool, bool]:
        began = time.monotonic()
        page = exporter.page()
        times.append(time.monotonic() - began)
        return (
            0.0 in page.by("mq_exporter_endpoint_up", "endpoint").values(),
            0.0 in page.by("mq_exporter_collector_success", "collector").values(),
            readable <= page.by("mq_kafka_partition_high_watermark_offset", "partition").keys(),
        )

    what = "one endpoint is down, a collector says so, the other brokers' partitions are there"
    exporter.until(what, scrape, lambda seen: all(seen) or max(times) > timeout)
    assert max(times) < timeout, f"{len(times)} scrapes, the slowest took {max(times):.2f} s"


def test_promise_2_a_frozen_broker_costs_freshness_and_never_a_scrape(
    breakable_lab: Lab, folder: Path, kafka: LagWorld, fresh_name: Name
) -> None:
    topic, group = make_lag(kafka, fresh_name)
    timeout = 4.0
    paces = {"interval": timeout + 1, "slow_interval": timeout + 1, "timeout": timeout}
    config = {"kafka": [kafka_of(breakable_lab, topics=only(topic), groups=only(group), **paces)]}
    with ExitStack() as stack:
        good, broken = (
            stack.enter_context(running(folder, config, name)) for name in (None, "scrapes_ask_the_brokers")
        )
        lag = {"group": group, "topic": topic}
        good.shows_value(6, "mq_kafka_group_topic_lag_offsets", **lag)
        readable = {str(number) for number, leader in enumerate(kafka.leaders(topic)) if leader != 1}
        with ThreadPoolExecutor() as pool, frozen(breakable_lab, "kafka-1"):
            held, objected = (pool.submit(check_scrapes_do_not_wait, one, timeout, readable) for one in (good, broken))
            held.result()
            with pytest.raises(AssertionError, match="slowest"):
                objected.result()
        good.shows_value(6, "mq_kafka_group_topic_lag_offsets", **lag)
        good.until(
            "all is well again",
            lambda page: set(page.by("mq_exporter_collector_success", "collector").values()),
            lambda seen: seen == {1.0},
        )


class frozen:  # noqa: N801 - reads as what it is: with frozen(lab, "kafka-1")
    """A node that is stopped in its tracks while the block runs."""

    def __init__(self, lab: Lab, node: str) -> None:
        self.node = lab.node(node)

    def __enter__(self) -> None:
        self.node.pause()

    def __exit__(self, *_: object) -> None:
        self.node.resume()


def check_withheld(exporter: Exporter, seconds: float) -> None:
    """No data, but the health of the exporter, which says why."""
    page = exporter.until(
        "data that is too old is withheld",
        lambda page: page,
        lambda page: not any(name.startswith("mq_kafka_") for name in page.samples),
        seconds,
    )
    assert {0.0} == set(page.by("mq_exporter_collector_success", "collector").values())
    assert 0 == page.value("mq_exporter_series")
    assert page.by("mq_exporter_collector_last_success_timestamp_seconds", "collector")


def check_overruns_are_counted(exporter: Exporter, seconds: float) -> None:
    exporter.until(
        "polls that were left out are counted",
        lambda page: page.value("mq_exporter_polls_skipped_total"),
        lambda seen: seen is not None and seen > 0,
        seconds,
    )


def test_promises_2_and_7_data_of_three_intervals_ago_is_withheld_and_missed_polls_are_counted(
    breakable_lab: Lab, folder: Path, kafka: LagWorld, fresh_name: Name
) -> None:
    """A poll that waits far longer than its interval: it goes on alone, and what it had before grows old."""
    topic, group = make_lag(kafka, fresh_name)
    paces = {"interval": 1, "slow_interval": 1, "timeout": 40}
    config = {"kafka": [kafka_of(breakable_lab, topics=only(topic), groups=only(group), **paces)]}
    with ExitStack() as stack:
        good, old, silent = (
            stack.enter_context(running(folder, config, name))
            for name in (None, "old_data_stays", "overruns_pass_unnoticed")
        )
        before = {one.url: one.page().value("mq_exporter_polls_skipped_total") for one in (good, silent)}
        with frozen(breakable_lab, "kafka-1"):
            check_withheld(good, 30)
            check_overruns_are_counted(good, 30)
            with pytest.raises(AssertionError):
                check_withheld(old, 3)
            if before[silent.url] == 0:
                with pytest.raises(AssertionError):
                    check_overruns_are_counted(silent, 3)


def check_the_other_cluster_is_whole(exporter: Exporter, group: str) -> None:
    exporter.until(
        "the dead cluster's errors are counted",
        lambda page: sum(
            page.by("mq_exporter_collector_errors_total", "collector", cluster="dead", kind="unreachable").values()
        ),
    )
    page = exporter.after_polls("lab-kafka")
    assert 6 == page.value("mq_kafka_group_topic_lag_offsets", group=group, cluster="lab-kafka")
    assert {0.0} == set(page.by("mq_exporter_collector_success", "collector", cluster="dead").values())


def test_promise_3_a_dead_cluster_does_not_hide_the_other(
    lab: Lab, folder: Path, kafka: LagWorld, fresh_name: Name
) -> None:
    topic, group = make_lag(kafka, fresh_name)
    mine = kafka_of(lab, topics=only(topic), groups=only(group), interval=5)
    dead = {**mine, "cluster": "dead", "bootstrap_servers": [f"127.0.0.1:{free_port()}"]}
    config = {"kafka": [mine, dead]}
    with running(folder, config) as exporter:
        exporter.shows_value(6, "mq_kafka_group_topic_lag_offsets", group=group)
        check_the_other_cluster_is_whole(exporter, group)
    objects_when("one_bad_cluster_hides_all", folder, config, check_the_other_cluster_is_whole, group)


def check_gone(exporter: Exporter, topic: str) -> None:
    page = exporter.after_polls("lab-kafka")
    named = [name for name, rows in page.samples.items() if any(labels.get("topic") == topic for labels, _ in rows)]
    assert [] == named


def test_promise_4_deleted_things_are_gone_and_asking_creates_nothing(
    lab: Lab, folder: Path, kafka: LagWorld, fresh_name: Name
) -> None:
    topic, group = make_lag(kafka, fresh_name)
    config = {"kafka": [kafka_of(lab, topics=only(topic), groups=only(group), expected_groups=[group])]}
    with ExitStack() as stack:
        good, broken = (stack.enter_context(running(folder, config, name)) for name in (None, "what_was_seen_lingers"))
        for exporter in (good, broken):
            exporter.shows_value(6, "mq_kafka_group_topic_lag_offsets", group=group, topic=topic)
        kafka.delete(topic)
        good.shows_value(None, "mq_kafka_topic_partitions", topic=topic)
        check_gone(good, topic)
        with pytest.raises(AssertionError):
            check_gone(broken, topic)
    assert topic not in kafka.admin.list_topics(timeout=30).topics


def check_afresh(exporter: Exporter, topic: str) -> None:
    page = exporter.after_polls("lab-kafka")
    assert 0 == page.value("mq_kafka_group_offset_rewinds_total", topic=topic)
    assert 0 == page.value("mq_kafka_group_lost_offsets_total", topic=topic)
    assert {"0": 2.0} == page.by("mq_kafka_group_lag_offsets", "partition", topic=topic)


def test_promise_4_a_topic_made_anew_starts_afresh(lab: Lab, folder: Path, kafka: LagWorld, fresh_name: Name) -> None:
    topic, group = kafka.create(fresh_name("topic")), fresh_name("group")
    kafka.produce(topic, 10)
    kafka.commit(group, topic, {0: 8})
    with running(folder, {"kafka": [kafka_of(lab, topics=only(topic), groups=only(group))]}) as exporter:
        committed = "mq_kafka_group_committed_offset"
        exporter.shows({"0": 8.0}, committed, "partition", topic=topic)
        kafka.commit(group, topic, {0: 2})
        exporter.shows_value(1, "mq_kafka_group_offset_rewinds_total", topic=topic)
        first = exporter.page().by("mq_kafka_topic_info", "topic_id", topic=topic)
        kafka.delete(topic)
        kafka.create(topic)
        kafka.produce(topic, 3)
        kafka.commit(group, topic, {0: 1})
        exporter.shows({"0": 1.0}, committed, "partition", topic=topic)
        check_afresh(exporter, topic)
        assert first.keys().isdisjoint(exporter.page().by("mq_kafka_topic_info", "topic_id", topic=topic))


def check_a_reader_starts_afresh(kafka: LagWorld, topic: str, group: str) -> None:
    """No poll between the two topics, as when that takes less than an interval."""
    kafka.create(topic)
    kafka.produce(topic, 10)
    kafka.commit(group, topic, {0: 8})
    reader = kafka.reader(topic, group)
    reader.poll()
    kafka.commit(group, topic, {0: 2})
    assert 1 == row_of(reader.poll(), group, topic).rewinds
    kafka.delete(topic)
    kafka.create(topic)
    kafka.produce(topic, 3)
    kafka.commit(group, topic, {0: 1})
    assert 0 == row_of(reader.poll(), group, topic).rewinds


def test_promise_4_a_topic_made_anew_between_two_polls_starts_afresh(kafka: LagWorld, fresh_name: Name) -> None:
    check_a_reader_starts_afresh(kafka, fresh_name("topic"), fresh_name("group"))
    again = fresh_name("again"), fresh_name("other")
    fails_under("topics_are_their_names", check_a_reader_starts_afresh, kafka, *again)


def strictly(text: str) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Every sample by name and labels. Raises AssertionError when the page is not valid."""
    try:
        families = list(parse_openmetrics(text))
    except (ValueError, KeyError, IndexError) as error:
        raise AssertionError(f"not OpenMetrics: {error!r}") from error
    return [(sample.name, tuple(sorted(sample.labels.items()))) for family in families for sample in family.samples]


def check_valid(exporter: Exporter, groups: set[str] | None = None) -> None:
    """Valid to the strict parser of each format and to promtool, nothing twice, each name as it was given."""
    strict = exporter.get("/metrics", Accept=OPENMETRICS)
    assert strict.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    seen = strictly(strict.text)
    assert len(set(seen)) == len(seen), "a sample is there twice"
    if groups is not None:
        assert groups == {dict(labels)["group"] for name, labels in seen if name == "mq_kafka_group_info"}
    plain = exporter.get("/metrics")
    assert "text/plain; version=0.0.4; charset=utf-8" == plain.headers["Content-Type"]
    names = [family.name for family in parse_text(plain.text)]
    assert sorted(set(names)) == sorted(names), "a family is there twice"
    found = subprocess.run(["promtool", "check", "metrics"], input=plain.content, capture_output=True, check=False)
    assert (0, b"", b"") == (found.returncode, found.stdout, found.stderr)


def test_promise_5_the_page_of_both_systems_is_valid(exporter: Exporter) -> None:
    check_valid(exporter)
    check_gzip_and_plain_are_the_same(exporter)


def test_promise_5_names_of_every_kind_in_two_clusters_keep_the_page_valid(
    lab: Lab, folder: Path, kafka: LagWorld, fresh_name: Name
) -> None:
    """Two clusters and group ids of every kind on one page."""
    topic, start = kafka.create(fresh_name("topic")), fresh_name("g")
    kafka.produce(topic, 2)
    groups = {kafka.commit(f"{start}{odd}", topic, {0: 1}) for odd in ODD}
    section = kafka_of(lab, topics=only(topic), groups=only(f"{start}.*"))
    config: dict[str, Any] = {"kafka": [section, {**section, "cluster": 'the "same" \\ again'}]}
    with running(folder, config) as exporter:
        exporter.until(
            "all groups of both",
            lambda page: page.by("mq_kafka_group_topic_lag_offsets", ("cluster", "group"), topic=topic),
            lambda seen: len(seen) == 2 * len(ODD) and set(seen.values()) == {1.0},
        )
        check_valid(exporter, groups)
    for name in ("labels_as_they_are", "clusters_one_after_the_other"):
        objects_when(name, folder, config, check_valid, groups)


def check_gzip_and_plain_are_the_same(exporter: Exporter) -> None:
    packed = requests.get(exporter.url + "/metrics", headers={"Accept-Encoding": "gzip"}, timeout=60, stream=True)
    assert "gzip" == packed.headers["Content-Encoding"]
    body = gzip.decompress(packed.raw.read())
    plain = exporter.get("/metrics", **{"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in plain.headers
    heads = [line for line in body.splitlines() if line.startswith(b"#")]
    assert heads == [line for line in plain.content.splitlines() if line.startswith(b"#")]


LIMIT = 100


def check_budget(exporter: Exporter, group: str) -> None:
    """The limit is kept, the highest lag stays, totals are never dropped, and what went is counted."""
    page = exporter.after_polls("lab-kafka")
    series, dropped = page.value("mq_exporter_series"), page.value("mq_exporter_series_dropped")
    assert series is not None
    assert series <= LIMIT
    assert dropped is not None
    assert dropped > 0
    totals = page.by("mq_kafka_group_topic_lag_offsets", "topic", group=group)
    assert [9.0, 19.0, 29.0, 39.0] == sorted(totals.values())
    assert 39.0 in page.by("mq_kafka_group_lag_offsets", ("topic", "partition"), group=group).values()


def test_promise_6_the_budget_of_series_holds_and_the_highest_lags_stay(
    lab: Lab, folder: Path, kafka: LagWorld, fresh_name: Name
) -> None:
    topics = [kafka.create(fresh_name(f"topic{number}"), 3) for number in range(4)]
    group = fresh_name("group")
    for number, topic in enumerate(topics):
        kafka.produce(topic, 10 * (number + 1))
        kafka.commit(group, topic, {0: 1, 1: 0, 2: 0})
    config = {"kafka": [kafka_of(lab, max_series=LIMIT, topics=only(*topics), groups=only(group))]}
    with running(folder, config) as exporter:
        exporter.shows_value(39, "mq_kafka_group_topic_lag_offsets", group=group, topic=topics[-1])
        check_budget(exporter, group)
    for name in ("no_budget", "budget_by_name"):
        objects_when(name, folder, config, check_budget, group)


def check_liveness_and_readiness(exporter: Exporter) -> None:
    """Right after the start: alive, not ready. After the first poll, in which no broker answered: both."""
    assert (200, 503) == (exporter.get("/-/healthy").status_code, exporter.get("/-/ready").status_code)
    await_ready(exporter)
    page = exporter.page()
    assert {0.0} == set(page.by("mq_exporter_endpoint_up", "endpoint").values())
    assert 200 == exporter.get("/-/healthy").status_code


@pytest.mark.parametrize("name", [None, "ready_from_the_start", "healthy_means_brokers_answer"])
def test_promise_9_liveness_is_the_process_and_readiness_the_first_complete_page(
    breakable_lab: Lab, folder: Path, name: str | None
) -> None:
    section = kafka_of(breakable_lab, bootstrap_servers=[breakable_lab.kafka.brokers[1]], interval=20, timeout=15)
    with frozen(breakable_lab, "kafka-1"):
        exporter = start_exporter(folder, {"kafka": [section]}, name)
        try:
            if name is None:
                check_liveness_and_readiness(exporter)
            else:
                with pytest.raises(AssertionError):
                    check_liveness_and_readiness(exporter)
        finally:
            stop_exporter(exporter)


def test_a_real_prometheus_scrapes_without_an_error(monitored_lab: Lab, exporter: Exporter) -> None:
    prometheus, instance = monitored_lab.prometheus, exporter.url.removeprefix("http://")
    prometheus.scrape("mq-exporter", [instance], "3s")
    at = f'{{job="mq-exporter",instance="{instance}"}}'

    def ask(expression: str) -> list[str]:
        return [row["value"][1] for row in prometheus.query(expression)]

    exporter.until(
        "five scrapes", lambda _: ask(f"count_over_time(up{at}[5m])"), lambda seen: seen and int(seen[0]) >= 5
    )
    assert ["1"] == ask(f"min_over_time(up{at}[5m])")
    targets = requests.get(f"{prometheus.url}/api/v1/targets", timeout=60).json()["data"]["activeTargets"]
    ours = [target for target in targets if target["labels"]["job"] == "mq-exporter"]
    assert [("up", "")] == [(target["health"], target["lastError"]) for target in ours]
    assert ask(f"scrape_samples_scraped{at}") == ask(f"scrape_samples_post_metric_relabeling{at}")
    own = parse_text(requests.get(f"{prometheus.url}/metrics", timeout=60).text)
    refused = {
        sample.name: sample.value
        for family in own
        for sample in family.samples
        if sample.name.startswith("prometheus_target_scrapes_") and sample.name.endswith("_total")
    }
    assert len(refused) > 3
    assert {0.0} == {count for name, count in refused.items() if "sync" not in name}
