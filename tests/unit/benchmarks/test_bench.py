"""The bench's figures, verdict and pieces, at a tiny size."""

from __future__ import annotations

import json
import threading
import tomllib
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from benchmarks.bench import kafka, render, result
from benchmarks.bench.__main__ import Bench, measure
from benchmarks.timing import percentile
from drills.lab import Report

GOOD = {
    "render_ratio": 5.0,
    "refresh_ratio": 0.3,
    "refresh_secure_ratio": 0.3,
    "scrape_share": 0.05,
    "growth_ratio": 11.0,
    "ages_polls_skipped": 0,
}
ROOT = Path(__file__).parents[3]


def test_every_key_that_was_asked_for_is_a_figure_and_is_explained() -> None:
    assert set() == set(result.ASKED) - {figure.key for figure in result.FIGURES}
    explained = (ROOT / "docs" / "benchmarks.md").read_text()
    assert [] == [figure.key for figure in result.FIGURES if f"`{figure.key}`" not in explained]


def test_ratios_decide_and_absolute_figures_do_not() -> None:
    assert [] == result.missed(GOOD | {"rss_mb": 9000.0, "rabbitmq_5000_s": 99.0})


@pytest.mark.parametrize("key", sorted(GOOD))
def test_each_ratio_that_is_off_or_absent_is_named(key: str) -> None:
    off = GOOD[key] * (0.99 if key == "render_ratio" else 1.01) if GOOD[key] else 1
    assert [key] == result.missed(GOOD | {key: off})
    assert [key] == result.missed({name: value for name, value in GOOD.items() if name != key})


def test_the_table_says_what_was_missed() -> None:
    lines = result.table({"refresh_ratio": 0.31, "rss_mb": 250.0}).splitlines()
    assert ["`refresh_ratio`", "0.31 x", "≤ 0.3 x", "MISSED (decides)"] == [c.strip() for c in lines[2].split("|")[1:5]]
    assert ["`rss_mb`", "250 MB", "≤ 300 MB", "held"] == [c.strip() for c in lines[3].split("|")[1:5]]


def test_the_file_has_every_figure_and_the_conditions(tmp_path: Path) -> None:
    result.write(tmp_path / "build" / "bench.json", {"rss_mb": 123.456789, "series": 7}, {"load_highest": 2.5})
    expected = {"rss_mb": 123.5, "series": 7, "conditions": {"load_highest": 2.5}}
    assert expected == json.loads((tmp_path / "build" / "bench.json").read_text())


def test_a_part_measured_again_keeps_the_others_figures_of_the_same_scale(tmp_path: Path) -> None:
    path, parts = tmp_path / "bench.json", {"plain": {"seconds": 7.0}}
    assert result.Kept({}, {}) == result.read(path, 1)
    result.write(path, {"rss_mb": 12.0}, {"scale": 1, "cpus": 2, "parts": parts})
    assert result.Kept({"rss_mb": 12.0}, parts) == result.read(path, 1)
    assert result.Kept({}, {}) == result.read(path, 0.1)


@pytest.mark.parametrize(
    ("codes", "works"),
    [
        ([], True),
        ([KafkaError._TRANSPORT] * 2, True),
        ([KafkaError._TRANSPORT] * 3, False),
        ([KafkaError.TOPIC_AUTHORIZATION_FAILED], False),
    ],
)
def test_bare_calls_are_made_anew_when_a_connection_broke_and_for_nothing_else(codes: list[int], works: bool) -> None:
    faults = [KafkaException(KafkaError(code)) for code in codes]

    def work() -> int:
        if faults:
            raise faults.pop(0)
        return 7

    if works:
        assert 7 == kafka.unbroken(work)()
    else:
        with pytest.raises(KafkaException):
            kafka.unbroken(work)()


class Faulty(Bench):
    """Parts that fail, each in its way."""

    def plain(self) -> None:
        self.note(rss_mb=1.0)
        raise AssertionError("half a page")

    def secure(self) -> None:
        threading.Event().wait(30)

    def rabbitmq(self) -> None:
        raise SystemExit("the set-up is not there")

    def render(self) -> None:
        raise SystemExit(130)


def test_a_part_that_fails_or_hangs_is_named_and_what_it_measured_is_kept() -> None:
    bench = Faulty(0.1, "", Report())
    for part in ("plain", "secure", "rabbitmq"):
        measure(bench, part, 1)
    expected = {
        "plain": "AssertionError: half a page",
        "secure": "TooLongError: not done in 1 s",
        "rabbitmq": "the set-up is not there",
    }
    assert (expected, {"rss_mb": 1.0}) == (bench.faults, bench.values)
    with pytest.raises(SystemExit):  # ended from outside: not a fault of the part
        measure(bench, "render", 1)


def test_both_pages_say_the_same_and_ours_costs_less() -> None:
    found = render.compare(2000, 3)
    assert 2000 == found.samples
    assert found.ratio > 1


def test_pages_that_differ_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render.Theirs, "collect", lambda _: iter(()))
    with pytest.raises(AssertionError, match="the two pages differ"):
        render.compare(100, 1)


def test_a_figure_that_nobody_explained_is_refused() -> None:
    bench = Bench(0.1, "", Report())
    bench.note(rss_mb=1.0)
    with pytest.raises(AssertionError, match="must be explained"):
        bench.note(rss=1.0)
    assert (500, 1) == (bench.size(5000), bench.size(1))


def test_percentiles() -> None:
    values = [float(number) for number in range(200)]
    assert [100.0, 198.0, 199.0] == [percentile(values, share) for share in (0.5, 0.99, 1.0)]
    assert 3.0 == percentile([3.0], 0.99)


def test_benchmarks_are_no_part_of_what_is_installed() -> None:
    include = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]["include"]
    assert ["exporter*", "drills*"] == include
