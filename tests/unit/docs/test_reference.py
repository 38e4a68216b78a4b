"""The reference pages and the example say what the code does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from exporter import docs, health
from exporter.config.explain import NOT_IN_FILES, section_of
from exporter.config.load import load
from exporter.config.model import Config
from exporter.metrics import registry

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/mq-exporter.yaml"
PAGES = {"docs/metrics.md": docs.metrics, "docs/configuration.md": docs.configuration}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_code_says(name: str) -> None:
    """When it is not: `mq-exporter metrics-doc [--configuration] --write docs/...`."""
    assert PAGES[name]().splitlines() == (ROOT / name).read_text().splitlines()


def test_every_family_is_described_once() -> None:
    families = [family.name for subject in registry.subjects() for family in subject.families]
    families += [family.name for family in health.FAMILIES]
    assert sorted(families) == sorted(re.findall(r"^\| `(mq_\w+)` \|", docs.metrics(), re.M))


def keys(section: type[BaseModel]) -> Iterator[tuple[str, str | None]]:
    for name, field in section.model_fields.items():
        if name not in NOT_IN_FILES:
            yield name, field.description
            below = section_of(field.annotation)
            if below is not None:
                yield from keys(below)


def test_every_key_says_what_it_is() -> None:
    assert [] == [name for name, description in keys(Config) if not description]


def test_the_example_can_be_used() -> None:
    config = load(EXAMPLE)
    assert ["orders", "tasks"] == [one.cluster for one in (*config.kafka, *config.rabbitmq)]


def test_the_example_shows_every_key_but_that_of_secrets_and_patterns() -> None:
    text = EXAMPLE.read_text()
    assert set() == {name for name, _ in keys(Config) if not re.search(rf"\b{name}:", text)}


def test_the_example_holds_with_everything_commented_in(tmp_path: Path) -> None:
    """The commented lines are valid too, files and secrets apart."""
    lines = [re.sub(r"^(\s*)# ( *[a-z_]+: ?.*)$", r"\1\2", line) for line in EXAMPLE.read_text().splitlines()]
    (tmp_path / "all.yaml").write_text("\n".join(lines))
    config = load(tmp_path / "all.yaml", check_files=False)
    assert "SASL_SSL" == config.kafka[0].client["security_protocol"]
    assert tmp_path / "client.key" == config.rabbitmq[0].client_key_file
