"""`/api/v1/snapshot`: the samples of the page and the problems behind it, as JSON for scripts."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from math import isfinite

from exporter import VERSION
from exporter.metrics.family import Family, Measured, Samples
from exporter.model.common import ClusterSnapshot, CollectorRun
from exporter.poll import Poller, Published


class Cached:
    """The clusters' part is made anew only after a poll: a large one takes a second of CPU. For many threads."""

    def __init__(self, poller: Poller) -> None:
        self.poller = poller
        self._lock = threading.Lock()
        self._of: list[tuple[Published, bool]] = []
        self._chunks: list[bytes] = []

    def chunks(self, now: float) -> list[bytes]:
        """The document in pieces; `now` is unix seconds."""
        head = {"version": VERSION, "generated_at": now, "ready": self.poller.ready()}
        return [json.dumps(head)[:-1].encode(), b', "clusters": [', *self._clusters(), b"]}\n"]

    def _clusters(self) -> list[bytes]:
        monotonic = time.monotonic()
        with self._lock:
            found = [
                (published, published is cluster.fresh(monotonic))
                for cluster in self.poller.clusters.values()
                if (published := cluster.published) is not None
            ]
            same = [(id(published), fresh) for published, fresh in found]
            if same != [(id(published), fresh) for published, fresh in self._of]:
                parts = [cluster(one.snapshot, one.measured() if fresh else {}, fresh) for one, fresh in found]
                self._of, self._chunks = found, list(_joined(parts))
            return self._chunks


def cluster(snapshot: ClusterSnapshot, measured: Measured, fresh: bool) -> Iterator[bytes]:
    """One cluster. A stale one has its problems and no samples, as on the page."""
    head = {
        "cluster": snapshot.cluster,
        "system": snapshot.system,
        "fresh": fresh,
        "taken_at": snapshot.taken_at,
        "interval_seconds": snapshot.interval_seconds,
        "endpoints": dict(snapshot.endpoints),
        "contradictions": dict(snapshot.contradictions),
        "collectors": [_collector(run) for run in snapshot.runs],
    }
    yield json.dumps(head)[:-1].encode() + b', "families": ['
    families = sorted((family for family in measured if measured[family]), key=lambda family: family.name)
    quoted = Quoted()
    for number, family in enumerate(families):
        yield b"," if number else b""
        yield _family(family, measured[family], quoted)
    yield b"]}"


def _collector(run: CollectorRun) -> Mapping[str, object]:
    return {
        "name": run.name,
        "success": run.success,
        "started_at": run.started_at,
        "duration_seconds": run.duration_seconds,
        "interval_seconds": run.interval_seconds,
        "skipped": dict(run.skipped),
        "problems": [
            {"kind": problem.kind.value, "item": problem.item, "detail": problem.detail} for problem in run.problems
        ],
    }


class Quoted(dict[str, str]):
    """Text -> the same as a JSON string, made once."""

    def __missing__(self, text: str) -> str:
        quoted = self[text] = json.dumps(text)
        return quoted


def _family(family: Family, samples: Samples, quoted: Quoted) -> bytes:
    """One family, put together row by row: json.dumps would keep every other thread waiting until it is through."""
    row = '{"labels":{' + ",".join(f'"{label}":%s' for label in family.labels) + '},"value":%s}'
    rows = [row % (*[quoted[text] for text in values], value) for values, value in samples.items() if isfinite(value)]
    return f'{{"name":"{family.name}","type":"{family.kind}","samples":[{",".join(rows)}]}}'.encode()


def _joined(parts: list[Iterator[bytes]]) -> Iterator[bytes]:
    for number, part in enumerate(parts):
        if number:
            yield b","
        yield from part
