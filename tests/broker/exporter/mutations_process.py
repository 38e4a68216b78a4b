"""Ways to break a whole exporter process; see mutated.py. Each breaks one promise of the specification."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from tests.mutations import mutation


@mutation
def scrapes_ask_the_brokers(patch: pytest.MonkeyPatch) -> None:
    """Promise 2: every scrape polls first, as most exporters do."""
    from exporter.poll import Poller

    page = Poller.page

    def asking(poller: Poller, *form: Any) -> list[bytes]:
        poller.poll_once()
        return page(poller, *form)

    patch.setattr(Poller, "page", asking)


@mutation
def old_data_stays(patch: pytest.MonkeyPatch) -> None:
    """Promise 2: the last good page is shown for ever."""
    from exporter import poll

    patch.setattr(poll, "STALE_AFTER", 1_000_000)


@mutation
def one_bad_cluster_hides_all(patch: pytest.MonkeyPatch) -> None:
    """Promise 3: a cluster that fails takes the page of the others with it."""
    from exporter.poll import Poller, Published

    fresh = Poller._fresh

    def all_or_nothing(poller: Poller) -> dict[str, Published]:
        found = fresh(poller)
        good = all(any(run.success for run in one.snapshot.runs) for one in found.values())
        return found if good else {}

    patch.setattr(Poller, "_fresh", all_or_nothing)


@mutation
def what_was_seen_lingers(patch: pytest.MonkeyPatch) -> None:
    """Promise 4: samples that a poll does not bring again keep their last value."""
    from exporter.metrics import registry
    from exporter.metrics.family import Measured

    measure = registry.measure
    kept: Measured = {}

    def remembering(snapshot: Any) -> tuple[Measured, dict[str, str]]:
        measured, faults = measure(snapshot)
        for family, samples in measured.items():
            kept[family] = {**kept.get(family, {}), **samples}
        return {family: dict(kept[family]) for family in measured}, faults

    patch.setattr(registry, "measure", remembering)


@mutation
def topics_are_their_names(patch: pytest.MonkeyPatch) -> None:
    """Promise 4: a topic made anew under the same name is taken for the one before."""
    from exporter.clients.kafka import assembly

    patch.setattr(assembly, "topic_id_text", lambda _: "the same")


@mutation
def labels_as_they_are(patch: pytest.MonkeyPatch) -> None:
    """Promise 5: label values are not escaped."""
    from exporter import page

    patch.setattr(page, "escape", lambda value: value)


@mutation
def clusters_one_after_the_other(patch: pytest.MonkeyPatch) -> None:
    """Promise 5: whole pages of clusters are put together, so that each family is there once for each cluster."""
    from exporter import page, poll

    join = page.join

    def apart(pages: Any, *more: Any) -> Any:
        joined = [join([one], *more) for one in pages]
        pieces = tuple(piece for one in joined for piece in one.pieces)
        whole = page.piece(b"".join(piece.plain for piece in pieces))
        return page.Joined((whole,), page.zlib.crc32(whole.plain), len(whole.plain))

    patch.setattr(poll.page, "join", apart)


@mutation
def no_budget(patch: pytest.MonkeyPatch) -> None:
    """Promise 6: `max_series` is not kept."""
    from exporter import poll
    from exporter.budget import Budgeted

    patch.setattr(poll, "fit", lambda measured, *_: Budgeted(measured, frozenset(), 0))


@mutation
def budget_by_name(patch: pytest.MonkeyPatch) -> None:
    """Promise 6: what stays within the budget is chosen by name and not by lag."""
    from exporter import budget

    patch.setattr(budget, "weights", lambda _: {})


@mutation
def overruns_pass_unnoticed(patch: pytest.MonkeyPatch) -> None:
    """Promise 7: a poll that was left out because the one before still ran is not counted."""
    from exporter.poll import Poller

    patch.setattr(Poller, "_count_overrun", lambda *_: None)


@mutation
def healthy_means_brokers_answer(patch: pytest.MonkeyPatch) -> None:
    """Promise 9: the process is called ill when its brokers are."""
    from exporter.http_response import text
    from exporter.http_site import Site

    def healthy(site: Site, _: Any) -> Any:
        answering = [any(one.endpoints.values()) for one in site.poller.snapshots().values()]
        return text("as the brokers are", HTTPStatus.OK if all(answering) else HTTPStatus.SERVICE_UNAVAILABLE)

    patch.setattr(Site, "healthy", healthy)


@mutation
def ready_from_the_start(patch: pytest.MonkeyPatch) -> None:
    """Promise 9: ready before the first complete page."""
    from exporter.poll import Poller

    patch.setattr(Poller, "ready", lambda _: True)


@mutation
def everybody_comes_in(patch: pytest.MonkeyPatch) -> None:
    """The page is shown without a password."""
    from exporter.http_guard import Guard

    patch.setattr(Guard, "__call__", lambda guard, request: guard.site(request))


@mutation
def logins_are_logged(patch: pytest.MonkeyPatch) -> None:
    """A line for debugging was left in, at the level that everybody logs."""
    from exporter.clients.rabbitmq import http

    read = http.read_password

    def telling(config: Any) -> str:
        logging.getLogger(http.__name__).warning("logging in as %s:%s", config.username, read(config))
        return read(config)

    patch.setattr(http, "read_password", telling)


@mutation
def polls_end_in_faults(patch: pytest.MonkeyPatch) -> None:
    """Each poll ends in an exception that nobody expects; its text shows all of ours that the reader has in hand."""
    from exporter.clients.kafka.reader import KafkaReader
    from exporter.clients.rabbitmq.reader import RabbitReader

    def failing(poll: Any) -> Any:
        def fail(reader: Any) -> None:
            poll(reader)
            raise RuntimeError("; ".join(shown(reader)))

        return fail

    for reader in (KafkaReader, RabbitReader):
        patch.setattr(reader, "poll", failing(reader.poll))


def shown(root: object) -> Iterator[str]:
    """Every object of the exporter's own that can be reached through attributes and containers, as it shows itself."""
    seen: set[int] = set()
    todo: list[tuple[str, object]] = [("reader", root)]
    while todo:
        name, one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            todo += [(str(key), value) for key, value in one.items()]
        elif isinstance(one, (list, tuple, set, frozenset)):
            todo += [(name, value) for value in one]
        elif type(one).__module__.startswith("exporter."):
            yield f"{name}: {one!r}"
            slots = [slot for kind in type(one).__mro__ for slot in getattr(kind, "__slots__", ())]
            todo += [(slot, getattr(one, slot)) for slot in slots if hasattr(one, slot)]
            todo += getattr(one, "__dict__", {}).items()
