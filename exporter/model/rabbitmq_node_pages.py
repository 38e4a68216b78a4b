r"""Reads what rabbitmq_prometheus says on one node: its alarms and disk, its global counters, the queues that it leads.

3.10 writes label values as they are, with `"` and `\` unescaped, so its lines can't be parsed by the rules of the
format. The queues' names are known from the listing, so a line is recognised by the whole text between the braces,
written as 3.10 does and as the format demands; what could be two queues is taken for none. 4.3 writes counts as Erlang
does floating-point numbers: `24.0`, and a million as `1.0e6`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from exporter.model.rabbitmq import QueueName
from exporter.model.rabbitmq_listing import MOST

DETAILED = re.compile(
    r'^rabbitmq_detailed_queue_(messages_ready|messages_unacked|messages|consumers)\{(vhost=".*)\} (\S+)$', re.M
)
GLOBAL = re.compile(r"^rabbitmq_global_messages_(dead_lettered|unroutable)_(\w+)_total\{([^}\n]*)\} (\S+)$", re.M)
IDENTITY = re.compile(r'^rabbitmq_identity_info\{(?:.*,)?rabbitmq_node="([^"]+)".*\} 1(?:\.0)?$', re.M)
NUMBER = re.compile(r"^rabbitmq_(\w+) (\S+)$", re.M)
LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Depth:
    """A queue's depth as its leader's node counts it."""

    ready: int | None = None
    unacknowledged: int | None = None
    messages: int | None = None
    consumers: int | None = None


@dataclass(frozen=True, slots=True)
class NodePage:
    """What one node says about itself. None is unknown."""

    node: str
    memory_used_bytes: int | None = None
    memory_limit_bytes: int | None = None
    memory_alarm: bool | None = None
    disk_free_bytes: int | None = None
    disk_free_limit_bytes: int | None = None
    disk_alarm: bool | None = None
    file_descriptors_used: int | None = None
    file_descriptors_limit: int | None = None
    dead_lettered: Mapping[tuple[str, str], int] = field(default_factory=dict)  # (reason, strategy) -> count
    unroutable: Mapping[str, int] = field(default_factory=dict)  # outcome -> count


def identity(page: str) -> str | None:
    """The node that wrote this page."""
    match = IDENTITY.search(page)
    return match[1] if match else None


def read_node(page: str) -> NodePage | None:
    """The plain `/metrics` page; None when it does not say which node wrote it."""
    node = identity(page)
    if node is None:
        return None
    value = {name: number for name, number in NUMBER.findall(page) if name in WANTED}
    return NodePage(
        node,
        memory_used_bytes=_whole(value.get("process_resident_memory_bytes")),
        memory_limit_bytes=_whole(value.get("resident_memory_limit_bytes")),
        memory_alarm=_flag(value.get("alarms_memory_used_watermark")),
        disk_free_bytes=_whole(value.get("disk_space_available_bytes")),
        disk_free_limit_bytes=_whole(value.get("disk_space_available_limit_bytes")),
        disk_alarm=_flag(value.get("alarms_free_disk_space_watermark")),
        file_descriptors_used=_whole(value.get("process_open_fds")),
        file_descriptors_limit=_whole(value.get("process_max_fds")),
        dead_lettered=_dead_lettered(page),
        unroutable=_unroutable(page),
    )


WANTED = frozenset({
    "process_resident_memory_bytes", "resident_memory_limit_bytes", "alarms_memory_used_watermark",
    "disk_space_available_bytes", "disk_space_available_limit_bytes", "alarms_free_disk_space_watermark",
    "process_open_fds", "process_max_fds",
})  # fmt: skip


def _whole(number: str | None) -> int | None:
    """A count or a size; `NaN`, more than MOST, less than 0 and no number at all are unknown."""
    try:
        value = float(number) if number is not None else -1.0
    except ValueError:
        return None
    return int(value) if 0 <= value <= MOST else None


def _flag(number: str | None) -> bool | None:
    value = _whole(number)
    return None if value is None else value != 0


def _dead_lettered(page: str) -> dict[tuple[str, str], int]:
    """Summed over queue types. `confirmed` is no reason: it counts arrivals."""
    found: Counter[tuple[str, str]] = Counter()
    for what, reason, labels, number in GLOBAL.findall(page):
        if what == "dead_lettered" and reason != "confirmed" and (count := _whole(number)) is not None:
            found[reason, dict(LABEL.findall(labels)).get("dead_letter_strategy", "")] += count
    return dict(found)


def _unroutable(page: str) -> dict[str, int]:
    """Summed over protocols."""
    found: Counter[str] = Counter()
    for what, outcome, _, number in GLOBAL.findall(page):
        if what == "unroutable" and (count := _whole(number)) is not None:
            found[outcome] += count
    return dict(found)


def escaped(value: str) -> str:
    """A label value as the text format demands it."""
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def as_it_is(value: str) -> str:
    """A label value as 3.10 writes it."""
    return value


def spellings(queues: Iterable[QueueName]) -> dict[str, QueueName | None]:
    """Text between the braces -> the queue it means; None where it could mean two."""
    found: dict[str, QueueName | None] = {}
    for queue in queues:
        for written in (as_it_is, escaped):
            spelling = f'vhost="{written(queue.vhost)}",queue="{written(queue.name)}"'
            found[spelling] = queue if found.get(spelling, queue) == queue else None
    return found


def read_depths(page: str, known: Mapping[str, QueueName | None]) -> tuple[dict[QueueName, Depth], set[str]]:
    """Depths of the queues that this node leads, and the label texts of queues that are not known."""
    numbers: dict[str, dict[str, int | None]] = {}
    for what, labels, number in DETAILED.findall(page):
        numbers.setdefault(labels, {})[what] = _whole(number)
    depths, strangers = {}, set()
    for labels, values in numbers.items():
        if labels not in known:
            strangers.add(labels)
        elif (queue := known[labels]) is not None:
            depths[queue] = Depth(
                values.get("messages_ready"),
                values.get("messages_unacked"),
                values.get("messages"),
                values.get("consumers"),
            )
    return depths, strangers
