"""Takes over a new configuration: the whole of it or none, and says what changed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from exporter.config.mistakes import ConfigError
from exporter.config.model import Config
from exporter.log import StateLog, setup
from exporter.poll import Poller

log = logging.getLogger(__name__)
NEVER_SHOWN = frozenset(
    {"client", "secrets", "cli", "cli_env", "url_password"}
)  # values may tell more than they should
AT_RESTART = ("web.listen_address", "web.config_file", "state_dir")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether the new configuration is in force, and for people: what changed, or what is wrong."""

    succeeded: bool
    text: str


class Reloader:
    """`load` gives the configuration as it is now, and raises ConfigError; None when there is no file to read."""

    def __init__(self, poller: Poller, load: Callable[[], Config] | None, states: StateLog) -> None:
        self.poller = poller
        self.load = load
        self.states = states
        self._lock = threading.Lock()

    def reload(self) -> Outcome:
        """Read, judge and apply; one at a time."""
        if self.load is None:
            return Outcome(True, "nothing to reload: started without --config FILE")
        with self._lock:
            before = self.poller.config
            try:
                after = self.load()
                self.poller.apply(after)
            except (ConfigError, ValueError) as error:  # ValueError: a reader cannot be made of it
                self.poller.reload_failed()
                for line in str(error).splitlines():
                    log.error("configuration not reloaded, the one before stays in force: %s", line)
                return Outcome(False, f"not reloaded, the configuration before stays in force:\n{error}")
            except Exception:  # a fault of ours: the configuration before stays in force, and so does the process
                self.poller.reload_failed()
                log.exception("configuration not reloaded; this is a fault of the exporter")
                return Outcome(False, "not reloaded because of a fault of the exporter; its log says more")
            return self._told(before, after)

    def _told(self, before: Config, after: Config) -> Outcome:
        setup(after.log.level, after.log.format)
        names = [{name.partition("/")[2] for name in _clusters(config)} for config in (before, after)]
        self.states.forget(names[0] - names[1])
        told = list(changes(before, after)) or ["nothing changed"]
        for line in told:
            log.info("configuration reloaded: %s", line)
        return Outcome(True, "\n".join(["reloaded", *told]))


def changes(before: Config, after: Config) -> Iterator[str]:
    """What differs, one line each; values only where they can't be secret."""
    old, new = _clusters(before), _clusters(after)
    yield from (f"{name}: added" for name in new if name not in old)
    yield from (f"{name}: removed" for name in old if name not in new)
    for name in new:
        if name in old:
            yield from (f"{name}: {line}" for line in _differences(old[name], new[name], ""))
    rest = {"kafka", "rabbitmq"}
    for line in _differences(before.model_dump(exclude=rest), after.model_dump(exclude=rest), ""):
        at_restart = line.startswith(AT_RESTART)
        yield f"{line} (counts from the next start)" if at_restart else line


def _clusters(config: Config) -> dict[str, dict[str, Any]]:
    kafka = {f"kafka/{one.cluster}": one.model_dump() for one in config.kafka}
    return kafka | {f"rabbitmq/{one.cluster}": one.model_dump() for one in config.rabbitmq}


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for key in new:
        before, after = old.get(key), new[key]
        if before == after:
            continue
        if key in NEVER_SHOWN:
            yield f"{prefix}{key} changed"
        elif isinstance(before, dict) and isinstance(after, dict):
            yield from _differences(before, after, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key} {_shown(before)} -> {_shown(after)}"


def _shown(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(str, value))}]"
    return "nothing" if value is None else str(value)
