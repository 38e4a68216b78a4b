"""Public reports about cost: requests are counted and times compared with each other, never with a clock's face."""

from __future__ import annotations

import gc
import json
import socket
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily

from exporter.clients.kafka.memory import Memory
from exporter.clients.kafka.messages import list_offsets, offset_fetch
from exporter.clients.kafka.reader import KafkaReader
from exporter.clients.kafka.reading import Reading
from exporter.metrics import registry
from exporter.metrics.family import Measured
from exporter.page import Renderer
from tests.broker.kafka.lag_world import LagWorld, lags, problems, row_of
from tests.broker.reports.conftest import Name, asked
from tests.mutations import fails_under, mutation

MANY, OTHER = "reports-many", "reports-left-out"
PARTITIONS = 60
GROUPS = [f"reports-scale-{number}" for number in range(10)]
BROKERS = 3


@pytest.fixture(scope="module")
def many(kafka: LagWorld) -> LagWorld:
    """Ten groups that lag on every partition of one topic, and on those of another one, too."""
    for topic in (MANY, OTHER):
        kafka.create(topic, PARTITIONS, replicas=1)
    kafka.produce(MANY, 1, 7)
    for group in GROUPS:
        kafka.commit(group, MANY, dict.fromkeys(range(PARTITIONS), 0))
    kafka.commit(GROUPS[0], OTHER, dict.fromkeys(range(PARTITIONS), 0))
    return kafka


@mutation
def ends_are_asked_for_each_group(patch: pytest.MonkeyPatch) -> None:
    """Ask for the ends of the partitions of a group, and then of the next group."""
    plain = Reading.read_ends

    def read_ends(reading: Reading) -> None:
        for _ in reading.groups.groups:
            plain(reading)

    patch.setattr("exporter.clients.kafka.reader.ORDER", (Reading.read_commits, read_ends))


def test_ten_groups_cost_the_requests_of_one(many: LagWorld) -> None:
    one, ten = many.reader(MANY, GROUPS[0]), many.reader(MANY, *GROUPS)
    for reader in (one, ten):
        reader.poll()
    check_requests(one, ten)
    fails_under("ends_are_asked_for_each_group", check_requests, one, ten)


def check_requests(one: KafkaReader, ten: KafkaReader) -> None:
    """Three requests a broker for the ends however many groups there are; one a coordinator for all its commits."""
    counts = []
    for reader in (one, ten):
        with asked(reader) as requests:
            snapshot = reader.poll()
        counts.append(Counter(request.api_key for request in requests))
        assert all(lags(row_of(snapshot, group.name, MANY))[7] == 1 for group in snapshot.groups)
    few, more = counts
    assert few[list_offsets.API_KEY] == more[list_offsets.API_KEY] == 3 * BROKERS
    assert more[offset_fetch.API_KEY] <= BROKERS
    assert sum(more.values()) <= sum(few.values()) + 2 * (BROKERS - 1)  # commits and descriptions, by coordinator


def test_what_filters_leave_out_is_in_no_request(many: LagWorld) -> None:
    reader = many.reader(MANY, GROUPS[0], slow_interval=0.001)
    with asked(reader) as requests:
        snapshot = reader.poll()
    assert {MANY} == {topic.name for topic in snapshot.topics}
    left_out = [name.encode() for name in (OTHER, *GROUPS[1:])]
    assert len(requests) > BROKERS
    assert [] == [request.api_key for request in requests if any(name in request.body for name in left_out)]


@mutation
def groups_are_never_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Keep what was remembered of a group that is gone."""
    patch.setattr(Memory, "forget_groups", lambda *_: None)


def test_sockets_threads_and_memory_do_not_grow_with_polls_nor_with_groups_that_come_and_go(
    many: LagWorld, fresh_name: Name
) -> None:
    reader = many.reader(MANY, GROUPS[0], f"{fresh_name('group')}.*", ages="off")
    check_nothing_grows(many, reader, fresh_name("group"))
    fails_under("groups_are_never_forgotten", check_nothing_grows, many, reader, fresh_name("group"))


def check_nothing_grows(many: LagWorld, reader: KafkaReader, name: str) -> None:
    """After twenty polls and four groups that came and went the reader holds what it held before."""
    reader.poll()
    before, held = reader.poll(), footprint(reader)
    assert problems(before) == {}
    for number in range(4):
        group = many.commit(f"{name}-{number}", MANY, {7: 0})
        assert {group, GROUPS[0]} == {found.name for found in reader.poll().groups}
        many.admin.delete_consumer_groups([group])[group].result(10)
    for _ in range(16):
        reader.poll()
    assert held == footprint(reader)


def footprint(reader: KafkaReader) -> tuple[int, int, set[str]]:
    """Open sockets and running threads of Python (the writer's are librdkafka's), and the groups remembered."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some modules warn when they are looked at
        sockets = [found for found in gc.get_objects() if isinstance(found, socket.socket)]
    threads = sum(thread.name.startswith("Thread-") for thread in threading.enumerate())
    groups = set(json.loads(json.dumps(reader.state()))["memory"]["groups"])
    return sum(one.fileno() >= 0 for one in sockets), threads, groups


def cpu(work: Callable[[], object]) -> float:
    """Seconds of CPU of the quickest of five."""
    times = []
    for _ in range(5):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


class Theirs:
    """The same samples as prometheus-client has them: made anew for each scrape, as its documentation says."""

    def __init__(self, measured: Measured) -> None:
        self.measured = measured

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for family, samples in self.measured.items():
            made = GaugeMetricFamily(family.name, family.help, labels=family.labels)
            for labels, value in samples.items():
                made.add_metric(labels, value)
            yield made


def test_a_page_costs_less_than_half_of_what_the_usual_library_needs(many: LagWorld) -> None:
    measured, faults = registry.measure(many.reader(MANY, OTHER, *GROUPS).poll())
    assert not faults
    assert sum(map(len, measured.values())) > PARTITIONS * len(GROUPS) * 3
    renderer, usual = Renderer("lab"), CollectorRegistry()
    usual.register(Theirs(measured))
    renderer.render(measured, 0.0)
    ours, theirs = cpu(lambda: renderer.render(measured, 0.0)), cpu(lambda: generate_latest(usual))
    assert ours < theirs / 2, f"ours {ours * 1000:.1f} ms with gzip, theirs {theirs * 1000:.1f} ms without"
