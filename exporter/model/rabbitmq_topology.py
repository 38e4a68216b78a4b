"""Exchanges, bindings and policies of a cluster, and where a message with known routing keys goes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from exporter.model.rabbitmq import QueueName


class Exchange(NamedTuple):
    """An exchange's identity in its cluster; the name of the default exchange is empty."""

    vhost: str
    name: str


@dataclass(frozen=True, slots=True)
class ExchangeFacts:
    """What routing needs to know of an exchange."""

    type: str
    alternate: str | None = None


class Binding(NamedTuple):
    """One binding, as seen from its source exchange."""

    destination: str
    to_queue: bool
    key: str


@dataclass(frozen=True, slots=True)
class Topology:
    """All that decides where messages go. `queues` are those that exist, watched or not."""

    exchanges: Mapping[Exchange, ExchangeFacts] = field(default_factory=dict)
    bindings: Mapping[Exchange, tuple[Binding, ...]] = field(default_factory=dict)
    queues: frozenset[QueueName] = frozenset()
    policies: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)  # (vhost, name) -> definition
    operator_policies: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reached:
    """Where a message goes. `possible`: only some messages, or nobody can tell from here. `dead_ends` says why not."""

    sure: frozenset[str]
    possible: frozenset[str]
    dead_ends: tuple[str, ...]


def read_topology(
    exchanges: Iterable[Any], bindings: Iterable[Any], policies: Iterable[Any], operator_policies: Iterable[Any]
) -> Topology:
    """From the items of `/api/exchanges`, `/api/bindings`, `/api/policies` and `/api/operator-policies`."""
    rules = read_policies(policies)
    listed = [item for item in bindings if isinstance(item, dict) and {"vhost", "destination"} <= item.keys()]
    return Topology(
        exchanges={
            Exchange(str(item["vhost"]), str(item["name"])): ExchangeFacts(str(item["type"]), _alternate(item, rules))
            for item in exchanges
            if isinstance(item, dict) and {"vhost", "name", "type"} <= item.keys()
        },
        bindings=_by_source(listed),
        queues=frozenset(
            QueueName(str(item["vhost"]), str(item["destination"]))
            for item in listed
            if item.get("destination_type") == "queue"
        ),
        policies=rules,
        operator_policies=read_policies(operator_policies),
    )


def _by_source(bindings: Iterable[Mapping[str, Any]]) -> dict[Exchange, tuple[Binding, ...]]:
    """Without the default exchange's, which are one for each queue and follow from its name."""
    found: dict[Exchange, list[Binding]] = {}
    for item in bindings:
        if item.get("source"):
            binding = Binding(
                str(item["destination"]), item.get("destination_type") == "queue", str(item.get("routing_key", ""))
            )
            found.setdefault(Exchange(str(item["vhost"]), str(item["source"])), []).append(binding)
    return {source: tuple(found[source]) for source in found}


def read_policies(items: Iterable[Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """(vhost, name) -> definition."""
    return {
        (str(item["vhost"]), str(item["name"])): item["definition"]
        for item in items
        if isinstance(item, dict) and {"vhost", "name"} <= item.keys() and isinstance(item.get("definition"), dict)
    }


def _alternate(item: Mapping[str, Any], policies: Mapping[tuple[str, str], Mapping[str, Any]]) -> str | None:
    """The alternate exchange: the argument wins over the policy."""
    arguments = item.get("arguments")
    if isinstance(arguments, dict) and isinstance(arguments.get("alternate-exchange"), str):
        return str(arguments["alternate-exchange"])
    value = policies.get((str(item["vhost"]), str(item.get("policy"))), {}).get("alternate-exchange")
    return value if isinstance(value, str) else None


@lru_cache(maxsize=65536)
def topic_matches(pattern: str, key: str) -> bool:
    """Whether a topic binding takes a routing key: `*` is one word, `#` any number of words."""
    words = key.split(".") if key else []
    reachable = {0}  # how many words may have been taken so far
    for part in pattern.split(".") if pattern else []:
        if part == "#":
            reachable = set(range(min(reachable), len(words) + 1))
        else:
            reachable = {at + 1 for at in reachable if at < len(words) and part in {"*", words[at]}}
        if not reachable:
            return False
    return len(words) in reachable


def takes(type_: str, binding: Binding, keys: Collection[str] | None) -> bool | None:
    """Whether a binding takes a message with one of these keys; None when that can't be known from here.

    `keys` None: the message has keys of its own, which a monitor doesn't know.
    """
    if type_ == "fanout" or (type_ == "topic" and binding.key == "#"):
        return True
    if keys is None or type_ not in {"direct", "topic"}:
        return None  # headers and plugins' types look at the message itself
    if type_ == "direct":
        return binding.key in keys
    return any(topic_matches(binding.key, key) for key in keys)


def route(topology: Topology, start: Exchange, keys: Collection[str] | None) -> Reached:
    """The queues that a message published to an exchange reaches, through exchange bindings and alternate exchanges."""
    sure: set[str] = set()
    possible: set[str] = set()
    dead_ends: list[str] = []
    seen: set[str] = set()
    todo = [(start.name, True)]
    while todo:
        name, certain = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        step = _step(topology, Exchange(start.vhost, name), keys)
        (sure if certain else possible).update(step.sure)
        possible.update(step.possible)
        dead_ends.extend(step.dead_ends)
        todo += [(onward, certain and known) for onward, known in step.onward]
    return Reached(frozenset(sure), frozenset(possible - sure), tuple(dead_ends))


class Step(NamedTuple):
    """One exchange's part of the way: queues reached, exchanges to go on to (and whether surely), dead ends."""

    sure: set[str]
    possible: set[str]
    onward: list[tuple[str, bool]]
    dead_ends: list[str]


def _step(topology: Topology, exchange: Exchange, keys: Collection[str] | None) -> Step:
    if not exchange.name:
        return _default_exchange(topology, exchange.vhost, keys)
    facts = topology.exchanges.get(exchange)
    if facts is None:
        return Step(set(), set(), [], [f"exchange {exchange.name} does not exist"])
    hits = [
        (binding, taken)
        for binding in topology.bindings.get(exchange, ())
        if (taken := takes(facts.type, binding, keys)) is not False
    ]
    if not hits:
        if facts.alternate is not None:
            return Step(set(), set(), [(facts.alternate, True)], [])
        return Step(set(), set(), [], [f"exchange {exchange.name} ({facts.type}) has no binding that matches"])
    return Step(
        {binding.destination for binding, taken in hits if binding.to_queue and taken},
        {binding.destination for binding, taken in hits if binding.to_queue and taken is None},
        [(binding.destination, taken is True) for binding, taken in hits if not binding.to_queue],
        [],
    )


def _default_exchange(topology: Topology, vhost: str, keys: Collection[str] | None) -> Step:
    """The default exchange routes to the queue of the key's name."""
    if keys is None:
        return Step(set(), set(), [], ["the message's own key names the queue"])
    hit = {key for key in keys if QueueName(vhost, key) in topology.queues}
    return Step(hit, set(), [], [] if hit else [f"no queue is called {' or '.join(sorted(keys))}"])
