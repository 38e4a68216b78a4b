"""What each right of Kafka is for: take it away, and see what is lost and what is said (docs/permissions.md)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import pytest
from confluent_kafka import Producer, ShareConsumer
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
)
from confluent_kafka.admin import ResourceType as Resource

from drills.lab import Lab, kafka_security
from exporter.clients.kafka.hidden import HiddenReader
from exporter.clients.kafka.messages import cluster
from exporter.clients.kafka.reader import KafkaReader
from exporter.config.model import Kafka
from exporter.metrics import registry
from exporter.model.kafka import KafkaSnapshot
from tests import permissions
from tests.broker.kafka.lag_world import LagWorld, wait
from tests.mutations import fails_under, mutation
from tests.permissions import DEAD, GROUP, OPEN, REJECTS, SHARE, TOPIC, KafkaRow

TOPICS, GROUPS = ("orders.*",), ("billing|shared",)  # patterns, so that no name is known from the configuration
Series = dict[str, set[tuple[str, ...]]]  # family -> label values
Said = dict[tuple[str, str], tuple[str, ...]]  # item, detail -> collectors


@dataclass(frozen=True)
class Scene:
    """The cluster with something of everything, and what a user with the least rights sees of it."""

    lab: Lab
    acls: Any  # confluent-kafka's AdminClient, as a node
    full: Series

    def give(self, row: KafkaRow) -> None:
        """These rights and no others."""
        every = AclBindingFilter(
            Resource.ANY, None, ResourcePatternType.ANY, f"User:{permissions.USER}", None, AclOperation.ANY,
            AclPermissionType.ANY,
        )  # fmt: skip
        self.acls.delete_acls([every])[every].result(60)
        if row.rights:
            kafka_security.allow(self.acls, permissions.USER, *row.rights)
        denials = [
            kafka_security.binding(permissions.USER, permissions.DESCRIBE, name, deny=True) for name in row.hidden
        ]
        for done in self.acls.create_acls(denials).values() if denials else ():
            done.result(60)

    def look(self, topics: tuple[str, ...] = TOPICS, groups: tuple[str, ...] = GROUPS, **more: Any) -> KafkaSnapshot:
        """One poll of a new reader."""
        filters = {"topics": {"allow": topics}, "groups": {"allow": groups}}
        reader = KafkaReader(Kafka(**{**self.lab.kafka.watched(permissions.USER), **filters, "timeout": 30.0, **more}))
        try:
            return reader.poll()
        finally:
            reader.close()


def series(snapshot: KafkaSnapshot) -> Series:
    return {family.name: set(samples) for family, samples in registry.measure(snapshot)[0].items() if samples}


def said(snapshot: KafkaSnapshot) -> Said:
    found: Said = {}
    for run in snapshot.runs:
        for problem in run.problems:
            assert problem.kind == "authorization", problem
            at = (problem.item, problem.detail)
            found[at] = (*found.get(at, ()), run.name)
    return found


@pytest.fixture(scope="module")
def scene(secure_lab: Lab) -> Iterator[Scene]:
    world, keys = LagWorld(secure_lab.kafka), secure_lab.kafka.keys
    assert keys is not None
    acls = secure_lab.kafka.admin_client()
    kafka_security.set_password(acls, permissions.USER, keys.password("kafka", permissions.USER))
    fill(world)
    writer = open_transaction(world)
    share = ShareConsumer({**world.client, "group.id": SHARE})
    share.subscribe([TOPIC])
    share.poll(5.0)
    made = Scene(secure_lab, acls, {})
    made.give(permissions.KAFKA[0])
    sees_all: Callable[[KafkaSnapshot], bool] = lambda seen: said(seen) == {} and whole(seen)  # noqa: E731
    yield replace(made, full=series(wait(made.look, sees_all, 90)))
    writer.abort_transaction(30)
    share.close()
    world.close()


def fill(world: LagWorld) -> None:
    """A topic with lag, with dead letters, one that takes those of a share group."""
    for topic in (TOPIC, DEAD, OPEN):
        world.create(topic)
    world.create(REJECTS, errors_deadletterqueue_group_enable="true")
    world.produce(TOPIC, 3, timestamp=int((time.time() - 3600) * 1000))
    world.produce(DEAD, 2)
    world.commit(GROUP, TOPIC, {0: 1})
    world._groups.append(SHARE)
    world.set_group(SHARE, "errors.deadletterqueue.topic.name", REJECTS)


def open_transaction(world: LagWorld) -> Producer:
    producer = Producer({**world.client, "transactional.id": "permissions"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(OPEN, b"x")
    assert producer.flush(60) == 0
    return producer


def whole(snapshot: KafkaSnapshot) -> bool:
    """Whether all that the scene has is on the page: `full` must hold every family that there can be here."""
    found = series(snapshot)
    sources = {labels[-2] for labels in found.get("mq_dlq_source_info", ())}
    expected = {f.name for s in registry.subjects() if "kafka" in s.systems for f in s.families} - permissions.NOT_HERE
    return expected == found.keys() and any(SHARE in labels for labels in found["mq_dlq_source_info"]) and bool(sources)


def expanded(patterns: tuple[str, ...], families: Series) -> set[str]:
    """The families that these patterns name; each must name some."""
    named = {pattern: {name for name in families if fnmatchcase(name, pattern)} for pattern in patterns}
    assert [] == [pattern for pattern, found in named.items() if not found]
    return set().union(*named.values())


def outcome(scene: Scene, snapshot: KafkaSnapshot) -> tuple[set[str], set[str], Said]:
    """Families of which something is lost, families that are new, and what is said."""
    seen = series(snapshot)
    lost = {name for name, labels in scene.full.items() if labels - seen.get(name, set())}
    return lost, seen.keys() - scene.full.keys(), said(snapshot)


@pytest.mark.parametrize("row", permissions.KAFKA, ids=lambda row: row.name.replace(" ", "_"))
def test_what_is_lost_without_a_right_and_what_is_said(scene: Scene, row: KafkaRow) -> None:
    scene.give(row)
    expected = (expanded(row.lost, scene.full), set(row.gained), permissions.told(row))
    seen = wait_for_outcome(scene, expected)
    assert expected == seen


def wait_for_outcome(scene: Scene, expected: object, seconds: float = 60.0) -> object:
    """The outcome once it is this one: brokers hear of a rule one after the other. At the end, as it is."""
    try:
        return wait(lambda: outcome(scene, scene.look()), lambda seen: seen == expected, seconds)
    except AssertionError:
        return outcome(scene, scene.look())


def test_names_of_the_configuration_are_asked_for_when_no_list_shows_them(scene: Scene) -> None:
    scene.give(permissions.KAFKA[-1])
    wait(lambda: told_by_name(scene), lambda seen: seen == BY_NAME, 60)
    check_names_are_told(scene)
    fails_under("names_are_not_asked_for", check_names_are_told, scene)


BY_NAME = {
    ("topics", "topic a-parking-lot and 2 others"), ("groups", "group a-handler and 2 others"),
    ("brokers", "cluster"), ("log_dirs", "cluster"), ("quorum", "cluster"),
}  # fmt: skip


def told_by_name(scene: Scene) -> set[tuple[str, str]]:
    """Collector and item of all that is said where the configuration names a topic, a group and some more."""
    letters = {"topics": ["a-parking-lot"], "handlers": {DEAD: "a-handler"}}
    snapshot = scene.look((TOPIC,), (GROUP,), dead_letters=letters, expected_groups=["payroll"])
    return {(name, item) for (item, _), names in said(snapshot).items() for name in names}


def check_names_are_told(scene: Scene) -> None:
    """Also a name that does not exist: a broker does not say which it is to one who has no right to know."""
    assert BY_NAME == told_by_name(scene)


@mutation
def names_are_not_asked_for(patch: pytest.MonkeyPatch) -> None:
    """Kafka's lists are believed: what they leave out is not there."""
    patch.setattr(HiddenReader, "_ask_topics", lambda _reader, _names: set())
    patch.setattr(HiddenReader, "_ask_groups", lambda _reader, _names: set())


EMPTY = {"brokers", "groups", "log_dirs", "quorum", "topics"}


def test_an_empty_list_is_no_empty_cluster(scene: Scene) -> None:
    """Without any right a broker answers most questions with "nothing", and with no error."""
    scene.give(permissions.KAFKA[-1])
    wait(lambda: failing(scene), lambda seen: seen == EMPTY, 60)
    check_emptiness_is_told(scene)
    fails_under("allowed_operations_are_not_asked", check_emptiness_is_told, scene)


def failing(scene: Scene) -> set[str]:
    return {run.name for run in scene.look().runs if not run.success}


def check_emptiness_is_told(scene: Scene) -> None:
    """Every collector whose list is short for want of a right fails."""
    assert EMPTY == failing(scene)


@mutation
def allowed_operations_are_not_asked(patch: pytest.MonkeyPatch) -> None:
    """Kafka is not asked what we may do with the cluster."""
    decode = cluster.decode
    patch.setattr(cluster, "decode", lambda *given: replace(decode(*given), may_describe=None, restricted=False))
