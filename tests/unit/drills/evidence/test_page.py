"""`report.html` stands alone, says the verdict first, and shows what strangers wrote as text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from drills.evidence.page import document, plot, words
from tests.mutations import fails_under
from tests.stored_run import DRILL, EVENTS

RUNS = ["whole", "half", "failed"]
VOID = {"meta", "link", "input", "br"}


class Page(HTMLParser):
    """Elements, attributes and text, as a browser would see them; refuses what is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert [] == self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert tag == self._open.pop(), tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text.append(data)

    @property
    def said(self) -> str:
        return " ".join(" ".join(self.text).split())


@pytest.mark.parametrize("run", RUNS)
def test_every_element_is_closed_and_no_name_became_one(run: str, request: pytest.FixtureRequest) -> None:
    page = Page(request.getfixturevalue(run).page)
    assert {"script", "iframe", "object", "img", "b0"}.isdisjoint(tag for tag, _ in page.elements)
    assert [] == [name for _, attributes in page.elements for name in attributes if name.startswith("on")]


@pytest.mark.parametrize("run", RUNS)
def test_it_asks_the_network_for_nothing(run: str, request: pytest.FixtureRequest) -> None:
    page = Page(request.getfixturevalue(run).page)
    links = [attributes[name] for _, attributes in page.elements for name in ("src", "href") if name in attributes]
    assert [] == [link for link in links if not (link or "").startswith(("data:", "#"))]
    style = re.search(r"<style>(.*?)</style>", request.getfixturevalue(run).page, re.DOTALL)
    assert style
    assert [] == re.findall(r"url\(|@import", style[1])
    policy = [attributes["content"] for _, attributes in page.elements if "http-equiv" in attributes]
    assert ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"] == policy


def check_hostile_names_are_shown_as_text(whole: Any) -> None:
    text = document.render(whole.folder, whole.told, {case["name"]: {} for case in whole.told["cases"]})
    page = Page(text)
    assert "<script>alert(1)</script> \"q\" 'a' & \\" in page.said
    assert "\\u202eline" in page.said
    assert "\u202e" not in text
    assert "<script>alert" not in text


def test_hostile_names_are_shown_as_text(whole: Any) -> None:
    check_hostile_names_are_shown_as_text(whole)
    fails_under("names_are_believed", check_hostile_names_are_shown_as_text, whole)
    check_hostile_names_are_shown_as_text(whole)


def test_verdict_answer_and_question_come_first(whole: Any, failed: Any, half: Any) -> None:
    start = "English Tiếng Việt mq-drill · crash-window"
    said = Page(whole.page).said.split(start)[1]
    answer = "All 3 criteria were proven. Cả 3 tiêu chí đã được chứng minh."
    assert said.startswith(f" PASS ĐẠT {answer} {DRILL.question} {DRILL.question_vi}")
    assert Page(failed.page).said.split(start)[1].startswith(" FAIL KHÔNG ĐẠT Criterion 1 failed.")
    assert Page(half.page).said.split(start)[1].startswith(" NOT RUN CHƯA CHẠY No criterion was judged.")


def test_a_quick_run_claims_no_full_proof(whole: Any) -> None:
    told = {**whole.told, "quick": True}
    assert "All 3 criteria passed with a quick run's smaller counts." == words.headline(told).en


def test_what_a_person_must_do_is_said_at_the_top(whole: Any, half: Any, failed: Any) -> None:
    def alarms(run: Any) -> list[str]:
        return [one.en for one in words.alarms(run.told)]

    recover = "mq-drill recover crash-window-20261201-021500-0000002a"
    assert [] == alarms(whole)
    assert [f"Still in place: kill_node rabbitmq-1. Run: {recover}", half_way()] == alarms(half)
    told = f"Still in place: stop_node rabbitmq-2. Run: {recover}"
    assert ["The rollback FAILED. A person is needed.", told] == alarms(failed)
    assert all(text in Page(failed.page).said for text in alarms(failed))


def test_why_a_run_was_aborted_is_said_at_the_top(half: Any) -> None:
    told = {**half.told, "state": "aborted", "ended_because": "alert DiskFull fires", "changes": []}
    assert ["This run was aborted: alert DiskFull fires"] == [one.en for one in words.alarms(told)]


