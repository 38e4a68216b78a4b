"""Copies a fixed range of a topic into another one, unchanged, without those records that no reader can read.

Reads without a group: no live offset can move. Command: replay (ranges: partition -> [from, to)), stop. Events: ready,
replayed (ids, left_out: places), failed. Each event that is copied is a decision in the ledger first.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from drills.actors import contract
from drills.actors.contract import UnreadableError
from drills.actors.dead_letters import SOURCE
from drills.actors.hooks import Hooks
from drills.actors.protocol import Driver
from drills.ledger import Ledger

PATIENCE = 60.0  # seconds for the whole range, and for the broker to have it
# named wrong designs, for the proof of the drill
REPLAY_SKIPS_ONE = "replay_skips_one"  # its victim
REPLAYS_POISONS = "replays_poisons"


class Replayer:
    """From `topic` to `replay_topic`."""

    def __init__(self, driver: Driver) -> None:
        options = driver.options
        self.driver = driver
        self.case, self.name = options["case"], options["name"]
        self.topic, self.target = options["topic"], options["replay_topic"]
        self.mutant, self.victim = options.get("mutant"), options.get("victim")
        self.reader: int = options["reader"]
        self.ledger = Ledger(options["ledger_url"], options["run"])
        about = {"allow.auto.create.topics": False, "log_level": 3}
        alone = {"group.id": f"{self.target}-no-group", "enable.auto.commit": False, "auto.offset.reset": "error"}
        self.source = Consumer(
            {**options["client"], **about, **alone, "isolation.level": "read_committed", "enable.partition.eof": True}
        )
        self.sink = Producer({**options["client"], **about, "enable.idempotence": True})

    def main(self) -> int:
        """Works until it is told to stop; the exit code."""
        self.driver.listen(Hooks(self.ledger, self.case, self.name, self.driver.say))
        self.driver.say("ready")
        while (command := self.driver.commands.get())["do"] != "stop":
            try:
                ids, left_out = self._replay(command["ranges"])
            except (KafkaException, TimeoutError) as error:
                self.driver.say("failed", reason=str(error))
                return 1
            self.driver.say("replayed", ids=ids, left_out=left_out)
        self.source.close()
        return 0

    def _replay(self, ranges: Mapping[str, Sequence[int]]) -> tuple[list[str], list[str]]:
        ends = {int(partition): end for partition, (_, end) in ranges.items()}
        self.source.assign([TopicPartition(self.topic, int(number), begin) for number, (begin, _) in ranges.items()])
        open_ones = {number for number, end in ends.items() if end > ranges[str(number)][0]}
        ids: list[str] = []
        left_out: list[str] = []
        deadline = time.monotonic() + PATIENCE
        while open_ones:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.topic} was not read to {ends} within {PATIENCE:.0f} s")
            record = self.source.poll(1.0)
            if record is None or record.partition() not in open_ones:
                continue
            error, end = record.error(), ends[record.partition()]
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            if error is None and record.offset() < end:
                self._take(record, ids, left_out)
            behind = record.offset() + (1 if error is None else 0)  # the end of the log may be behind a marker
            if behind >= end:
                open_ones.discard(record.partition())
        if self.sink.flush(PATIENCE):
            raise TimeoutError(f"{self.target} did not take everything within {PATIENCE:.0f} s")
        return ids, left_out

    def _take(self, record: Any, ids: list[str], left_out: list[str]) -> None:
        place, body = f"{self.topic}/{record.partition()}/{record.offset()}", record.value() or b""
        try:
            event = contract.read(body, self.reader).event_id
        except UnreadableError:
            left_out.append(place)
            if self.mutant != REPLAYS_POISONS:
                return
            event = ""
        if self.mutant == REPLAY_SKIPS_ONE and event == self.victim:
            return
        if event:
            self.ledger.decide(self.case, event, "replay", by=self.name, place=place)
            ids.append(event)
        self.sink.produce(self.target, body, key=record.key(), headers=[(SOURCE, place)])


if __name__ == "__main__":
    sys.exit(Replayer(Driver()).main())
