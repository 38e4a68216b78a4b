"""Named ways to break the product on purpose, so that each promise's test is seen to fail.

A test states its claim in a `check` function, shows that the check holds, and that it fails under the mutation:

    def test_commits_are_read_before_ends(lab):
        check(lab)
        fails_under("ends_before_commits", check, lab)

`pytest --mutate NAME` runs any test with that mutation in force, for a person who wants to see it fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import pytest

from exporter.model.estimate import STAMP, Bracket
from exporter.model.record_time import RecordTime

Mutation = Callable[[], AbstractContextManager[None]]
MUTATIONS: dict[str, Mutation] = {}


def mutation(change: Callable[[pytest.MonkeyPatch], None]) -> Callable[[pytest.MonkeyPatch], None]:
    """Register a function that breaks something through a MonkeyPatch; its name is the switch."""

    @contextmanager
    def in_force() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            change(patch)
            yield

    if change.__name__ in MUTATIONS:
        raise ValueError(f"two mutations are called {change.__name__}")
    MUTATIONS[change.__name__] = in_force
    return change


def fails_under(name: str, check: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    """Run the check under a mutation; it must object. A check that still passes proves nothing."""
    with MUTATIONS[name](), pytest.raises(AssertionError):
        check(*args, **kwargs)


@mutation
def forget_bound(patch: pytest.MonkeyPatch) -> None:
    """An estimate of an age that claims to be nearly exact."""
    real = Bracket.time

    def time(bracket: Bracket) -> RecordTime | None:
        estimate = real(bracket)
        return None if estimate is None else RecordTime(estimate.timestamp, STAMP)

    patch.setattr(Bracket, "time", time)


@mutation
def missing_as_zero(patch: pytest.MonkeyPatch) -> None:
    """A number that RabbitMQ's management API leaves out is taken for 0."""
    from exporter.model import rabbitmq_listing

    patch.setattr(rabbitmq_listing, "whole", lambda value: value if isinstance(value, int) else 0)


@mutation
def labels_taken_as_escaped(patch: pytest.MonkeyPatch) -> None:
    """RabbitMQ's Prometheus pages are read by the rules of the format, which 3.10 does not keep."""
    from exporter.model import rabbitmq_node_pages

    patch.setattr(rabbitmq_node_pages, "as_it_is", rabbitmq_node_pages.escaped)


@mutation
def follow_only_arguments(patch: pytest.MonkeyPatch) -> None:
    """Dead-letter exchanges set by policy are not seen."""
    from exporter.model import rabbitmq_dead_letters

    patch.setattr(rabbitmq_dead_letters, "_first", lambda arguments, _policy, name: arguments.get(f"x-{name}"))


@mutation
def statistics_of_one_moment(patch: pytest.MonkeyPatch) -> None:
    """RabbitMQ's depths and counters are compared as if they were all of the same instant."""
    from exporter.model import rabbitmq_age

    patch.setattr(rabbitmq_age, "SKEW", 0.0)


@mutation
def counters_as_they_are(patch: pytest.MonkeyPatch) -> None:
    """A counter of RabbitMQ that falls with a node's statistics falls on the page, too."""
    from exporter.model import rabbitmq_counters

    patch.setattr(rabbitmq_counters, "_grow", lambda new, _read, counted: counted if new is None else new)


@mutation
def double_encode_vhost(patch: pytest.MonkeyPatch) -> None:
    """RabbitMQ's vhost `/` is asked for as `%252F`."""
    from urllib.parse import quote

    from exporter.clients.rabbitmq import questions

    patch.setattr(questions, "vhost_path", lambda vhost: quote(quote(vhost, safe=""), safe=""))


