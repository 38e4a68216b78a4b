"""How a worker and the driver talk: JSON lines, commands on stdin and events on stdout.

The first line that a worker reads is its options: they may hold a password, which a command line would show. A worker
does nothing before it has them, so that the driver can note its pid first. When stdin ends, the driver is dead: the
worker ends at once, without finishing anything, as what it does then is in nobody's plan.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from queue import SimpleQueue
from typing import Any, TextIO

ORPHANED = 70  # exit code of a worker whose driver died

Message = Mapping[str, Any]


class Driver:
    """The driver, as its worker sees it."""

    def __init__(self, reads: TextIO = sys.stdin, writes: TextIO = sys.stdout) -> None:
        self._reads, self._writes = reads, writes
        self._lock = threading.Lock()
        self._stepped = False
        self.commands: SimpleQueue[Message] = SimpleQueue()
        self.options: Message = self._next()

    def say(self, event: str, **fields: Any) -> None:
        """Tells the driver; may be used from any thread."""
        with self._lock:
            self._writes.write(json.dumps({"event": event, **fields}) + "\n")
            self._writes.flush()

    def step_clock(self) -> None:
        """The wall clock of this process jumps by so many seconds, where the options say so (`clock_step`)."""
        step, real = self.options.get("clock_step"), time.time
        if step and not self._stepped:
            self._stepped = True
            time.time = lambda: real() + step

    def listen(self, hooks: Any) -> None:
        """Takes commands from now on in a thread: `arm` and `release` go to the hooks, the others to `commands`."""
        threading.Thread(target=self._listen, args=(hooks,), daemon=True, name="commands").start()

    def _listen(self, hooks: Any) -> None:
        while True:
            command = self._next()
            self.step_clock()
            if command["do"] == "arm":
                hooks.arm(command["hook"], command["event_id"])
                self.say("armed", hook=command["hook"], event_id=command["event_id"])
            elif command["do"] == "release":
                hooks.release()
            else:
                self.commands.put(command)

    def _next(self) -> Message:
        line = self._reads.readline()
        if not line:
            os._exit(ORPHANED)
        found: Message = json.loads(line)
        return found
