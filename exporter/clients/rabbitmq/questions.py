"""What is asked of the management API, and how the answers become the model's. Each raises RequestError."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from exporter.clients.rabbitmq.failures import Failure, RequestError
from exporter.clients.rabbitmq.management import Management, items
from exporter.config.model import Filter
from exporter.model.common import Kind
from exporter.model.rabbitmq import QueueName
from exporter.model.rabbitmq_listing import COLUMNS, Listed, read_queues, text, whole
from exporter.model.rabbitmq_nodes import NODE_COLUMNS, ListedNode, read_nodes
from exporter.model.rabbitmq_topology import Topology, read_topology

PER_ITEM = 0.001  # seconds more that a listing may take for each queue or connection
MOST_PAGES = 4  # of 500: 3.10 sorts all queues for each page, so many pages cost more than the whole
MOST_VHOSTS = 4
MOST_SUSPECTS = 50  # vhosts that are asked about one by one
SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")


@dataclass(frozen=True, slots=True)
class Overview:
    """The cluster as the node that answered sees it. A user without the `monitoring` tag sees no node or listener."""

    node: str
    version: str | None
    cluster_name: str | None
    stats: bool  # whether the broker keeps statistics for the management API
    queues: int
    connections: int
    listeners: tuple[Any, ...]


def overview(management: Management) -> Overview:
    """The first request of a poll."""
    answer = management.get("overview")
    if not isinstance(answer, dict) or text(answer.get("management_version")) is None:
        raise RequestError(Failure(Kind.PROTOCOL, f"{management.url} is not a RabbitMQ management API"))
    totals = answer.get("object_totals")
    totals = totals if isinstance(totals, dict) else {}
    listeners = answer.get("listeners")
    return Overview(
        node=text(answer.get("node")) or "",
        version=text(answer.get("rabbitmq_version")) or text(answer.get("management_version")),
        cluster_name=text(answer.get("cluster_name")),
        stats=answer.get("disable_stats") is not True,
        queues=whole(totals.get("queues")) or 0,
        connections=whole(totals.get("connections")) or 0,
        listeners=tuple(listeners) if isinstance(listeners, list) else (),
    )


def nodes(management: Management) -> dict[str, ListedNode]:
    """Every member, running or not."""
    return read_nodes(items(management.get(f"nodes?columns={','.join(NODE_COLUMNS)}")))


def literal_vhosts(vhosts: Filter) -> tuple[str, ...]:
    """The vhosts that a filter names, when it names a few and nothing else; else none."""
    named = not vhosts.deny and len(vhosts.allow) <= MOST_VHOSTS and not any(map(SPECIAL.search, vhosts.allow))
    return vhosts.allow if named else ()


def vhost_path(vhost: str) -> str:
    """A vhost as a part of a path: `/` becomes `%2F`, once. JSON can name what is no text (half a surrogate pair)."""
    return quote(vhost, safe="", errors="surrogatepass")


def queues(management: Management, found: Overview, vhosts: Filter, names: Filter) -> dict[QueueName, Listed]:
    """One listing, filtered by the broker where it can: by vhost where vhosts are named, by name where few match."""
    answer = _listing(management, found, vhosts, names)
    return {
        name: queue
        for name, queue in read_queues(answer, found.stats).items()
        if vhosts.admits(name.vhost) and names.admits(name.name)
    }


def _listing(management: Management, found: Overview, vhosts: Filter, names: Filter) -> list[Any]:
    columns = f"columns={','.join(COLUMNS)}"
    if names != Filter() and (few := _filtered(management, found, columns, names)) is not None:
        return few
    if named := literal_vhosts(vhosts):
        try:
            return [item for vhost in named for item in _of_vhost(management, found, columns, vhost)]
        except RequestError as error:
            if error.failure.kind is not Kind.PROTOCOL:  # no such vhost, or a proxy that undoes %2F: take the whole
                raise
    return items(management.get(f"queues?{columns}", PER_ITEM * found.queues))


def _of_vhost(management: Management, found: Overview, columns: str, vhost: str) -> list[Any]:
    """The queues of one vhost; none where the user has no permission, which the topology finds and tells."""
    try:
        return items(management.get(f"queues/{vhost_path(vhost)}?{columns}", PER_ITEM * found.queues))
    except RequestError as error:
        if error.failure.kind is Kind.AUTHORIZATION and "no permission" in error.failure.detail:
            return []
        raise


def _filtered(management: Management, found: Overview, columns: str, names: Filter) -> list[Any] | None:
    """Pages of the queues whose names match; None when they are many, or the broker can't read the pattern."""
    deny = "".join(f"(?!(?:{pattern})$)" for pattern in names.deny)
    pattern = quote(f"(?s)^{deny}(?:{'|'.join(f'(?:{pattern})' for pattern in names.allow)})$", safe="")
    collected: list[Any] = []
    for page in range(1, MOST_PAGES + 1):
        path = f"queues?page={page}&page_size=500&name={pattern}&use_regex=true&{columns}"
        try:
            answer = management.get(path, PER_ITEM * found.queues)
        except RequestError as error:
            if error.failure.kind is Kind.PROTOCOL:
                return None
            raise
        collected += items(answer)
        pages = whole(answer.get("page_count")) if isinstance(answer, dict) else None
        if pages is None or page >= pages:
            return collected
        if pages > MOST_PAGES:
            return None
    return collected


