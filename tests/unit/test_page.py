"""The page is valid in both formats, whole families, whatever the names and however many clusters."""

from __future__ import annotations

import gzip
import math

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporter.metrics.family import Family, Measured
from exporter.page import Format, Renderer, finish, headers_of, join, render_small

LAG = Family("mq_kafka_group_lag_offsets", "gauge", 'Lag, in "offsets".\nA \\ caveat.', ("group", "topic", "partition"))
LOST = Family("mq_kafka_group_lost_offsets_total", "counter", "Lost.", ("group", "topic"))
INFO = Family("mq_kafka_group_info", "info", "Type.", ("group", "type"))
NASTY = ['a"b', "back\\slash", "new\nline", "%2F", "%s", "ünï", "{}", "", "\\n", "\\", "naïve,\t=", "日本"]


def whole(clusters: dict[str, Measured], form: Format, compressed: bool = False) -> bytes:
    pages = [Renderer(name).render(measured, 0.0) for name, measured in clusters.items()]
    tail = b"# EOF\n" if form is Format.OPENMETRICS else b""
    return b"".join(finish(join(pages, form, headers_of([LAG, LOST, INFO])), tail, compressed))


def samples(text: str, form: Format) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    parse = parse_openmetrics if form is Format.OPENMETRICS else parse_text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parse(text)
        for sample in family.samples
    }


@pytest.mark.parametrize("form", Format)
def test_any_name_survives_both_strict_parsers(form: Format) -> None:
    measured: Measured = {
        LAG: {(name, "t", str(number)): number for number, name in enumerate(NASTY)},
        LOST: {(name, "t"): 2**53 + 1 for name in NASTY},
        INFO: {(name, "classic"): 1 for name in NASTY},
    }
    found = samples(whole({'clu"ster\n': measured}, form).decode(), form)
    expected = {}
    for number, name in enumerate(NASTY):
        at = (("cluster", 'clu"ster\n'), ("group", name))
        expected[LAG.name, tuple(sorted((*at, ("topic", "t"), ("partition", str(number)))))] = float(number)
        expected[LOST.name, tuple(sorted((*at, ("topic", "t"))))] = 2**53 + 1
        expected[INFO.name, tuple(sorted((*at, ("type", "classic"))))] = 1.0
    assert expected == found


@pytest.mark.parametrize("form", Format)
def test_families_of_two_clusters_are_joined_whole(form: Format) -> None:
    page = whole({"a": {LAG: {("g", "t", "0"): 1}}, "b": {LAG: {("g", "t", "0"): 2}, LOST: {("g", "t"): 0}}}, form)
    lines = page.decode().splitlines()
    assert [
        'mq_kafka_group_lag_offsets{cluster="a",group="g",topic="t",partition="0"} 1',
        'mq_kafka_group_lag_offsets{cluster="b",group="g",topic="t",partition="0"} 2',
        'mq_kafka_group_lost_offsets_total{cluster="b",group="g",topic="t"} 0',
    ] == [line for line in lines if not line.startswith("#")]
    assert 2 == sum(line.startswith("# TYPE") for line in lines)


@pytest.mark.parametrize("form", Format)
def test_gzip_holds_the_same_bytes(form: Format) -> None:
    measured: Measured = {LAG: {("g", "t", str(number)): number for number in range(5000)}}
    assert whole({"a": measured}, form) == gzip.decompress(whole({"a": measured}, form, compressed=True))


def test_nan_and_infinity_are_never_printed() -> None:
    measured: Measured = {LAG: {("g", "t", "0"): math.nan, ("g", "t", "1"): math.inf, ("g", "t", "2"): 7}}
    assert {7.0} == set(samples(whole({"a": measured}, Format.TEXT).decode(), Format.TEXT).values())


def test_a_name_with_invalid_bytes_leaves_the_page_valid() -> None:
    measured: Measured = {LAG: {("bad\udcff", "t", "0"): 1}}
    whole({"a": measured}, Format.TEXT).decode("utf-8", "strict")


def test_a_kept_renderer_prints_what_a_new_one_prints_and_forgets_what_is_gone() -> None:
    kept = Renderer("a")
    many: Measured = {LAG: {("g", "t", str(number)): number for number in range(10_000)}}
    few: Measured = {LAG: {("g", "u", "0"): 5}}
    kept.render(many, 0.0)
    kept.render(few, 0.0)
    again = kept.render(few, 0.0)
    assert Renderer("a").render(few, 0.0).bodies == again.bodies
    assert len(kept.texts[LAG.labels]) <= 1


def test_families_without_labels_have_no_braces() -> None:
    build = Family("mq_exporter_polls_skipped_total", "counter", "Skipped.")
    assert b"mq_exporter_polls_skipped_total 3" in render_small({"": {build: {(): 3}}}, Format.TEXT)


def test_a_family_that_breaks_the_naming_rules_is_refused() -> None:
    for name, kind in [("mq_x_total", "gauge"), ("mq_x", "counter"), ("other_x", "gauge"), ("mq_x", "info")]:
        with pytest.raises(ValueError, match="naming rules"):
            Family(name, kind, "")
