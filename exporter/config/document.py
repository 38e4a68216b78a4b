"""YAML with positions: the data of a file, where each key stands, and what is wrong with the YAML itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import yaml

from exporter.config.mistakes import ConfigError, Mistake, Path, dotted

SECRETIVE = re.compile(r"(?i)pass|secret|token|users|env")
DEEPEST = 20  # levels; also ends an alias that contains itself
MOST_VALUES = 200_000  # aliases of aliases can make a small file endless


@dataclass(slots=True)
class Document:
    """What a file says. `positions` gives line and column, from 1, of each key or list item."""

    origin: str
    data: Any = None
    positions: dict[Path, tuple[int, int]] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)

    def mistake(self, path: Path, text: str, key: str | None = None) -> Mistake:
        """A mistake at the nearest place that is known for this path."""
        line: int | None = None
        column: int | None = None
        for length in range(len(path), 0, -1):
            if path[:length] in self.positions:
                line, column = self.positions[path[:length]]
                break
        return Mistake(self.origin, line, column, dotted(path) if key is None else key, text)


def read(path: FilePath) -> Document:
    """The document in this file. Raises ConfigError when it cannot be read or is no YAML at all."""
    origin = str(path)
    if why := unreadable(path):
        raise ConfigError([Mistake(origin, None, None, "", why)])
    try:
        document = parse(path.read_text(encoding="utf-8"), origin)
    except UnicodeDecodeError as error:
        text = f"not a text file in UTF-8: byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise ConfigError([Mistake(origin, None, None, "", text)]) from None
    if document.data is None and document.mistakes:
        raise ConfigError(document.mistakes)
    return document


def unreadable(path: FilePath) -> str:
    """Why this file cannot be read, as a sentence; empty when it can."""
    try:
        with path.open("rb"):
            return ""
    except FileNotFoundError:
        return f"there is no file {path}"
    except IsADirectoryError:
        return f"{path} is a directory, not a file"
    except PermissionError:
        return f"no permission to read {path}"
    except (OSError, ValueError) as error:
        return f"cannot read {path}: {error}"


def parse(text: str, origin: str) -> Document:
    """The document. Broken YAML is its only mistake, with no data; doubled keys and tags are told beside the data."""
    document = Document(origin)
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is not None:
            document.data = _Walk(document, loader).value(node, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        context = error.context
        if context and error.context_mark and mark and error.context_mark.line != mark.line:
            context += f" from line {error.context_mark.line + 1} on:"
        problem = error.problem or ""
        if "alias" in problem:  # what is named may be a password that begins with `*`
            problem = "an alias (`*NAME`) that no anchor defines; put text that begins with `*` in quotes"
        document.mistakes.append(_broken(origin, mark, " ".join(filter(None, (context, problem)))))
    except yaml.reader.ReaderError as error:
        what = f"not a text file: character #x{error.character:02x} at offset {error.position}"
        document.mistakes.append(Mistake(origin, None, None, "", what))
    return document


def _broken(origin: str, mark: Any, problem: str) -> Mistake:
    line, column = (None, None) if mark is None else (mark.line + 1, mark.column + 1)
    hint = "; indent with spaces, not tabs" if "'\\t'" in problem else ""
    return Mistake(origin, line, column, "", f"this is not YAML: {problem}{hint}")


class _Walk:
    """Turns nodes into data, noting positions and doubled keys on the way."""

    def __init__(self, document: Document, loader: yaml.SafeLoader) -> None:
        self.document = document
        self.loader = loader
        self.values = 0

    def value(self, node: yaml.Node, path: Path) -> Any:
        self.values += 1
        if len(path) > DEEPEST or self.values > MOST_VALUES:
            raise yaml.MarkedYAMLError(problem="nested too deeply, or too many values", problem_mark=node.start_mark)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            self.refuse_tag(node, path, "tag:yaml.org,2002:seq")
            return [self.item(child, (*path, number)) for number, child in enumerate(node.value)]
        return self.scalar(node, path)

    def scalar(self, node: yaml.Node, path: Path) -> Any:
        try:
            return self.loader.construct_object(node)
        except (yaml.constructor.ConstructorError, ValueError):  # ValueError: a date that does not exist
            self.refuse_tag(node, path, "")
            return str(node.value)

    def refuse_tag(self, node: yaml.Node, path: Path, usual: str) -> None:
        if node.tag != usual:
            tag = node.tag.removeprefix("tag:yaml.org,2002:")
            hidden = any(SECRETIVE.search(part) for part in path if isinstance(part, str))  # it may be half a password
            text = f"{'tagged' if hidden else f'`{tag}`'} values are not known here; write plain text in quotes"
            self.document.mistakes.append(self.document.mistake(path, text))

    def item(self, node: yaml.Node, path: Path) -> Any:
        self.note(node, path)
        return self.value(node, path)

    def mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        self.refuse_tag(node, path, "tag:yaml.org,2002:map")
        self.refuse_doubled(node, path)
        self.loader.flatten_mapping(node)  # merge keys (<<)
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            self.note(key_node, (*path, key))
            result[key] = self.value(value_node, (*path, key))
        return result

    def refuse_doubled(self, node: yaml.MappingNode, path: Path) -> None:
        first: dict[str, int] = {}
        for key_node, _ in node.value:
            key, line = str(key_node.value), key_node.start_mark.line + 1
            if key in first and key != "<<":
                place = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
                text = f"given twice, first in line {first[key]}; delete one"
                self.document.mistakes.append(Mistake(self.document.origin, *place, dotted((*path, key)), text))
            first.setdefault(key, line)

    def note(self, node: yaml.Node, path: Path) -> None:
        self.document.positions[path] = (node.start_mark.line + 1, node.start_mark.column + 1)
