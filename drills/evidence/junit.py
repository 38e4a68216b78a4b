"""`junit.xml`: a test case for each criterion, as CI servers read it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # by XML 1.0, even as a reference


def junit(record: Mapping[str, Any]) -> bytes:
    """The run as a suite. FAIL is a failure; UNKNOWN and BLOCKED are errors; NOT RUN is skipped, which never passes.

    The form is the one of the Jenkins xUnit plugin's junit-10.xsd. A rollback that failed is an error of its own.
    """
    criteria = record["criteria"]
    verdicts = [one["verdict"] for one in criteria]
    rollback_failed = record["exit"]["rollback_failed"]
    counts = {
        "tests": len(verdicts) + rollback_failed,
        "failures": verdicts.count("FAIL"),
        "errors": verdicts.count("UNKNOWN") + verdicts.count("BLOCKED") + rollback_failed,
        "skipped": verdicts.count("NOT RUN"),
    }
    texts = {name: str(count) for name, count in counts.items()}
    seconds = f"{record['seconds'] or 0:.3f}"
    without_skipped = {name: text for name, text in texts.items() if name != "skipped"}  # which the schema lacks here
    suites = Element("testsuites", {"name": "mq-drill", **without_skipped, "time": seconds})
    began = {"timestamp": record["began"][:19], "time": seconds}
    suite = SubElement(
        suites, "testsuite", {"name": f"drill.{record['drill']}", "hostname": "localhost", **texts, **began}
    )
    properties = SubElement(suite, "properties")
    for name in ("run", "target", "seed", "quick", "state", "verdict", "parameters_sha256"):
        SubElement(properties, "property", {"name": name, "value": _clean(str(record[name]))})
    for one in criteria:
        _case(suite, record, one)
    if rollback_failed:
        case = SubElement(suite, "testcase", {"classname": f"drill.{record['drill']}", "name": "rollback", "time": "0"})
        left = [f"{one['number']} {one['kind']}: {one['undo_error']}" for one in record["changes"] if one["standing"]]
        SubElement(case, "error", {"message": "the rollback failed: a person is needed"}).text = _clean("\n".join(left))
    indent(suites)
    document: bytes = tostring(suites, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _case(suite: Element, record: Mapping[str, Any], one: Mapping[str, Any]) -> None:
    title = f" {one['title']['en']}" if one["title"] else ""
    attributes = {"classname": f"drill.{record['drill']}", "name": _clean(f"{one['number']}{title}"), "time": "0"}
    case = SubElement(suite, "testcase", attributes)
    tag = {"FAIL": "failure", "UNKNOWN": "error", "BLOCKED": "error", "NOT RUN": "skipped"}.get(one["verdict"])
    if tag is not None:
        said = SubElement(case, tag, {"message": _clean(one["because"])})
        if tag != "skipped":
            said.set("type", one["verdict"])
        said.text = _clean("\n".join(one["ids"]))
    else:
        SubElement(case, "system-out").text = _clean(one["because"])


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
