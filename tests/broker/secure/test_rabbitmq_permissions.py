"""What each right of RabbitMQ is for: take it away, and see what is lost and what is said (docs/permissions.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pika
import pytest

from drills.lab import Lab
from drills.lab.rabbitmq_security import NOTHING
from exporter.clients.rabbitmq import questions
from exporter.clients.rabbitmq.failures import hidden_vhost
from exporter.clients.rabbitmq.reader import RabbitReader
from exporter.config.model import RabbitMQ
from exporter.metrics import registry
from exporter.model.rabbitmq import RabbitSnapshot
from tests import permissions
from tests.broker.conftest import Management
from tests.broker.kafka.lag_world import wait
from tests.broker.labs import amqp
from tests.mutations import fails_under, mutation
from tests.permissions import USER, VHOST, RabbitRow, Said

Series = dict[str, set[tuple[str, ...]]]  # family -> label values


@dataclass(frozen=True)
class Scene:
    """The cluster with a vhost of its own, and what a monitor sees of it."""

    lab: Lab
    administration: Management
    config: dict[str, Any]
    full: Series

    def give(self, row: RabbitRow) -> None:
        """A user with these rights and no others."""
        management = self.administration
        assert self.lab.rabbitmq.keys is not None
        password = self.lab.rabbitmq.keys.password("rabbitmq", USER)
        management.put(f"users/{USER}", {"password": password, "tags": row.tags})
        for vhost in ("/", VHOST):
            path = f"permissions/{quote(vhost, safe='')}/{USER}"
            if vhost in row.vhosts:
                management.put(path, {"configure": NOTHING, "write": NOTHING, "read": NOTHING})
            elif any(found["vhost"] == vhost for found in management.get(f"users/{USER}/permissions")):
                management.delete(path)

    def look(self, **more: Any) -> RabbitSnapshot:
        """One poll of a new reader."""
        reader = RabbitReader(RabbitMQ(**{**self.config, **more}))
        try:
            return reader.poll()
        finally:
            reader.close()


def series(snapshot: RabbitSnapshot) -> Series:
    return {family.name: set(samples) for family, samples in registry.measure(snapshot)[0].items() if samples}


def said(snapshot: RabbitSnapshot) -> Said:
    found: Said = {}
    for run in snapshot.runs:
        for problem in run.problems:
            at = (problem.item, problem.detail)
            assert problem.kind == "authorization", problem
            found[at] = (*found.get(at, ()), run.name)
    return found


@pytest.fixture(scope="module")
def scene(secure_lab: Lab, administration: Management) -> Iterator[Scene]:
    administration.make_vhost(VHOST)
    fill(secure_lab)
    config = {**secure_lab.rabbitmq.watched(USER), "timeout": 30.0}
    made = Scene(secure_lab, administration, config, {})
    made.give(permissions.RABBITMQ[0])
    seen = wait(made.look, lambda seen: said(seen) == {} and whole(seen), 90)
    yield Scene(secure_lab, administration, config, series(seen))
    administration.delete(f"users/{USER}")
    administration.delete(f"vhosts/{VHOST}")


def fill(lab: Lab) -> None:
    """Queues of every type, one that dead-letters into another."""
    with pika.BlockingConnection(amqp(lab, 1, VHOST)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        letters = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
        channel.queue_declare("work", durable=True, arguments={"x-queue-type": "quorum", **letters})
        channel.queue_declare("dead", durable=True)
        channel.queue_declare("log", durable=True, arguments={"x-queue-type": "stream"})
        for queue in ("work", "dead"):
            channel.basic_publish("", queue, b"x", pika.BasicProperties(delivery_mode=2), mandatory=True)


def whole(snapshot: RabbitSnapshot) -> bool:
    found = series(snapshot)
    queues = {labels[:2] for labels in found.get("mq_rabbitmq_queue_messages_ready", ())}
    counted = (VHOST, "work") in {labels[:2] for labels in found.get("mq_rabbitmq_queue_published_total", ())}
    return {(VHOST, "work"), (VHOST, "dead")} <= queues and counted and "mq_dlq_source_info" in found


def expanded(patterns: tuple[str, ...], families: Series) -> set[str]:
    """The families that these patterns name; each must name some."""
    named = {pattern: {name for name in families if fnmatchcase(name, pattern)} for pattern in patterns}
    assert [] == [pattern for pattern, found in named.items() if not found]
    return set().union(*named.values())


def outcome(scene: Scene, snapshot: RabbitSnapshot) -> tuple[set[str], Said]:
    """Families of which something is lost, and what is said."""
    seen = series(snapshot)
    lost = {name for name, labels in scene.full.items() if labels - seen.get(name, set())}
    return lost, {(item, generic(scene.lab, line)): names for (item, line), names in said(snapshot).items()}


def generic(lab: Lab, line: str) -> str:
    """The line without the ports of this lab."""
    for url in lab.rabbitmq.plain_urls:
        line = line.replace(url, "URL")
    return line


@pytest.mark.parametrize("row", permissions.RABBITMQ, ids=lambda row: row.name.replace(" ", "_"))
def test_what_is_lost_without_a_right_and_what_is_said(scene: Scene, row: RabbitRow) -> None:
    scene.give(row)
    expected = (expanded(row.lost, scene.full), {(one.item, one.line): one.collectors for one in row.said})
    assert expected == outcome(scene, until(scene, lambda seen: outcome(scene, seen) == expected))


def until(scene: Scene, good: Callable[[RabbitSnapshot], bool], seconds: float = 60.0) -> RabbitSnapshot:
    """The first poll that is good; at the end, one as it is."""
    try:
        return wait(scene.look, good, seconds)
    except AssertionError:
        return scene.look()


def test_a_vhost_that_the_configuration_names_is_told_without_the_tag_too(scene: Scene) -> None:
    scene.give(RabbitRow("a monitor of nothing", tags="management", vhosts=("/",)))
    check_vhost_is_told(scene)
    fails_under("vhosts_are_what_is_listed", check_vhost_is_told, scene)


def check_vhost_is_told(scene: Scene) -> None:
    """Where vhosts are named, only those are asked for, and a refusal of one hides no other."""
    queues = next(run for run in scene.look(vhosts={"allow": (VHOST, "/")}).runs if run.name == "queues")
    expected = [(f"vhost {VHOST}", hidden_vhost(VHOST, USER).detail)]
    assert expected == [(problem.item, problem.detail) for problem in queues.problems]


@mutation
def vhosts_are_what_is_listed(patch: pytest.MonkeyPatch) -> None:
    """RabbitMQ's vhosts are those that its lists show."""
    patch.setattr(questions, "may_not_see", lambda _management, _vhost: False)


