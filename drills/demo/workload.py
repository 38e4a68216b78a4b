"""The workload as a process of its own: it works, writes its ledger, and holds what is to be held until ended."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

from drills.demo.kafka_work import KafkaWork
from drills.demo.ledger import Ledger
from drills.demo.rabbitmq_work import RabbitWork


def main(bootstrap: str, host: str, ports: str, ledger_file: str) -> int:
    """Work, write the ledger, hold until SIGTERM. A failure is printed and ends the process with 1."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    ledger = Ledger()
    kafka, rabbitmq = KafkaWork(bootstrap, ledger), RabbitWork(host, [int(port) for port in ports.split(",")], ledger)
    try:
        kafka.run()
        rabbitmq.run()
        ledger.save(Path(ledger_file))
        while not ended.wait(1.0):
            rabbitmq.hold()
    finally:
        kafka.close()
        rabbitmq.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
