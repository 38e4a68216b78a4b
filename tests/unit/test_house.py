"""The house rules that a machine can check: imports run one way, functions and modules stay small."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for part in ("exporter", "drills") for path in (ROOT / part).rglob("*.py"))
BROKER_LIBRARIES = {"kafka", "confluent_kafka", "pika", "requests"}
MAY_IMPORT = {
    "exporter.model": {"exporter.model"},
    "exporter.metrics": {"exporter.metrics", "exporter.model"},
    "exporter.config": {"exporter.config", "exporter.clients.kafka.properties"},
    "exporter.clients": {"exporter.clients", "exporter.model", "exporter.config", "exporter.VERSION"},
    "exporter.page": {"exporter.metrics", "exporter.model"},
    "exporter.budget": {"exporter.metrics", "exporter.model"},
    "exporter.health": {"exporter.metrics", "exporter.model", "exporter.VERSION"},
    "drills.model": {"drills.model", "drills.reconcile"},
    "drills.reconcile": {"drills.model"},
    "drills.criteria": {"drills.criteria", "drills.model", "drills.reconcile"},
    "drills": {"drills"},
}
"""Part -> what of this project it may import. Parts that are not named here join the others together."""


POLLS_UNDER_A_DEADLINE = {"drills.lab.waiting", "drills.lab.locks"}
"""The state of another process gives no event to wait for: these look again until it is so or the time is up."""


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def inside(name: str, part: str) -> bool:
    return name == part or name.startswith(part + ".")


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_imports_run_one_way(path: Path) -> None:
    part = next((part for part in MAY_IMPORT if inside(module_of(path), part)), None)
    if part is None:
        return
    ours = {name for name in imports(path) if inside(name, "exporter") or inside(name, "drills")}
    assert set() == {name for name in ours if not any(inside(name, allowed) for allowed in MAY_IMPORT[part])}


@pytest.mark.parametrize("path", [path for path in SOURCES if "exporter" in path.parts], ids=module_of)
def test_only_clients_import_broker_libraries(path: Path) -> None:
    if inside(module_of(path), "exporter.clients"):
        return
    assert set() == {name for name in imports(path) if name.split(".")[0] in BROKER_LIBRARIES}


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_modules_and_functions_stay_small(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 500
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    assert [] == [node.name for node in functions if node.end_lineno - node.lineno >= 60]


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_nothing_waits_by_sleeping(path: Path) -> None:
    """Waits are on conditions: `Event.wait`, `select`, a condition polled under a deadline in one place."""
    if module_of(path) in POLLS_UNDER_A_DEADLINE:
        return
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert [] == [node.lineno for node in calls if ast.unparse(node.func) in {"time.sleep", "sleep"}]
