"""What a run leaves behind for people and machines: a folder, written from its ledger alone."""

from __future__ import annotations

from drills.evidence.folder import write

__all__ = ["write"]