def connections(management: Management, found: Overview) -> Counter[tuple[str, str]]:
    """(node, state) -> connections. One without a state yet is not counted."""
    answer = items(management.get("connections?columns=node,state", PER_ITEM * found.connections))
    pairs = [(text(item.get("node")), text(item.get("state"))) for item in answer if isinstance(item, dict)]
    return Counter((node, state) for node, state in pairs if node is not None and state is not None)


@dataclass(frozen=True, slots=True)
class Layout:
    """The topology, every vhost there is, and those of them that the user has no permission on."""

    topology: Topology
    vhosts: tuple[str, ...]
    hidden: tuple[str, ...] = ()


def layout(management: Management, found: Overview, named: Collection[str] = ()) -> Layout:
    """Exchanges, bindings, policies and vhosts, each in one listing. `named`: vhosts that the configuration names."""
    more = PER_ITEM * found.queues
    exchanges = items(management.get("exchanges?columns=vhost,name,type,arguments,policy", more))
    columns = "columns=source,vhost,destination,destination_type,routing_key"
    bindings = items(management.get(f"bindings?{columns}", more))
    policies = items(management.get("policies"))
    operator = items(management.get("operator-policies"))
    names = vhost_names(management)
    topology = read_topology(exchanges, bindings, policies, operator)
    shown = {exchange.vhost for exchange in topology.exchanges}  # every vhost has some, from its first moment
    suspects = sorted({*names, *named} - shown)
    return Layout(topology, names, tuple(name for name in suspects[:MOST_SUSPECTS] if may_not_see(management, name)))


def vhost_names(management: Management) -> tuple[str, ...]:
    """Every vhost, also those that the user has no permission on."""
    vhosts = items(management.get("vhosts?columns=name"))
    return tuple(str(vhost["name"]) for vhost in vhosts if isinstance(vhost, Mapping) and "name" in vhost)


def may_not_see(management: Management, vhost: str) -> bool:
    """Whether the user has no permission on a vhost; not for one that is gone. Raises RequestError."""
    try:
        management.get(f"exchanges/{vhost_path(vhost)}?columns=name")
    except RequestError as error:
        if error.failure.kind is Kind.AUTHORIZATION:
            return True
        if error.failure.kind is not Kind.PROTOCOL:
            raise
        return vhost in vhost_names(management)  # 4.3 answers 404 for what may not be seen as for what is gone
    return False


def stream_consumers(management: Management) -> list[Any]:
    """Consumers that speak the stream protocol; None of AMQP's."""
    return items(management.get("stream/consumers"))