@mutation
def peek_by_get(patch: pytest.MonkeyPatch) -> None:
    """RabbitMQ's oldest message is looked at by taking it and putting it back, which counts as a delivery."""
    import requests

    from exporter.clients.rabbitmq.http import read_password
    from exporter.clients.rabbitmq.poll import Poll

    read = Poll.snapshot

    def taking(poll: Poll) -> Any:
        snapshot = read(poll)
        for queue in snapshot.queues:
            vhost, name = (part.replace("/", "%2F") for part in queue.id)
            body = {"count": 1, "ackmode": "ack_requeue_true", "encoding": "auto"}
            url = f"{poll.config.urls[0]}/api/queues/{vhost}/{name}/get"
            login, trusted = (poll.config.username, read_password(poll.config)), str(poll.config.ca_file or True)
            with requests.Session() as session:
                session.trust_env = False
                session.post(url, json=body, auth=login, verify=trusted, timeout=30).raise_for_status()
        return snapshot

    patch.setattr(Poll, "snapshot", taking)


@mutation
def dead_nodes_missing(patch: pytest.MonkeyPatch) -> None:
    """A RabbitMQ node that is down is left out."""
    from exporter.clients.rabbitmq import poll

    listed = poll.members
    patch.setattr(poll, "members", lambda *facts: tuple(node for node in listed(*facts) if node.up))


@mutation
def believe_the_leader(patch: pytest.MonkeyPatch) -> None:
    """A quorum queue of RabbitMQ is available when a node that runs calls itself its leader, as in a minority."""
    from exporter.model import rabbitmq_queues

    told = rabbitmq_queues._replicas

    def believing(listed: Any, facts: Any) -> Any:
        found = told(listed, facts)
        return None if found is None else replace(found, leader_available=listed.leader in facts.running)

    patch.setattr(rabbitmq_queues, "_replicas", believing)


@mutation
def management_alone(patch: pytest.MonkeyPatch) -> None:
    """RabbitMQ's nodes are not asked themselves."""
    from exporter.clients.rabbitmq.node_endpoints import Collected, NodeEndpoints

    patch.setattr(NodeEndpoints, "collect", lambda _endpoints: Collected())


@mutation
def secrets_stay(patch: pytest.MonkeyPatch) -> None:
    """The evidence of a drill is written as it comes."""
    from drills.evidence.secrets import Redaction

    patch.setattr(Redaction, "text", lambda _redaction, text: text)
    patch.setattr(Redaction, "json", lambda _redaction, value: value)


@mutation
def names_are_believed(patch: pytest.MonkeyPatch) -> None:
    """Names from brokers go into a drill's report as they are."""
    from markupsafe import Markup

    from drills.evidence.page import document

    template = document.template()
    patch.setattr(template.environment, "finalize", lambda value: Markup(value) if type(value) is str else value)
    believing = template.environment.from_string(_source_of(template))
    patch.setattr(document, "template", lambda: believing)


def _source_of(template: Any) -> str:
    source: str = template.environment.loader.get_source(template.environment, template.name)[0]
    return source


@mutation
def changes_noted_after_they_are_made(patch: pytest.MonkeyPatch) -> None:
    """A drill's change is in the ledger only once it is made."""
    from drills.engine.undo import Changes

    def make(changes: Any, case: str, change: Any) -> int:
        change = change.prepared(changes._target)
        change.make(changes._target)
        number: int = changes._ledger.plan_change(case, change.kind(), change.arguments(), change.is_fault)
        changes.standing[number] = (case, change)
        return number

    patch.setattr(Changes, "make", make)


@mutation
def undo_taken_on_trust(patch: pytest.MonkeyPatch) -> None:
    """A drill does not look whether what it undid is undone."""
    from drills.engine.undo import Changes

    patch.setattr(Changes, "_verify", lambda *_: None)


@mutation
def checker_not_heeded(patch: pytest.MonkeyPatch) -> None:
    """A drill passes whatever its checker of the checker says."""
    from drills.engine import judging

    patch.setattr(judging, "checker_lack", lambda _: None)


@mutation
def rollback_only_when_all_went_well(patch: pytest.MonkeyPatch) -> None:
    """A drill that was aborted leaves its changes."""
    from drills.engine.undo import Changes

    patch.setattr(Changes, "undo_all", lambda *_: [])