def half_way() -> str:
    return "This run is not finished, or its driver was killed: what is below is what was stored until then."


def test_each_criterion_has_verdict_reason_and_evidence(whole: Any) -> None:
    said = Page(whole.page).said
    for one in whole.told["criteria"]:
        assert one["because"] in said
        assert one["title"]["en"] in said
        assert one["title"]["vi"] in said
    assert "counter 100" in said


def test_a_control_stands_in_a_section_of_its_own(whole: Any) -> None:
    before, after = whole.page.split('<span class="en">Negative controls</span>')
    section, _ = after.split("</section>", 1)
    assert "counter" in section
    assert "101" in section
    assert "Two copies without an inbox" in section
    assert "101" not in before.split("<main>")[1].replace("without an inbox 101", "")


def test_every_id_of_every_set_is_on_the_page(whole: Any) -> None:
    said = set(Page(whole.page).said.split())
    assert {*EVENTS, "U001"} <= said


def test_the_plots_show_phases_faults_hooks_and_what_was_measured(whole: Any) -> None:
    page = Page(whole.page)
    classes = [attributes.get("class") or "" for tag, attributes in page.elements if tag in ("rect", "circle", "path")]
    assert {"band p-fixture", "band p-inject", "shade fault", "band fault", "line l0", "line l1"} <= set(classes)
    assert {"mark hook", "mark fault", "mark recovery"} <= set(classes)
    assert "AFTER_DB_COMMIT_BEFORE_ACK E050 (after-commit/consumer), not released" in page.said
    assert 5 == sum(tag == "svg" for tag, _ in page.elements) + 1  # the overview and one for each case
    assert "undone: kill_process" in page.said


def test_a_line_is_broken_where_the_page_could_not_be_read() -> None:
    line = plot.Line("ready", [(0.0, 1.0), (2.0, None), (4.0, 3.0), (6.0, 2.0)])
    drawn = plot.case_plot("x", plot.Scale(0, 6), [], [], [], [plot.Panel("messages", "", [line])])
    path = re.findall(r'<path class="line l0" d="([^"]*)"', drawn)
    assert ["MML"] == ["".join(re.findall("[ML]", one)) for one in path]
    assert 3 == drawn.count("dot l0")


def test_names_in_plots_are_escaped() -> None:
    name = '"><script>'
    span = plot.Span(0, 6, name, "fault")
    line = plot.Line(name, [(0.0, 1.0)])
    scale = plot.Scale(0, 6)
    panel = plot.Panel(name, name, [line])
    drawn = plot.case_plot(name, scale, [span], [span], [], [panel]) + plot.overview(name, scale, [(name, [span])])
    assert "<script>" not in drawn
    assert "&#34;&gt;&lt;script&gt;" in drawn


@pytest.mark.parametrize(
    ("expected", "events"),
    [
        ([], []),
        (["E001"], ["E001"]),
        (["E001", "E002"], ["E001", "E002"]),
        (["E001 … E004", "E006", "U001"], ["E001", "E002", "E003", "E004", "E006", "U001"]),
        (["E9", "E10", "E11"], ["E9", "E10", "E11"]),
        (["x", "y"], ["x", "y"]),
    ],
)
def test_runs_of_ids_are_drawn_together(expected: list[str], events: list[str]) -> None:
    assert expected == document.ranges(events)


def test_lists_of_ids_are_short_in_evidence() -> None:
    value = {"inbox": ["E001", "E002", "E003"], "depths": [1, 2], "nested": [{"a": ["x"]}]}
    assert document.pretty(value) == document.json.dumps(
        {**value, "inbox": ["E001 … E003"]}, indent=1, ensure_ascii=False
    )


def test_cases_that_were_not_begun_are_named_and_no_more(half: Any) -> None:
    assert "not begun chưa bắt đầu : no-inbox" in Page(half.page).said


def test_every_word_is_there_in_both_languages_and_used() -> None:
    template = document.template()
    assert template.environment.loader
    source = template.environment.loader.get_source(template.environment, "report.html")[0]
    assert [] == [name for name, one in words.LABELS.items() if not (one.en and one.vi)]
    used = set(re.findall(r"W\.(\w+)", source))
    assert words.LABELS.keys() == used


def test_the_page_is_small(whole: Any) -> None:
    assert len(whole.page) < 120_000
