"""`python -m benchmarks.bench`: measures everything, prints one table, writes `build/bench.json`.

Exit codes: 0 every ratio is within its budget; 1 one is not; 2 it could not be measured. BENCH_SCALE=0.1 measures at a
tenth of the size, for trying things out: then the figures are not those that the budgets are about. `--only PART ...`
measures these parts again and keeps the other figures of the file. The file is written after each part, also after one
that failed or took too long: the others are measured all the same.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException

from benchmarks.bench import kafka, rabbitmq, render, result, served
from benchmarks.kafka_world import KafkaWorld
from drills.lab import Lab, LabError, Report, Settings, report_to, take_down

PARTITIONS, GROUPS, QUEUES, SAMPLES = 5000, 20, 5000, 100_000
RUNS, SCRAPES, POLLS, TENTH = 5, 120, 200, 10
FASTEST = 0.47  # scrape of the fastest other exporter as a share of the bare calls: 0.96 s to 2.05 s (specification)
INTERVAL = 15.0  # the exporter's default
PARTS = ("render", "plain", "secure", "rabbitmq")
LONGEST = 2700  # seconds for one part at full size on a slow machine: a bench that hangs tells nothing


class TooLongError(Exception):
    """A part was not done in time."""


class Bench:
    """One run; `values` is filled part by part."""

    def __init__(self, scale: float, lab_name: str, report: Report) -> None:
        self.scale, self.lab_name, self.report = scale, lab_name, report
        self.values: dict[str, float] = {}
        self.loads: list[float] = []
        self.faults: dict[str, str] = {}  # by part

    def size(self, whole: int) -> int:
        """A size at this scale."""
        return max(round(whole * self.scale), 1)

    def note(self, **values: float) -> None:
        """Keep and tell some figures."""
        unknown = values.keys() - {figure.key for figure in result.FIGURES}
        assert not unknown, f"{unknown} must be explained in FIGURES"
        self.values |= values
        self.loads.append(os.getloadavg()[0])
        told = ", ".join(f"{key} {value:.4g}" for key, value in values.items())
        self.report.say(f"{told} (load {self.loads[-1]:.1f})")

    def render(self) -> None:
        """(a): writing a page."""
        found = render.compare(self.size(SAMPLES), RUNS)
        self.note(
            render_ratio=found.ratio,
            render_cpu_s=found.ours,
            render_first_cpu_s=found.first,
            render_gzip_cpu_s=found.compressed,
        )

    def plain(self) -> None:
        """(b), (c), (d), (e), (f): a large cluster on PLAINTEXT."""
        with self.lab("kafka") as on:
            small = self.world(on, PARTITIONS // TENTH, "tenth")
            tenth = kafka.refresh(small, RUNS)
            small.clean()
            world = self.world(on, PARTITIONS, "bench")
            whole = kafka.refresh(world, RUNS)
            self.note(
                bare_s=whole.bare.wall,
                refresh_s=whole.snapshot.wall,
                refresh_ratio=whole.ratio,
                refresh_cpu_ratio=whole.snapshot.cpu / whole.bare.cpu,
                refresh_page_s=whole.page,
                growth_ratio=whole.page / tenth.page * TENTH * small.partitions / world.partitions,
            )
            self.note(ages_5000_s=kafka.ages_of_one_group(world))
            self.serve(world, on.folder / "bench", whole)

    def world(self, on: Lab, partitions: int, name: str) -> KafkaWorld:
        """A cluster's contents, made."""
        self.report.say(f"making {self.size(partitions)} partitions and {GROUPS} groups")
        world = KafkaWorld(on.kafka.client, on.kafka.watched(), self.size(partitions), GROUPS, name)
        world.set_up()
        return world

    def serve(self, world: KafkaWorld, folder: Path, whole: kafka.Refresh) -> None:
        """A process of its own."""
        with served.exporter(folder / "default", world.section(interval=INTERVAL)) as one:
            self.note(startup_s=served.started(one))
            took, skipped = served.all_ages(one, whole.group_partitions)
            self.note(ages_all_s=took, ages_polls_skipped=skipped)
            window = INTERVAL - 4 * whole.page
            took_polls = [one.poll_seconds()]
            forms = []
            for form in ("identity", "gzip"):
                forms.append(served.quiet_scrapes(one, SCRAPES, form, window))
                took_polls.append(one.poll_seconds())
            plain, packed = forms
            pace = max(round(2 * statistics.median(took_polls), 1), 0.5)  # scrapes without a pause slow a poll down
        self.note(
            series=plain.series,
            page_mb=plain.size / 1e6,
            page_gzip_mb=packed.size / 1e6,
            scrape_p50_ms=plain.p50,
            scrape_p99_ms=plain.p99,
            scrape_gzip_p50_ms=packed.p50,
            scrape_gzip_p99_ms=packed.p99,
            scrape_100k_p99_ms=max(plain.p99, packed.p99) * 100_000 / plain.series,
            scrape_share=max(plain.p50, packed.p50) / 1000 / (FASTEST * whole.bare.wall),
        )
        with served.exporter(folder / "busy", world.section(interval=pace)) as one:
            served.started(one)
            busy = served.many_polls(one, self.size(POLLS), SCRAPES, pace)
        self.note(
            rss_mb=busy.rss_mb,
            rss_growth_mb=busy.growth_mb,
            scrape_busy_p50_ms=busy.plain.p50,
            scrape_busy_p99_ms=busy.plain.p99,
            scrape_gzip_busy_p50_ms=busy.compressed.p50,
            scrape_gzip_busy_p99_ms=busy.compressed.p99,
        )

    def secure(self) -> None:
        """(b): the same cluster on SASL_SSL."""
        with self.lab("kafka", Settings(profile="secure")) as on:
            found = kafka.refresh(self.world(on, PARTITIONS, "bench"), RUNS)
        self.note(bare_secure_s=found.bare.wall, refresh_secure_s=found.snapshot.wall, refresh_secure_ratio=found.ratio)

    def rabbitmq(self) -> None:
        """(g): reading many queues."""
        with self.lab("rabbitmq") as on:
            found = rabbitmq.poll(on, self.size(QUEUES), RUNS)
        self.note(rabbitmq_5000_s=found.later.wall, rabbitmq_first_s=found.first.wall)

    @contextmanager
    def lab(self, system: str, settings: Settings | None = None) -> Iterator[Lab]:
        """A lab with one system while the block runs."""
        if self.lab_name:
            yield Lab.up(self.lab_name, [system], report=self.report)
            return
        name = f"bench-{system}-{os.getpid()}"  # two benches at once must not take each other's lab
        try:
            yield Lab.up(name, [system], settings=settings, report=self.report)
        finally:
            take_down(name, self.report)


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/bench.json"))
    parser.add_argument("--only", choices=PARTS, nargs="*", default=PARTS)
    parser.add_argument("--lab", default="", help="a lab that is up, to be left as it is (default: labs of its own)")
    given = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))  # so that the labs are taken down
    scale = float(os.environ.get("BENCH_SCALE", "1"))
    kept = result.read(given.out, scale) if given.only != PARTS else result.Kept({}, {})
    bench = Bench(scale, given.lab, report_to(sys.stderr))
    bench.values |= kept.values
    conditions = dict(kept.conditions)
    for part in given.only:
        try:
            conditions[part] = measure(bench, part, LONGEST)
        finally:
            result.write(given.out, bench.values, {"scale": scale, "cpus": os.cpu_count() or 0, "parts": conditions})
    return tell(bench, given.only == PARTS, given.out, conditions)


