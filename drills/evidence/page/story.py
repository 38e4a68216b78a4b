"""What the plots show of each case, from `drill.json`, `timeline.jsonl` and `metrics.csv`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from drills.evidence.page.moments import Moment, Told, of_case, seconds_of, what
from drills.evidence.page.plot import Line, Mark, Panel, Scale, Span, case_plot, overview
from drills.evidence.samples import EVERY, SCRAPED, Sample

PANELS = (
    (
        "messages",
        "",
        (
            ("ready", "mq_rabbitmq_queue_messages_ready", sum),
            ("unacknowledged", "mq_rabbitmq_queue_messages_unacknowledged", sum),
        ),
    ),
    (
        "lag",
        "offsets",
        (
            ("sum", "mq_kafka_group_topic_lag_offsets", sum),
            ("worst partition", "mq_kafka_group_lag_offsets", max),  # what the sum hides
            ("best partition", "mq_kafka_group_lag_offsets", min),
        ),
    ),
    (
        "oldest message",
        "s",
        (
            ("queue", "mq_rabbitmq_queue_oldest_message_age_seconds", max),
            ("group", "mq_kafka_group_topic_oldest_message_age_seconds", max),
            ("group's best partition", "mq_kafka_group_oldest_message_age_seconds", min),
        ),
    ),
    ("dead letters", "", (("depth", "mq_dlq_depth_messages", sum),)),
    (
        "members",
        "",
        (
            ("replicas online", "mq_rabbitmq_queue_replicas_online", min),
            ("in sync", "mq_kafka_partition_in_sync_replicas", min),
        ),
    ),
)
"""Title, unit, and lines: their name, the metric, and how series of one case become one line."""

Together = Callable[[list[float]], float]
Point = tuple[float, float | None]
METRICS = {metric for _, _, lines in PANELS for _, metric, _ in lines}


class Samples:
    """The samples that are drawn, by metric, and the moments at which the page was read (or could not be)."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._by_metric: dict[str, list[Sample]] = {}
        moments = set()
        for one in samples:
            if one.name in METRICS:
                self._by_metric.setdefault(one.name, []).append(one)
            elif one.name == SCRAPED:
                moments.add(one.wall)
        self.reads = sorted(moments)

    def of(self, metric: str) -> list[Sample]:
        """The samples of a metric, oldest first."""
        return self._by_metric.get(metric, [])


@dataclass(frozen=True, slots=True)
class CaseStory:
    """A case's plot and its moments."""

    name: str
    plot: Markup
    moments: Sequence[Moment]
    empty: bool  # no metric was sampled while it ran


def run_overview(told: Told) -> Markup | None:
    """The run at one look; None when no phase of a case was noted."""
    origin = _origin(told)
    rows = [(case["name"], [*_phases(case, origin), *_faults(told, case["name"], origin)]) for case in told["cases"]]
    rows = [(name, spans) for name, spans in rows if spans]
    if not rows:
        return None
    last = max(one.ended for _, spans in rows for one in spans)
    return overview("the cases of the run over time", Scale(0.0, max(last, told["seconds"] or 0.0)), rows)


def case_stories(told: Told, entries: Sequence[Told], samples: Iterable[Sample], namespace: str) -> list[CaseStory]:
    """A story for each case of which a phase was noted. `namespace`: what stands before the case's name in its own."""
    origin = _origin(told)
    drawn = Samples(samples)
    found = []
    for case in told["cases"]:
        phases = _phases(case, origin)
        if phases:
            moments = of_case(told, entries, case["name"], origin)
            last = [*(one.ended for one in phases), *(one.at for one in moments)]  # a rollback comes after the phases
            scale = Scale(phases[0].began, max(*last, phases[0].began + 1))
            panels = _panels(drawn, f"{namespace}{case['name']}", origin, scale)
            found.append(_story(told, case["name"], phases, scale, panels, moments))
    return found


def _story(
    told: Told, case: str, phases: Sequence[Span], scale: Scale, panels: Sequence[Panel], moments: Sequence[Moment]
) -> CaseStory:
    marks = [Mark(one.at, one.number, one.kind) for one in moments]
    faults = _faults(told, case, _origin(told))
    return CaseStory(case, case_plot(f"{case} over time", scale, phases, faults, marks, panels), moments, not panels)


def _origin(told: Told) -> float:
    return seconds_of(told["began"]) or 0.0


def _phases(case: Told, origin: float) -> list[Span]:
    """The phases; one that never ended lasts a moment."""
    found = []
    for one in case["phases"]:
        began = (seconds_of(one["began"]) or origin) - origin
        ended = seconds_of(one["ended"])
        found.append(Span(began, began if ended is None else ended - origin, one["phase"], f"p-{one['phase']}"))
    return found


def _faults(told: Told, case: str, origin: float) -> list[Span]:
    """From when a fault was made until it was undone, or until the end."""
    end = seconds_of(told["ended"])
    found = []
    for one in told["changes"]:
        began = seconds_of(one["made"] or one["planned"])
        if one["is_fault"] and one["case"] == case and began is not None:
            ended = seconds_of(one["undone"]) or end or began
            found.append(Span(began - origin, ended - origin, what(one), "fault"))
    return found


def _panels(samples: Samples, namespace: str, origin: float, scale: Scale) -> list[Panel]:
    found = []
    for title, unit, lines in PANELS:
        drawn = [
            Line(name, points)
            for name, metric, together in lines
            if (points := _points(samples, metric, together, namespace, origin, scale))
        ]
        if drawn:
            found.append(Panel(title, unit, drawn))
    return found


def _points(
    samples: Samples, metric: str, together: Together, namespace: str, origin: float, scale: Scale
) -> list[Point]:
    """A value, or None, for each read of the page while the case ran; empty when none of them had one."""
    values: dict[float, list[float]] = {}
    for one in samples.of(metric):
        if _belongs(one, namespace):
            values.setdefault(one.wall, []).append(one.value)
    reads = [at for at in samples.reads if scale.began - EVERY <= at - origin <= scale.ended + EVERY]
    points: list[Point] = [(at - origin, together(values[at]) if at in values else None) for at in reads]
    return points if any(value is not None for _, value in points) else []


def _belongs(sample: Sample, namespace: str) -> bool:
    return any(value == namespace or value.startswith((f"{namespace}.", f"{namespace}-")) for value in sample.scope())
