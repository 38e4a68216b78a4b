"""A worker process that does nothing, and ends with its driver."""

from __future__ import annotations

import json
import os
import sys

if __name__ == "__main__":
    sys.stdin.readline()  # its options
    sys.stdout.write(json.dumps({"event": "ready"}) + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        if json.loads(line)["do"] == "stop":
            sys.exit(0)
    os._exit(1)