def measure(bench: Bench, part: str, longest: int) -> dict[str, float]:
    """One part, and what the machine was doing meanwhile. A part that can't be measured is among the `faults`."""
    bench.loads, began = [os.getloadavg()[0]], time.time()
    try:
        with alarm(longest):
            getattr(bench, part)()
    except (LabError, AssertionError, OSError, KafkaException, TooLongError) as error:
        bench.faults[part] = f"{type(error).__name__}: {error}"
        bench.report.say(f"{part} could not be measured: {bench.faults[part]}")
    except SystemExit as error:
        if isinstance(error.code, int):  # somebody ended us
            raise
        bench.faults[part] = str(error.code)
    taken = round(time.time() - began)
    bench.report.say(f"{part}: done in {taken} s")
    return {"began": began, "seconds": taken, "load_lowest": min(bench.loads), "load_highest": max(bench.loads)}


@contextmanager
def alarm(seconds: int) -> Iterator[None]:
    """Raises TooLongError in the block after so many seconds."""

    def ring(*_: object) -> None:
        raise TooLongError(f"not done in {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def tell(bench: Bench, whole: bool, out: Path, conditions: Mapping[str, Mapping[str, float]]) -> int:
    """Print the table and what was missed; the exit code."""
    print(result.table(bench.values))
    print(f"\nscale {bench.scale:g}, {os.cpu_count()} CPUs; see {out}")
    for part, known in conditions.items():
        print(f"{part}: {known['seconds']:.0f} s, load {known['load_lowest']:.1f} to {known['load_highest']:.1f}")
    for part, fault in bench.faults.items():
        print(f"{part} could not be measured: {fault}", file=sys.stderr)
    missed = [key for key in result.missed(bench.values) if whole or key in bench.values]
    if missed:
        print(f"not within budget: {', '.join(missed)}", file=sys.stderr)
    return 2 if bench.faults else 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
