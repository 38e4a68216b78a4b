"""What every part of the configuration is made of: a section, times, sizes, patterns."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_duration(value: object) -> float:
    """Seconds from `15s`, `250ms`, `7d` or a plain number of seconds."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError("expected a duration such as 15s, 5m or 7d")
    if isinstance(value, (int, float)):
        return float(value)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", value.strip())
    if match is None:
        raise ValueError(f"expected a duration such as 15s, 5m or 7d, got {value!r}")
    return float(match[1]) * UNITS[match[2]]


def parse_size(value: object) -> int | float:
    """Bytes from `10GiB`, `500MB` or a number; a share of the disk (0 to 1) from `5%`."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%|B|[kMGT]i?B)", str(value).strip())
    if match is None:
        raise ValueError(f"expected a size such as 10GiB, or a share of the disk such as 5%, got {value!r}")
    if match[2] == "%":
        return float(match[1]) / 100
    power = "BkMGT".index(match[2][0]) if match[2] != "B" else 0
    return int(float(match[1]) * (1024 if "i" in match[2] else 1000) ** power)


def check_pattern(value: str) -> str:
    """A regular expression that must match the whole name. Raises ValueError when it does not compile."""
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"{value!r} is not a regular expression: {error}") from None
    return value


Duration = Annotated[float, BeforeValidator(parse_duration), Field(gt=0)]
Size = Annotated[int | float, BeforeValidator(parse_size), Field(ge=0)]
Pattern = Annotated[str, AfterValidator(check_pattern)]


class Section(BaseModel):
    """A part of the file: no unknown keys, no change after loading. Texts below keys go into docs/configuration.md."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True)
