"""What goes wrong on the way to a real cluster, by kind, with a line that says what to do and no secret in it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from drills.lab import Lab
from exporter.clients.rabbitmq.reader import RabbitReader
from exporter.model.common import Kind, Problem
from exporter.model.rabbitmq import RabbitSnapshot
from tests.broker.conftest import Management
from tests.broker.rabbitmq.conftest import Readers, depth, path_of, plain_urls, success, until
from tests.versions import has

pytestmark = pytest.mark.plain  # they are about guest, and about ports without TLS
SECRET = "hunter2-do-not-print"


def overview_problem(snapshot: RabbitSnapshot) -> Problem:
    (problem,) = next(run for run in snapshot.runs if run.name == "overview").problems
    return problem


def first_problem(readers: Readers, **settings: object) -> tuple[Kind, str]:
    snapshot = readers(**settings).poll()
    assert not any(good for name, good in success(snapshot).items() if name != "streams")
    problem = overview_problem(snapshot)
    assert SECRET not in repr(snapshot)
    return problem.kind, problem.detail


def url(lab: Lab, port: int) -> dict[str, tuple[str, ...]]:
    return {"urls": (f"http://127.0.0.1:{port}",)}


def test_a_wrong_password(readers: Readers, lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    kind, detail = first_problem(readers, url_password=SECRET)
    assert Kind.AUTHENTICATION is kind
    said = "Not_Authorized" if has("login_refused_as_not_authorized") else "Login failed"
    advice = "wrong user or password: check `username` and `password`"
    assert f"{plain_urls(lab)[0]}: login refused ({said}): {advice}" == detail
    assert SECRET not in caplog.text


def test_a_password_file_is_read_at_each_poll(readers: Readers, tmp_path: Path) -> None:
    file = tmp_path / "password"
    reader = readers(password={"file": str(file)})
    assert (Kind.AUTHENTICATION, f"the password file {file} cannot be read: No such file or directory") == (
        overview_problem(reader.poll()).kind,
        overview_problem(reader.poll()).detail,
    )
    file.write_text(f"{SECRET}\n")
    assert "wrong user or password" in overview_problem(reader.poll()).detail
    file.write_text("guest\n")
    assert all(success(reader.poll()).values())


def test_nothing_listens(readers: Readers, lab: Lab) -> None:
    kind, detail = first_problem(readers, **url(lab, 1))
    assert (Kind.UNREACHABLE, True) == (kind, "connection refused" in detail)


def test_a_name_that_does_not_resolve(readers: Readers) -> None:
    kind, detail = first_problem(readers, urls=("http://no-such-host.invalid:15672",))
    assert (Kind.UNREACHABLE, True) == (kind, "the name no-such-host.invalid cannot be resolved" in detail)


def test_the_amqp_port(readers: Readers, lab: Lab) -> None:
    """The broker resets the connection, so that its greeting is mostly lost on the way."""
    kind, detail = first_problem(readers, **url(lab, lab.ports.amqp(1)))
    assert kind in {Kind.PROTOCOL, Kind.UNREACHABLE}
    assert "the AMQP port" in detail


def test_the_metrics_port(readers: Readers, lab: Lab) -> None:
    kind, detail = first_problem(readers, **url(lab, lab.ports.rabbitmq_metrics(1)))
    assert (Kind.PROTOCOL, True) == (kind, "not a management API" in detail), detail


def test_https_where_there_is_no_tls(readers: Readers, lab: Lab) -> None:
    kind, detail = first_problem(readers, urls=(f"https://127.0.0.1:{lab.ports.management(1)}",))
    assert (Kind.TLS, True) == (kind, "does not speak TLS" in detail), detail


@pytest.fixture
def user(management: Management) -> Iterator[str]:
    """The name of a user to be made by the test, with the password of this module; deleted afterwards."""
    yield "someone"
    management.delete("users/someone")


def make(management: Management, name: str, tags: str) -> dict[str, str]:
    management.put(f"users/{name}", {"password": SECRET, "tags": tags})
    return {"username": name, "url_password": SECRET}


def test_a_user_without_a_tag(readers: Readers, management: Management, user: str) -> None:
    kind, detail = first_problem(readers, **make(management, user, ""))
    assert (Kind.AUTHORIZATION, True) == (kind, "the user lacks the `monitoring` tag" in detail), detail


def test_a_user_with_the_management_tag_alone_sees_no_nodes(
    readers: Readers, management: Management, user: str
) -> None:
    snapshot = readers(**make(management, user, "management")).poll()
    (problem,) = next(run for run in snapshot.runs if run.name == "nodes").problems
    assert (Kind.AUTHORIZATION, True) == (problem.kind, "lacks the `monitoring` tag" in problem.detail)


def test_vhosts_that_the_user_may_not_see_are_no_empty_cluster(
    readers: Readers, management: Management, user: str, vhost_name: str
) -> None:
    """The API answers 200 with an empty list."""
    management.put(f"queues/{path_of(vhost_name)}/q", {"durable": True, "arguments": {}})
    reader = readers(vhosts={"allow": [f"{vhost_name}.*"]}, **make(management, user, "monitoring"))
    until(reader, "a failure", lambda seen: not success(seen)["queues"])
    (problem,) = next(run for run in reader.poll().runs if run.name == "queues").problems
    assert (Kind.AUTHORIZATION, f"vhost {vhost_name}") == (problem.kind, problem.item)
    management.put(f"permissions/{path_of(vhost_name)}/{user}", {"configure": "^$", "write": "^$", "read": "^$"})
    until(reader, "the queue", lambda seen: depth(seen, vhost_name, "q") == (0, 0))
    assert all(success(reader.poll()).values())


def test_a_cli_that_cannot_be_run_or_fails(readers: Readers) -> None:
    for command, detail in (
        ("/no/such/rabbitmqctl", "/no/such/rabbitmqctl cannot be run: No such file or directory"),
        ("/bin/false", "/bin/false ended with 1: no reason given"),
    ):
        snapshot = readers(cli=(command,)).poll()
        (problem,) = next(run for run in snapshot.runs if run.name == "quorum_ages").problems
        assert (Kind.UNREACHABLE, detail) == (problem.kind, problem.detail)
        assert {"quorum_ages"} >= {name for name, good in success(snapshot).items() if not good} - {"streams"}


def test_no_secret_is_in_what_a_reader_shows(readers: Readers) -> None:
    reader: RabbitReader = readers(url_password=SECRET)
    snapshot = reader.poll()
    shown = [repr(snapshot), repr(reader.config), json.dumps(reader.state()), repr(vars(reader))]
    assert [] == [text for text in shown if SECRET in text]
    assert all("@" not in endpoint for endpoint in snapshot.endpoints)
