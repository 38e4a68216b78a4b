"""Configurations of topics and share groups, at a slow pace; new topics are asked about at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice

from exporter.clients.kafka import codes, rights
from exporter.clients.kafka.brokers import Brokers, Failure, Request
from exporter.clients.kafka.messages import configs
from exporter.clients.kafka.messages.metadata import TopicRow
from exporter.clients.kafka.recorder import Kept, Recorder
from exporter.clients.kafka.wire import MalformedError, printable
from exporter.model.common import CollectorRun
from exporter.model.kafka import TopicSettings

TOPIC_KEYS = (
    "min.insync.replicas",
    "cleanup.policy",
    "message.timestamp.type",
    "retention.ms",
    "remote.storage.enable",
    "errors.deadletterqueue.group.enable",
)
GROUP_KEYS = ("errors.deadletterqueue.topic.name",)
NAMES_A_REQUEST = 500
NAME = "topic_configs"
DENIALS = {
    configs.TOPIC: ("topic", codes.TOPIC_DENIED, rights.DESCRIBE_TOPIC_CONFIGS),
    configs.GROUP: ("group", codes.GROUP_DENIED, rights.DESCRIBE_GROUP_CONFIGS),
}


class SettingsReader:
    """Keeps settings by topic id, so that a topic made anew is asked about anew."""

    def __init__(self, brokers: Brokers, interval: float, poll_interval: float) -> None:
        self._brokers = brokers
        self._interval = interval
        self._topics: Kept[TopicSettings] = Kept(interval, poll_interval)
        self._groups: Kept[str] = Kept(interval, poll_interval)
        self._run: CollectorRun | None = None

    def read(self, rows: Mapping[str, TopicRow], share_groups: Iterable[str]) -> CollectorRun | None:
        """Bring the settings up to date; the account of the last time anything was asked."""
        due = self._topics.due()
        keys = {name: (name, row.topic_id) for name, row in rows.items()}
        wanted = [name for name, key in keys.items() if due or self._topics.get(key) is None]
        self._topics.keep_only(set(keys.values()))
        self._groups.keep_only(set(share_groups))
        if not due and (not wanted or (self._run is not None and not self._run.success)):
            return self._run
        with Recorder(NAME, self._interval) as run:
            for settings in self._ask(configs.TOPIC, wanted, TOPIC_KEYS, run):
                self._topics.put(keys.get(settings.name), topic_settings(settings.values))
            if due:
                for settings in self._ask(configs.GROUP, list(share_groups), GROUP_KEYS, run):
                    self._groups.put(settings.name, settings.values.get(GROUP_KEYS[0]) or "")
        self._run = run.run()
        return self._run

    def of(self, row: TopicRow) -> TopicSettings | None:
        """What is known of this topic."""
        return self._topics.get((row.name, row.topic_id))

    def is_remote(self, row: TopicRow) -> bool:
        """Whether the topic is known to keep old records in remote storage."""
        settings = self.of(row)
        return settings is not None and settings.remote_storage

    def share_group_dead_letters(self) -> dict[str, str]:
        """Share group to the topic that takes its dead letters."""
        return {printable(str(group)): topic for group, topic in self._groups.values().items() if topic}

    def _ask(self, kind: int, names: Sequence[str], keys: Sequence[str], run: Recorder) -> Iterable[configs.Settings]:
        rest = iter(names)
        while batch := list(islice(rest, NAMES_A_REQUEST)):
            request = configs.request(kind, batch, keys)
            answer = self._brokers.ask_first(
                configs.API_KEY, configs.VERSION, configs.VERSION, partial(_as_it_is, request)
            )
            if isinstance(answer, Failure):
                run.problem(f"{len(batch)} configurations such as that of {printable(batch[0])}", answer)
                return
            try:
                decoded = configs.decode(answer[1])
            except MalformedError as error:
                run.malformed("configurations", error)
                return
            yield from self._usable(kind, decoded, run)

    def _usable(self, kind: int, decoded: Iterable[configs.Settings], run: Recorder) -> Iterable[configs.Settings]:
        item, denied, right = DENIALS[kind]
        hidden: list[str] = []
        for settings in decoded:
            if settings.error == codes.NONE:
                yield settings
            elif settings.error == denied:
                hidden.append(printable(settings.name))
            elif settings.error != codes.UNKNOWN_TOPIC_OR_PARTITION:  # deleted since metadata was read
                run.problem(f"{item} {printable(settings.name)}", codes.failure(settings.error, settings.message))
        if hidden:
            run.problem(rights.item(item, hidden), right.failure(hidden))


def _as_it_is(request: Request, version: int) -> Request:  # noqa: ARG001 - one version only
    return request


def topic_settings(values: Mapping[str, str | None]) -> TopicSettings:
    """Settings from their text; what is missing or not a number stays unknown."""
    minimum, retention = values.get("min.insync.replicas"), values.get("retention.ms")
    kept = int(retention) if retention and retention.lstrip("-").isdigit() else -1
    return TopicSettings(
        int(minimum) if minimum and minimum.isdigit() else None,
        values.get("cleanup.policy"),
        values.get("message.timestamp.type"),
        kept / 1000 if kept >= 0 else None,
        values.get("remote.storage.enable") == "true",
        values.get("errors.deadletterqueue.group.enable") == "true",
    )
