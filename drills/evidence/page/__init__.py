"""`report.html`: one run on one page that needs nothing else, for a person who was not there."""

from __future__ import annotations

from drills.evidence.page.document import Sets, render

__all__ = ["Sets", "render"]
