"""Ways to dead-letter a message in RabbitMQ, each with where the broker puts it. Run for real in tests/broker.

Every set-up has a queue `src` in which one message is rejected. `expected` is what discovery says: (queue, via);
`arrives` is where the message is found, where that is another thing: some targets are only possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TOPIC, DIRECT, FANOUT, HEADERS = "topic", "direct", "fanout", "headers"


@dataclass(frozen=True)
class Policy:
    """One policy, for the queues or exchanges whose whole name its pattern matches."""

    pattern: str
    definition: Mapping[str, Any]
    applies_to: str = "queues"
    priority: int = 0


@dataclass(frozen=True)
class Message:
    """How the message is published that will be rejected."""

    exchange: str = ""
    key: str = "src"
    headers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SetUp:
    """One arrangement of queues, exchanges, bindings and policies."""

    name: str
    expected: set[tuple[str, str]]
    queues: Sequence[Mapping[str, Any]] = ()
    exchanges: Sequence[tuple[str, str, Mapping[str, Any]]] = ()
    bound: Sequence[tuple[str, str, str]] = ()  # source, destination, key; a destination `>x` is the exchange x
    headers_bound: Sequence[tuple[str, str, Mapping[str, Any]]] = ()
    policies_given: Mapping[str, Policy] = field(default_factory=dict)
    message: Message = Message()
    arrives: set[str] | None = None
    policies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # definitions, when no pattern matters

    def __post_init__(self) -> None:
        given = {name: policy.definition for name, policy in self.policies_given.items()}
        object.__setattr__(self, "policies", {**self.policies, **given})

    @property
    def bindings(self) -> list[dict[str, Any]]:
        """As `/api/bindings` lists them."""
        plain = [(source, destination, key, {}) for source, destination, key in self.bound]
        by_header = [(source, destination, "", arguments) for source, destination, arguments in self.headers_bound]
        return [
            {
                "source": source, "destination": destination.removeprefix(">"), "routing_key": key,
                "destination_type": "exchange" if destination.startswith(">") else "queue", "arguments": arguments,
            }
            for source, destination, key, arguments in [*plain, *by_header]
        ]  # fmt: skip

    def listed(self) -> Iterator[dict[str, Any]]:
        """The queues as `/api/queues` lists them, with the name of the policy in force."""
        for queue in self.queues:
            yield {"policy": self.in_force(str(queue["name"]), "queues"), **queue}

    def listed_exchanges(self) -> Iterator[dict[str, Any]]:
        """The exchanges as `/api/exchanges` lists them, the default one among them."""
        for name, kind, arguments in [("", DIRECT, {}), *self.exchanges]:
            policy = self.in_force(name, "exchanges")
            yield {"name": name, "type": kind, "arguments": arguments, "policy": policy}

    def in_force(self, name: str, what: str) -> str | None:
        """The one policy that applies."""
        fits = [
            (policy.priority, label)
            for label, policy in self.policies_given.items()
            if policy.applies_to == what and re.search(policy.pattern, name)
        ]
        return max(fits)[1] if fits else None

    @property
    def found_in(self) -> set[str]:
        """The queues in which the message is found after it was rejected."""
        sure = {queue for queue, via in self.expected if queue and via in {"argument", "policy"}}
        return sure if self.arrives is None else self.arrives


def queue(name: str, quorum: bool = False, **settings: Any) -> dict[str, Any]:
    """A durable queue. Settings are arguments without `x-` and with `_` for `-`."""
    kind = "quorum" if quorum else "classic"
    arguments = {f"x-{key.replace('_', '-')}": value for key, value in settings.items()}
    return {"name": name, "type": kind, "arguments": {"x-queue-type": kind, **arguments}}


def source(dlx: str | None = None, key: str | None = None, quorum: bool = False, **more: Any) -> dict[str, Any]:
    """The queue `src`."""
    settings = {"dead_letter_exchange": dlx, "dead_letter_routing_key": key, **more}
    return queue("src", quorum, **{name: value for name, value in settings.items() if value is not None})


ONCE = {"dead_letter_strategy": "at-least-once", "overflow": "reject-publish"}
DEAD = (queue("d1"), queue("d2"), queue("d3"))
DLX_KEY = {"dead-letter-exchange": "dlx", "dead-letter-routing-key": "k"}

SET_UPS = (
    SetUp(
        "policy topic, quorum", {("d1", "policy"), ("d2", "policy")}, [source(quorum=True), *DEAD],
        [("dlx", TOPIC, {})], [("dlx", "d1", "orders.*"), ("dlx", "d2", "orders.#"), ("dlx", "d3", "other.#")],
        policies_given={
            "p": Policy("^src$", {"dead-letter-exchange": "dlx", "dead-letter-routing-key": "orders.dead"})
        },
    ),
    SetUp("argument, default exchange", {("d1", "argument")}, [source("", "d1"), *DEAD]),
    SetUp(
        "policy, default exchange", {("d1", "policy")}, [source(), *DEAD],
        policies_given={"p": Policy("^src$", {"dead-letter-exchange": "", "dead-letter-routing-key": "d1"})},
    ),
    SetUp("default exchange, key of no queue", {("", "dropped")}, [source("", "nobody"), *DEAD]),
    SetUp("default exchange, no key", {("src", "argument")}, [source(""), *DEAD]),
    SetUp("missing exchange, classic", {("", "dropped")}, [source("missing", "k"), *DEAD]),
    SetUp("missing exchange, quorum", {("", "dropped")}, [source("missing", "k", quorum=True), *DEAD]),
    SetUp(
        "missing exchange, at least once", {("", "held")}, [source("missing", "k", quorum=True, **ONCE), *DEAD],
        arrives={"src"},
    ),
    SetUp("unbound exchange, at least once", {("", "held")}, [source("dlx", "k", quorum=True, **ONCE), *DEAD],
          [("dlx", DIRECT, {})], arrives={"src"}),
    SetUp(
        "missing exchange, at least once without reject-publish", {("", "dropped")},
        [source("missing", "k", quorum=True, dead_letter_strategy="at-least-once"), *DEAD],
    ),
    SetUp("bound exchange, at least once", {("d1", "argument")}, [source("dlx", "k", quorum=True, **ONCE), *DEAD],
          [("dlx", DIRECT, {})], [("dlx", "d1", "k")]),
    SetUp("no binding matches", {("", "dropped")}, [source("dlx", "k"), *DEAD],
          [("dlx", DIRECT, {})], [("dlx", "d1", "other")]),
    SetUp("alternate exchange by argument", {("d2", "argument")}, [source("dlx", "k"), *DEAD],
          [("dlx", DIRECT, {"alternate-exchange": "ae"}), ("ae", FANOUT, {})],
          [("dlx", "d1", "other"), ("ae", "d2", "")]),
    SetUp("alternate exchange by policy", {("d2", "argument")}, [source("dlx", "k"), *DEAD],
          [("dlx", DIRECT, {}), ("ae", FANOUT, {})], [("dlx", "d1", "other"), ("ae", "d2", "")],
          policies_given={"p": Policy("^dlx$", {"alternate-exchange": "ae"}, "exchanges")}),
    SetUp("alternate exchange by argument and policy", {("d2", "argument")}, [source("dlx", "k"), *DEAD],
          [("dlx", DIRECT, {"alternate-exchange": "ae"}), ("ae", FANOUT, {}), ("ae2", FANOUT, {})],
          [("ae", "d2", ""), ("ae2", "d3", "")],
          policies_given={"p": Policy("^dlx$", {"alternate-exchange": "ae2"}, "exchanges")}),
    SetUp("exchange to exchange", {("d1", "argument")}, [source("dlx", "orders.dead"), *DEAD],
          [("dlx", TOPIC, {}), ("fan", FANOUT, {})], [("dlx", ">fan", "orders.*"), ("fan", "d1", "")]),
    SetUp("a matched exchange binding counts as a match", {("", "dropped")}, [source("dlx", "k"), *DEAD],
          [("dlx", FANOUT, {"alternate-exchange": "ae"}), ("onward", DIRECT, {}), ("ae", FANOUT, {})],
          [("dlx", ">onward", ""), ("onward", "d1", "other"), ("ae", "d2", "")]),
    SetUp("argument's exchange with the policy's key", {("d1", "argument")}, [source("dlx"), *DEAD],
          [("dlx", DIRECT, {}), ("dlx2", FANOUT, {})],
          [("dlx", "d1", "by-policy"), ("dlx", "d2", "src"), ("dlx2", "d3", "")],
          policies_given={
              "p": Policy("^src$", {"dead-letter-exchange": "dlx2", "dead-letter-routing-key": "by-policy"})
          }),
    SetUp("no key: the message's own key and CC", {("d1", "argument"), ("d2", "argument")}, [source("dlx"), *DEAD],
          [("in", DIRECT, {}), ("dlx", DIRECT, {})],
          [("in", "src", "k1"), ("in", "src", "k2"), ("dlx", "d1", "k1"), ("dlx", "d2", "k2"), ("dlx", "d3", "k3")],
          message=Message("in", "k1", {"CC": ["k2"]})),
    SetUp("no key: the queue's name by the default exchange", {("d1", "argument")}, [source("dlx"), *DEAD],
          [("dlx", DIRECT, {})], [("dlx", "d1", "src"), ("dlx", "d2", "other")]),
    SetUp("no key: any key may come", {("d1", "possible"), ("d2", "possible")}, [source("dlx"), *DEAD],
          [("in", TOPIC, {}), ("dlx", DIRECT, {})],
          [("in", "src", "orders.*"), ("dlx", "d1", "orders.a"), ("dlx", "d2", "orders.b")],
          message=Message("in", "orders.b"), arrives={"d2"}),
    SetUp("no key: a topic that takes all", {("d1", "argument")}, [source("dlx"), *DEAD],
          [("in", TOPIC, {}), ("dlx", TOPIC, {})], [("in", "src", "orders.*"), ("dlx", "d1", "#")],
          message=Message("in", "orders.b")),
    SetUp("headers exchange", {("d1", "possible"), ("d2", "possible")}, [source("dlx", "k"), *DEAD],
          [("dlx", HEADERS, {})],
          headers_bound=[("dlx", "d1", {"x-match": "all", "colour": "red"}),
                         ("dlx", "d2", {"x-match": "all", "colour": "blue"})],
          message=Message(headers={"colour": "red"}), arrives={"d1"}),
    SetUp("a policy of higher priority without a dead-letter exchange", set(), [source(), *DEAD],
          [("dlx", DIRECT, {})], [("dlx", "d1", "k")],
          policies_given={
              "low": Policy("^src$", DLX_KEY), "high": Policy("^src$", {"max-length": 1000}, priority=9)
          }),
    SetUp("two queues of one key", {("d1", "argument"), ("d2", "argument")}, [source("dlx", "k"), *DEAD],
          [("dlx", DIRECT, {})], [("dlx", "d1", "k"), ("dlx", "d2", "k"), ("dlx", "d3", "other")]),
    SetUp("fanout by policy", {("d1", "policy"), ("d2", "policy")}, [source(), *DEAD],
          [("dlx", FANOUT, {})], [("dlx", "d1", ""), ("dlx", "d2", "ignored")],
          policies_given={"p": Policy("^src$", {"dead-letter-exchange": "dlx"})}),
)  # fmt: skip
