"""Formats and encodings are chosen as RFC 9110 says, and as Prometheus asks."""

from __future__ import annotations

import pytest

from exporter.http_negotiation import page_format, wants_gzip
from exporter.page import Format

PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)
TEXT_FIRST = "text/plain;version=0.0.4;q=0.6,application/openmetrics-text;version=1.0.0;q=0.4"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", Format.TEXT),
        ("*/*", Format.TEXT),
        (BROWSER, Format.TEXT),
        (PROMETHEUS_2, Format.OPENMETRICS),
        (PROMETHEUS_3, Format.OPENMETRICS),
        (TEXT_FIRST, Format.TEXT),
        ("application/openmetrics-text", Format.OPENMETRICS),
        ("APPLICATION/OpenMetrics-Text; Version=1.0.0", Format.OPENMETRICS),
        ('application/openmetrics-text; version="1.0.0"', Format.OPENMETRICS),
        ("application/openmetrics-text;version=0.0.1", Format.TEXT),
        ("application/openmetrics-text;q=0", Format.TEXT),
        ("application/openmetrics-text;q=0, */*", Format.TEXT),
        ("application/*;q=0.9, text/*;q=0.1", Format.OPENMETRICS),
        ("text/plain;q=0.1, */*;q=0.9", Format.OPENMETRICS),
        ("application/openmetrics-text;q=nonsense", Format.TEXT),
        ("application/openmetrics-text;q=1e9, text/plain;q=0.1", Format.TEXT),
        ("image/png", Format.TEXT),
        (";;;,,,=", Format.TEXT),
    ],
)
def test_the_format_is_the_one_preferred(accept: str, expected: Format) -> None:
    assert expected is page_format(accept)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", False),
        ("gzip", True),
        ("deflate, gzip;q=1.0, *;q=0.5", True),
        ("GZIP", True),
        ("x-gzip", True),
        ("gzip;q=0", False),
        ("gzip;q=0, *", False),
        ("*", True),
        ("*;q=0", False),
        ("identity", False),
        ("gzip;q=0.5, identity;q=1", False),
        ("gzip;q=0.5, identity;q=0.5", True),
        ("br, zstd", False),
        ("gzipped", False),
    ],
)
def test_gzip_is_used_where_it_is_welcome(header: str, expected: bool) -> None:
    assert expected is wants_gzip(header)