def test_a_permission_that_is_given_or_taken_is_noticed_at_the_next_poll(scene: Scene) -> None:
    """The topology is read once a minute, but not only then."""
    monitor, blind = RabbitRow("monitor"), RabbitRow("blind", vhosts=("/",))
    scene.give(monitor)
    reader = RabbitReader(RabbitMQ(**scene.config))
    item = f"vhost {VHOST}"

    def hidden() -> list[str]:
        return [problem.item for run in reader.poll().runs for problem in run.problems if run.name == "queues"]

    try:
        assert [] == hidden()
        scene.give(blind)
        assert [item] == wait(hidden, lambda seen: seen == [item])
        scene.give(monitor)
        assert [] == wait(hidden, lambda seen: seen == [])
    finally:
        reader.close()


def test_the_command_line_with_another_cookie_is_a_login_that_was_refused(scene: Scene, tmp_path: Path) -> None:
    scene.give(RabbitRow("monitor"))
    cookie = tmp_path / ".erlang.cookie"
    cookie.write_text("not-the-cookie-of-the-lab")
    cookie.chmod(0o400)
    rabbitmq = scene.lab.rabbitmq
    environment = {**rabbitmq.cli_environment, "HOME": str(tmp_path)}
    snapshot = scene.look(cli=tuple(rabbitmq.cli), cli_env=environment)
    (problem,) = next(run for run in snapshot.runs if run.name == "quorum_ages").problems
    assert "authentication" == problem.kind
    assert permissions.CLI_WRONG["another cookie than the node's"] in problem.detail
    assert "not-the-cookie" not in repr(snapshot)


def test_the_command_line_without_the_right_to_run_it_is_told(scene: Scene, tmp_path: Path) -> None:
    """The wrapper of the packages, whose words these are, refuses everybody but root and rabbitmq."""
    wrapper = tmp_path / "rabbitmqctl"
    wrapper.write_text("#!/bin/sh\necho 'Only root or rabbitmq can run rabbitmqctl' >&2\nexit 1\n")
    wrapper.chmod(0o700)
    snapshot = scene.look(cli=(str(wrapper),))
    (problem,) = next(run for run in snapshot.runs if run.name == "quorum_ages").problems
    assert "authorization" == problem.kind
    assert permissions.CLI_WRONG["no right to run it"] in problem.detail
