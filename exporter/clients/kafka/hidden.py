"""Topics and groups that are there, or were named in the configuration, and that the user may not see.

The lists leave them out without a word. Asked by name, a broker answers "not authorized", also for a name that does not
exist; so only names are asked that the configuration has, or (with Describe on the cluster) that log directories show.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import partial

from exporter.clients.kafka import codes, rights
from exporter.clients.kafka.brokers import Brokers, Failure, Request
from exporter.clients.kafka.messages import group_describe, metadata
from exporter.clients.kafka.recorder import Kept, Recorder
from exporter.clients.kafka.rights import Right
from exporter.clients.kafka.wire import MalformedError, printable
from exporter.config.model import Filter, Kafka
from exporter.model.common import Kind

NAMES_A_REQUEST = 1000
SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
METADATA_LOG = "__cluster_metadata"  # the quorum's own; no topic that anybody may describe
Ask = Callable[[list[str]], "set[str] | Failure"]


def literal(names: Filter) -> set[str]:
    """The names that a filter allows one by one; an escaped dot is a dot."""
    plain = {pattern: re.sub(r"\\([.\-_])", r"\1", pattern) for pattern in names.allow}
    bare = {pattern: re.sub(r"\\[.\-_]", "", pattern) for pattern in names.allow}
    return {plain[pattern] for pattern in names.allow if not SPECIAL.search(bare[pattern])}


def configured_topics(config: Kafka) -> set[str]:
    """The topics that the configuration names."""
    given = config.dead_letters
    return literal(config.topics) | {*given.topics, *given.handlers, *given.sources}


def configured_groups(config: Kafka) -> set[str]:
    """The groups that the configuration names."""
    return literal(config.groups) | {*config.expected_groups, *config.dead_letters.handlers.values()}


class HiddenReader:
    """Asks about suspects by name; an answer holds for one slow interval, or until there are other suspects."""

    def __init__(self, brokers: Brokers, config: Kafka) -> None:
        self._brokers = brokers
        self._config = config
        self._known: dict[str, Kept[frozenset[str]]] = {
            kind: Kept(config.slow_interval, config.interval) for kind in ("topic", "group")
        }

    def topics(self, seen: Collection[str], stored: Collection[str], run: Recorder) -> None:
        """Tell which topics are hidden. `seen`: the visible ones; `stored`: those in log directories."""
        admitted = {name for name in stored if self._config.topics.admits(name)}
        suspects = (configured_topics(self._config) | admitted) - set(seen) - {METADATA_LOG}
        self._tell("topic", suspects, self._ask_topics, rights.DESCRIBE_TOPIC, run)

    def groups(self, seen: Collection[str], run: Recorder) -> bool:
        """Tell which configured groups are hidden. True when every admitted group is named, so that no other can be."""
        named = configured_groups(self._config)
        self._tell("group", named - set(seen), self._ask_groups, rights.DESCRIBE_GROUP, run)
        return len(literal(self._config.groups)) == len(set(self._config.groups.allow))

    def _tell(self, kind: str, suspects: set[str], ask: Ask, right: Right, run: Recorder) -> None:
        kept, key = self._known[kind], frozenset(suspects)
        if not suspects:
            return
        hidden = kept.get(key)
        if hidden is None or kept.due():
            kept.keep_only({key})
            answer = self._ask_all(sorted(suspects), ask)
            if isinstance(answer, Failure):
                run.problem(f"{kind}s by name", answer)
                return
            hidden = frozenset(answer)
            kept.put(key, hidden)
        names = [printable(name) for name in sorted(hidden)]
        if names:
            run.problem(rights.item(kind, names), right.failure(names))
            run.skip(f"hidden_{kind}", len(names))

    def _ask_all(self, names: list[str], ask: Ask) -> set[str] | Failure:
        hidden: set[str] = set()
        for batch in _batches(names):
            answer = ask(batch)
            if isinstance(answer, Failure):
                return answer
            hidden |= answer
        return hidden

    def _ask_topics(self, names: list[str]) -> set[str] | Failure:
        build = partial(metadata.request_named, names=names)
        answer = self._brokers.ask_first(metadata.API_KEY, metadata.LOWEST, metadata.HIGHEST, build)
        if isinstance(answer, Failure):
            return answer
        try:
            rows = metadata.decode(answer[1], answer[0]).topics
        except MalformedError as error:
            return Failure(Kind.PROTOCOL, f"the answer can't be read: {error}")
        return {row.name for row in rows if row.error == codes.TOPIC_DENIED}

    def _ask_groups(self, names: list[str]) -> set[str] | Failure:
        """Of whichever broker: it looks at the right before it looks whether it coordinates the group."""
        kind = group_describe.CLASSIC

        def build(version: int) -> Request:
            return group_describe.request(kind, version, names)

        answer = self._brokers.ask_first(kind, *group_describe.VERSIONS[kind], build)
        if isinstance(answer, Failure):
            return answer
        try:
            rows = group_describe.decode(kind, answer[1], answer[0])
        except MalformedError as error:
            return Failure(Kind.PROTOCOL, f"the answer can't be read: {error}")
        return {row.group for row in rows if row.error == codes.GROUP_DENIED}


def _batches(names: list[str]) -> Iterator[list[str]]:
    for at in range(0, len(names), NAMES_A_REQUEST):
        yield names[at : at + NAMES_A_REQUEST]
