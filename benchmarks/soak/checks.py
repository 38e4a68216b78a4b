"""Holds a page against the truth. Pure: what is wrong comes back as lines, what can't be judged yet as keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from benchmarks.soak.page import Scrape
from benchmarks.soak.truth import Key, Life, Truth

INTERVAL = 5.0  # seconds between two polls of the soak's exporter
PROMISED = 3 * INTERVAL  # a page shows nothing older
STATISTICS = {
    "kafka": 0.0,
    "rabbitmq": 6.5,
}  # seconds that the brokers' own numbers may be old: RabbitMQ counts by tick
METADATA = 5.0  # seconds that a broker may take to hear from the controllers what was deleted
APPEARS = 20.0  # seconds until what is new must be there, when nothing is being restarted
SETTLE = 45.0  # seconds after a restart in which leaders move, and groups with them
SLOW = 2.5  # seconds for one look of the independent reader: when it is slower, so is everything
GAP = 10.0  # seconds without a look: the reader had trouble too
CLOCK = 0.1  # seconds: times of records are in whole milliseconds


@dataclass(frozen=True, slots=True)
class Trouble:
    """A restart: a node of one system was away between these moments. `back` is None until it serves again."""

    system: str
    node: str
    how: str
    began: float
    back: float | None = None


@dataclass(slots=True)
class Judged:
    """What one page came to."""

    right: int = 0
    young: int = 0  # values of which nothing is known for as long as a page may be old, or nothing at all
    wrong: list[str] = field(default_factory=list)
    open: set[Key] = field(default_factory=set)  # to be judged again, when more is known


MEMBERS = (("kafka", "mq_kafka_broker_up", "broker"), ("rabbitmq", "mq_rabbitmq_node_up", "node"))


def values(page: Scrape) -> dict[Key, float]:
    """All values on the page that are compared, by what they are of."""
    found: dict[Key, float] = {}
    for (topic, part), value in page.by("mq_kafka_partition_high_watermark_offset", "topic", "partition").items():
        found["end", topic, part] = value
    at = ("group", "topic", "partition")
    for kind, name in (
        ("commit", "mq_kafka_group_committed_offset"),
        ("lag", "mq_kafka_group_lag_offsets"),
        ("age", "mq_kafka_group_oldest_message_age_seconds"),
    ):
        found.update({(kind, *labels): value for labels, value in page.by(name, *at).items()})
    ready = page.by("mq_rabbitmq_queue_messages_ready", "queue")
    held = page.by("mq_rabbitmq_queue_messages_unacknowledged", "queue")
    found.update({("depth", *queue): value + held[queue] for queue, value in ready.items() if queue in held})
    ages = page.by("mq_rabbitmq_queue_oldest_message_age_seconds", "queue")
    found.update({("age", *queue): value for queue, value in ages.items()})
    found = {key: value for key, value in found.items() if key[1].startswith("soak-")}
    for system, name, label in MEMBERS:
        found.update({("up", system, *node): value for node, value in page.by(name, label).items()})
    return found


def bounds(page: Scrape) -> dict[Key, float]:
    """By how much the ages that are estimates may be wrong, as the page says."""
    at = ("group", "topic", "partition")
    found: dict[Key, float] = {
        ("age", *labels): value for labels, value in page.by("mq_kafka_group_age_error_bound_seconds", *at).items()
    }
    of_queues = page.by("mq_rabbitmq_queue_age_error_bound_seconds", "queue")
    return found | {("age", *queue): value for queue, value in of_queues.items()}


def judge(page: Scrape, keys: Collection[Key], truth: Truth) -> Judged:
    """Compare these values of the page. A value is judged once its ceiling is known; its floor is known by now."""
    judged, shown, errors = Judged(), values(page), bounds(page)
    for key in keys:
        low, high = _between(key, page, truth, errors.get(key, 0.0))
        value = shown[key]
        if low is None:
            judged.young += 1
        elif high is None:
            judged.open.add(key)
        elif low <= value <= high:
            judged.right += 1
        else:
            judged.wrong.append(f"{' '.join(key)} is {value:.10g}, not between {low:.10g} and {high:.10g}")
    return judged


def _between(key: Key, page: Scrape, truth: Truth, error: float) -> tuple[float | None, float | None]:
    system = "rabbitmq" if len(key) == 2 or "rabbitmq" in key else "kafka"
    oldest, newest = page.began - PROMISED - STATISTICS[system], page.ended
    match key[0]:
        case "end" | "commit":
            return _of(truth, key, oldest, newest)
        case "lag":
            return _difference(truth, ("end", *key[2:]), ("commit", *key[1:]), oldest, newest)
        case "depth":
            return _difference(truth, ("in", key[1]), ("out", key[1]), oldest, newest)
        case "up":
            ups = {key[2] in look.names for look in truth.looks(system, oldest, newest)}
            return (min(ups), max(ups)) if ups else (0, None)
        case _:
            since = truth.waits.get(key[1:])
            if since is None:
                return None, None
            return oldest - since[1] - error - CLOCK, newest - since[0] + error + CLOCK


def _of(truth: Truth, key: Key, oldest: float, newest: float) -> tuple[int | None, int | None]:
    count = truth.counts.get(key)
    return (None, None) if count is None else (count.at_least(oldest), count.at_most(newest))


def _difference(truth: Truth, more: Key, less: Key, oldest: float, newest: float) -> tuple[int | None, int | None]:
    (low, high), (less_low, less_high) = _of(truth, more, oldest, newest), _of(truth, less, oldest, newest)
    if low is None or less_low is None:
        return None, None
    if high is None or less_high is None:
        return 0, None
    return max(low - less_high, 0), high - less_low


def consistent(page: Scrape) -> list[str]:
    """Lag must be the high watermark minus the commit of the same page, and no less than nothing."""
    shown = values(page)
    wrong = []
    for key, lag in shown.items():
        if key[0] != "lag":
            continue
        end, commit = shown.get(("end", *key[2:])), shown.get(("commit", *key[1:]))
        if end is None or commit is None or lag != end - commit:
            wrong.append(f"{' '.join(key)} is {lag:g}, beside an end of {end} and a commit of {commit}")
    return wrong


def lingering(page: Scrape, lives: Mapping[tuple[str, str], Life]) -> list[str]:
    """Things that were gone before the oldest data that the page may show, and are on it."""
    names = {
        "topic": {key[-2] for key in values(page) if len(key) > 2},
        "group": {key[1] for key in values(page) if len(key) == 4},
        "queue": {key[1] for key in values(page) if len(key) == 2},
    }
    return [
        f"{kind} {name} was deleted {page.began - life.gone:.0f} s ago"
        for (kind, name), life in lives.items()
        if life.gone is not None and name in names[kind] and page.began - life.gone > allowed(kind)
    ]


def missing(page: Scrape, truth: Truth, troubles: Collection[Trouble]) -> list[str]:
    """Things that should be on the page, whose system is calm, and of which the page says nothing either."""
    shown, silent = values(page), incomplete(page)
    whole = {system for system in STATISTICS if system not in silent and calm(page, system, truth, troubles)}
    return [
        f"{' '.join(part)} is not there, {page.began - life.born:.0f} s after it was made"
        for (kind, _), life in truth.lives.items()
        for part in life.parts
        if life.born is not None
        and page.began - life.born > APPEARS
        and (life.dying is None or life.dying > page.ended)
        and ("rabbitmq" if kind == "queue" else "kafka") in whole
        and part not in shown
    ]


def incomplete(page: Scrape) -> set[str]:
    """Systems of which the page itself says that not everything could be read, or that it is too old."""
    said = page.by("mq_exporter_collector_success", "cluster", "collector")
    return {
        system
        for system in STATISTICS
        if not (of := [value for (cluster, _), value in said.items() if cluster.endswith(system)]) or 0 in of
    }


def allowed(kind: str) -> float:
    """Seconds after which what is gone must not be shown."""
    return PROMISED + (STATISTICS["rabbitmq"] if kind == "queue" else METADATA)


def calm(page: Scrape, system: str, truth: Truth, troubles: Collection[Trouble]) -> bool:
    """Whether nothing excuses a gap: no node was away lately, and the independent reader was quick all the time."""
    oldest = page.began - PROMISED
    looks = truth.looks(system, oldest, page.ended)
    gaps = [after.ended - before.ended for before, after in pairwise(looks)]
    restarted = any(
        trouble.system == system
        and trouble.began <= page.ended
        and (trouble.back is None or trouble.back + SETTLE >= page.began)
        for trouble in troubles
    )
    quick = bool(looks) and max(look.ended - look.begun for look in looks) <= SLOW and max(gaps, default=0) <= GAP
    return quick and not restarted
