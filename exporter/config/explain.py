"""pydantic's findings as plain sentences: where, what is wrong, what is allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from exporter.config.document import Document
from exporter.config.mistakes import Mistake, Path, dotted
from exporter.config.model import Config

NOT_IN_FILES = frozenset({"url_password", "other_secrets"})
EXPECTED = {
    "tuple_type": "expected a list, {got}",
    "dict_type": "expected keys with values, {got}",
    "model_type": "expected keys with values, {got}",
    "string_type": "expected text, {got}",
    "path_type": "expected a path, {got}",
    "int_type": "expected a whole number, {got}",
    "int_parsing": "expected a whole number, {got}",
    "int_from_float": "expected a whole number, {got}",
    "bool_type": "expected true or false, {got}",
    "bool_parsing": "expected true or false, {got}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be {ge} or more",
}
MAY_BE_SECRET = frozenset({"basic_auth_users", "cli_env"})  # values below these keys are never repeated
ONE_VALUE = frozenset({"str", "int", "float", "bool"})  # pydantic's names for the members of a union


def explain(error: ValidationError, document: Document, root: type[BaseModel] = Config) -> list[Mistake]:
    """One mistake for each place that pydantic objects to. `root` is what the whole document was meant to be."""
    found = error.errors(include_url=False)
    places = [_place(one["loc"], document.data) for one in found]
    mistakes: dict[Path, Mistake] = {}
    for one, place in zip(found, places, strict=True):
        if one["type"] == "too_short" and any(other[: len(place)] == place and other != place for other in places):
            continue  # it counts only the items that are right
        mistakes.setdefault(place, document.mistake(place, _sentence(one, place, document.data, root)))
    return list(mistakes.values())


def _place(loc: Path, data: Any) -> Path:
    """The location without the names of union members that pydantic appends."""
    if loc and loc[-1] in ONE_VALUE and (loc[2:3] == ("client",) or not isinstance(_at(loc[:-1], data), dict)):
        return loc[:-1]
    return loc


def _sentence(error: Mapping[str, Any], place: Path, data: Any, root: type[BaseModel]) -> str:
    kind, value = error["type"], _at(place, data)
    if len(place) > 1 and place[-2] in MAY_BE_SECRET and kind in EXPECTED:
        return EXPECTED[kind].format(got="got something else") + _hint(kind, value)
    if kind == "extra_forbidden":
        return _unknown(place, root)
    if kind == "missing":
        return "missing; this key is required"
    if kind == "too_short":
        return f"needs at least {error['ctx']['min_length']} item"
    if kind == "literal_error":
        return f"expected {error['ctx']['expected']}, {_got(value)}{_near(value, error['ctx']['expected'])}"
    if kind == "value_error":
        return str(error["ctx"]["error"])
    if len(place) > 1 and place[-2] == "client":
        return f"expected one value (text, a number, true or false), {_got(value)}"
    if kind == "model_type" and _is_secret(place):
        return "expected {file: PATH} or {env: NAME}; the secret itself never stands in this file"
    if kind in EXPECTED:
        return EXPECTED[kind].format(got=_got(value), **error.get("ctx", {})) + _hint(kind, value)
    return str(error["msg"])


def _got(value: Any) -> str:
    """What stands there instead; the content of scalars only."""
    if value is None:
        return "got nothing"
    if isinstance(value, bool):
        return f"got {str(value).lower()}"
    if isinstance(value, str):
        return f"got {value!r}" if len(value) <= 60 else "got a long text"
    if isinstance(value, (dict, list)):
        return "got keys with values" if isinstance(value, dict) else "got a list"
    return f"got {value}"


def _hint(kind: str, value: Any) -> str:
    if value is None:
        return "; give a value or delete the key"
    if kind == "tuple_type" and isinstance(value, (str, int)):
        return f"; write [{value}]"
    if kind == "tuple_type" and isinstance(value, dict):
        return "; put `- ` before the first key"
    if kind == "string_type" and not isinstance(value, (dict, list)):
        return "; put it in quotes"
    return ""


def _is_secret(place: Path) -> bool:
    return bool(place) and (place[-1] == "password" or (len(place) > 1 and place[-2] == "secrets"))


def _near(value: Any, expected: str) -> str:
    close = get_close_matches(str(value), expected.replace("'", "").replace(" or ", ", ").split(", "), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _at(path: Path, data: Any) -> Any:
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _unknown(place: Path, root: type[BaseModel]) -> str:
    key, known = str(place[-1]), _keys(section_at(place[:-1], root))
    homes = [name for name, section in _sections(root, ()) if key in _keys(section)]
    close = get_close_matches(key, known, 1, cutoff=0.7)
    if close:
        return f"unknown key; did you mean `{close[0]}`?"
    if homes:
        return f"unknown key here; it belongs in {' or '.join(f'`{home}`' for home in homes)}"
    return f"unknown key; known here: {', '.join(known)}"


def _keys(section: type[BaseModel] | None) -> list[str]:
    fields = {} if section is None else section.model_fields
    return [field.alias or name for name, field in fields.items() if name not in NOT_IN_FILES]


def section_at(path: Path, root: type[BaseModel] = Config) -> type[BaseModel] | None:
    """The section of the configuration that stands at this path; None when there is none."""
    section: type[BaseModel] | None = root
    for part in path:
        if isinstance(part, str) and section is not None and part in section.model_fields:
            section = section_of(section.model_fields[part].annotation)
        elif section is None:
            return None
    return section


def section_of(annotation: Any) -> type[BaseModel] | None:
    """The section within an annotation: of `Kafka`, `tuple[Kafka, ...]`, `dict[str, Secret]`, `Secret | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := section_of(part)) is not None), None)


def _sections(section: type[BaseModel], path: Path) -> Iterator[tuple[str, type[BaseModel]]]:
    """Every section with its path, without positions in lists: (`kafka.topics`, Filter)."""
    yield dotted(path) or "the top level", section
    for name, field in section.model_fields.items():
        below = section_of(field.annotation)
        if below is not None and name not in NOT_IN_FILES:
            yield from _sections(below, (*path, name))
