"""docs/proof.md: which tests on real brokers prove which metric and which promise. `python -m tests.proof --write`.

A test mentions what stands as a whole string in it, in its decorators, or in the functions and constants of its own
module that it uses. Fixtures are left out: waiting for a metric is no claim about it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from exporter import health
from exporter.metrics import registry
from tests.written_page import write_or_print

ROOT = Path(__file__).parents[1]
BROKER = ROOT / "tests" / "broker"
OVER_HTTP = BROKER / "exporter"
PAGE = ROOT / "docs" / "proof.md"
HEAD = """\
# What proves it

Every metric and every promise has tests on real brokers. Those of the first table start a real `mq-exporter`, read its
page over HTTP, and compare it with an independent witness: another client's answer, the management API, `/proc`, the
file system, or the test's own ledger of what it put in. The tests of the readers (one poll, no page) come after `·`.

Written by `python -m tests.proof --write`; do not edit.
"""
MUTATIONS_HEAD = """\
## Checks that were seen to fail

A check that nobody saw fail proves nothing. Each of these breaks the product on purpose; the test beside it runs with
the break in force too, and must object. `pytest --mutate NAME` runs any test with one, to see it fail.
"""

PROMISES = {
    1: ("Commits are read before ends.", ("ends_before_commits",)),
    2: ("A scrape never touches a broker; data that is too old is withheld.",
        ("scrapes_ask_the_brokers", "old_data_stays")),
    3: ("What fails hides nothing else, and is visible.",
        ("one_bad_cluster_hides_all", "one_bad_group_hides_all", "silent_groups_count_as_gone", "dead_nodes_missing",
         "management_alone")),
    4: ("Nothing lingers, and asking creates nothing.",
        ("what_was_seen_lingers", "topics_are_their_names", "deleted_topics_linger", "metadata_may_create")),
    5: ("The page is valid to strict parsers.", ("labels_as_they_are", "clusters_one_after_the_other")),
    6: ("The budget of series is kept, and the highest lags stay.", ("no_budget", "budget_by_name")),
    7: ("Work is bounded.", ("overruns_pass_unnoticed", "frozen_brokers_are_asked_again")),
    9: ("Liveness is the process, readiness the first page.",
        ("healthy_means_brokers_answer", "ready_from_the_start")),
}  # fmt: skip
"""Number of the promise -> what it is, and the breaks of it that tests catch."""


@dataclass(frozen=True, order=True)
class Test:
    """One test function."""

    path: str  # from the root of the repository
    name: str

    @property
    def claim(self) -> str:
        return self.name.removeprefix("test_").replace("_", " ")

    @property
    def link(self) -> str:
        return f"[{self.claim}](../{self.path})"


def mentions(source: str) -> dict[str, set[str]]:
    """Test name -> every whole string that it mentions."""
    module = ast.parse(source)
    owned = {name: node for node in module.body for name in _names(node)}
    return {name: _strings(node, owned, set()) for name, node in owned.items() if name.startswith("test_")}


def _names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        if not any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list):
            yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))


def _strings(node: ast.AST, owned: dict[str, ast.stmt], done: set[str]) -> set[str]:
    found = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            found.add(inner.value)
        elif isinstance(inner, ast.Name) and inner.id in owned and inner.id not in done:
            done.add(inner.id)
            found |= _strings(owned[inner.id], owned, done)
    return found


@cache
def tests_of(folder: Path) -> dict[Test, set[str]]:
    """Every test below the folder -> the strings it mentions."""
    return {
        Test(str(path.relative_to(ROOT)), name): strings
        for path in sorted(folder.rglob("test_*.py"))
        for name, strings in mentions(path.read_text()).items()
    }


@cache
def mutations() -> dict[str, str]:
    """Mutation -> what it breaks, from its docstring."""
    return {
        node.name: " ".join((ast.get_docstring(node) or "").split())
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and "mutation" in map(ast.unparse, node.decorator_list)
    }


def families() -> list[str]:
    """Every family, in the order of the reference."""
    measured = [family.name for subject in registry.subjects() for family in subject.families]
    return measured + [family.name for family in health.FAMILIES]


def proving(tests: dict[Test, set[str]], word: str) -> list[Test]:
    """The tests that mention it."""
    return sorted(test for test, strings in tests.items() if word in strings)


def page() -> str:
    """docs/proof.md."""
    tests = tests_of(BROKER)
    lines = [HEAD, "## Metrics\n", "| metric | proven by |", "| --- | --- |"]
    lines += [f"| `{family}` | {_cell(proving(tests, family))} |" for family in families()]
    lines += ["", "## Promises\n", "| promise | seen to fail under |", "| --- | --- |"]
    lines += [f"| {number}. {what} | {_names_of(breaks)} |" for number, (what, breaks) in PROMISES.items()]
    lines += ["", MUTATIONS_HEAD, "| break | what it does | caught by |", "| --- | --- | --- |"]
    everywhere = tests_of(ROOT / "tests")
    lines += [
        f"| `{name}` | {what} | {_links(proving(everywhere, name))} |" for name, what in sorted(mutations().items())
    ]
    return "\n".join(lines) + "\n"


def _names_of(breaks: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in breaks)


def _cell(tests: Iterable[Test]) -> str:
    tests = list(tests)
    over_http = [test for test in tests if (ROOT / test.path).is_relative_to(OVER_HTTP)]
    readers = [test for test in tests if test not in over_http]
    return " · ".join(part for part in (_links(over_http), _links(readers)) if part)


def _links(tests: Iterable[Test]) -> str:
    return "; ".join(test.link for test in tests)


if __name__ == "__main__":
    sys.exit(write_or_print(PAGE, page, sys.argv[1:]))
