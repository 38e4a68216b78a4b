"""Control characters shown as what they are: names come from strangers."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text with control characters, and those that turn its direction around, as escapes; line breaks stay."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)
