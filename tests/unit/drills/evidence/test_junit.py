"""The form of `junit.xml` is the one that CI servers accept (Jenkins' xUnit plugin, junit-10.xsd)."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from drills.evidence.junit import junit

# element -> its attributes, those it must have, its children; read from the schema
FORM = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, set(), {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"},
        {"name", "tests", "failures", "errors"},
        {"properties", "testcase"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, {"name", "value"}, set()),
    "testcase": ({"name", "time", "classname"}, {"name"}, {"skipped", "error", "failure", "system-out"}),
    "skipped": ({"type", "message"}, set(), set()),
    "error": ({"type", "message"}, set(), set()),
    "failure": ({"type", "message"}, set(), set()),
    "system-out": (set(), set(), set()),
}


@pytest.mark.parametrize("run", ["whole", "half", "failed"])
def test_the_form_is_accepted(run: str, request: pytest.FixtureRequest) -> None:
    root = ElementTree.fromstring((request.getfixturevalue(run).folder / "junit.xml").read_bytes())
    assert "testsuites" == root.tag
    for element in root.iter():
        allowed, required, children = FORM[element.tag]
        assert required <= set(element.keys()) <= allowed, element.tag
        assert {child.tag for child in element} <= children
        assert re.fullmatch(r"\d*(\.\d*)?", element.get("time", ""))


def counts(run: Any) -> tuple[str | None, ...]:
    suite = ElementTree.fromstring((run.folder / "junit.xml").read_bytes())[0]
    return tuple(suite.get(name) for name in ("tests", "failures", "errors", "skipped"))


def test_only_a_pass_passes(whole: Any, half: Any, failed: Any) -> None:
    """A failed rollback is one more test, and an error."""
    assert ("3", "0", "0", "0") == counts(whole)
    assert ("3", "0", "0", "3") == counts(half)
    assert ("4", "1", "3", "0") == counts(failed)


def test_the_counts_are_those_of_the_elements(failed: Any) -> None:
    root = ElementTree.fromstring((failed.folder / "junit.xml").read_bytes())
    found = tuple(str(len(list(root.iter(tag)))) for tag in ("testcase", "failure", "error", "skipped"))
    assert found == counts(failed)


def test_characters_that_xml_has_not_are_replaced(whole: Any) -> None:
    told = {**whole.told, "criteria": [{**whole.told["criteria"][0], "because": "\x00\x1b[31m\ud800 <é>"}]}
    root = ElementTree.fromstring(junit(told))
    assert "\ufffd\ufffd[31m\ufffd <é>" == root[0][1][0].text
