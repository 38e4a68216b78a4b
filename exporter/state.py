"""Keeps what should survive a restart (history for estimates) in one file for each cluster."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

log = logging.getLogger(__name__)


class StateDir:
    """A folder with a JSON file for each cluster; one that can't be read is as good as none."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def load(self, cluster: str) -> dict[str, Any]:
        """What `save` kept, or an empty dict."""
        if self.folder is None or not (path := self.path(cluster)).exists():
            return {}
        try:
            state = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            log.warning("%s: history not read, estimates start anew: %s", path, error)
            return {}
        return state if isinstance(state, dict) else {}

    def save(self, cluster: str, state: dict[str, Any]) -> None:
        """Replace the file whole, or leave it as it was. A full disk costs the history, never the exporter."""
        if self.folder is None or not state:
            return
        path = self.path(cluster)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(state))
            temporary.replace(path)
        except OSError as error:
            log.warning("%s: history not saved: %s", path, error)
            temporary.unlink(missing_ok=True)

    def path(self, cluster: str) -> Path:
        """Where this cluster's history is; any character may occur in a cluster's name."""
        assert self.folder is not None
        return self.folder / f"{quote(cluster, safe='')}.json"
