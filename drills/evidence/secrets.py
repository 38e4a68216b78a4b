"""Keeps secrets out of the evidence: those that are known by value, and what looks like one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

HIDDEN = "***"
SHORTEST = 4  # characters: a shorter value, such as "dev", would blot out words that are no secret
_IN_URL = re.compile(r"(?<=://)([^\s/@:\"']*):[^\s/@\"']+(?=@)")
_NAME = r"[\w.-]*(?:password|passwd|secret|token|cookie|credential|private_key|api_?key)[\w.-]*"
_NAMED = re.compile(rf"(?i)^{_NAME}$")
_ASSIGNED = re.compile(rf"(?i)(\b{_NAME}[\"']?\s*[=:]\s*)(\"[^\"\n]*\"|'[^'\n]*'|[^\s,;}}&\"']+)")
_HEADER = re.compile(r"(?i)(\bauthorization[\"']?\s*[=:]\s*[\"']?(?:basic|bearer)\s+)[^\s\"',}]+")


class Redaction:
    """Takes secrets out of text and JSON. `known`: values that must not appear, also as part of a URL."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        spelled = {form for value in known if len(value) >= SHORTEST for form in (value, quote(value, safe=""))}
        longest_first = sorted(spelled, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        """The text with each secret replaced by `***`."""
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        text = _IN_URL.sub(rf"\1:{HIDDEN}", text)
        text = _HEADER.sub(rf"\1{HIDDEN}", text)
        return _ASSIGNED.sub(lambda found: f"{found[1]}{_like(found[2])}", text)

    def json(self, value: Any) -> Any:
        """A JSON value with its strings redacted, keys too; a string under a key such as `password` is hidden whole."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._under(str(key), one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.json(one) for one in value]
        return value

    def _under(self, key: str, value: Any) -> Any:
        return HIDDEN if isinstance(value, str) and value and _NAMED.match(key) else self.json(value)


def _like(value: str) -> str:
    """Hidden, with the quotes that it had."""
    quotes = value[0] if value[:1] in "\"'" and len(value) > 1 else ""
    return f"{quotes}{HIDDEN}{quotes}"
