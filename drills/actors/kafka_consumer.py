"""A consumer of Kafka: one record at a time, the business in one transaction, then the offset, by hand.

Commands: join (hold: partitions), let (partitions), stop. Events: ready, assigned, held, delivered, handled, committed,
set_aside, dead_letter, sentinel, not_committed, trouble, lost.

One thread polls, handles and commits, so that a held handler polls no more: heartbeats go on for as long as
`max.poll.interval.ms`, which is longer than any case. A held *partition* (the barrier) is paused, and polling goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from queue import Empty
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from drills.actors import messages
from drills.actors.consuming import Consuming
from drills.actors.contract import UnreadableError
from drills.actors.dead_letters import DeadLetters
from drills.actors.hooks import AFTER_DB_COMMIT_BEFORE_ACK, AFTER_DEAD_LETTER_BEFORE_COMMIT
from drills.actors.protocol import Driver

LOOK = 0.1  # seconds: how late a command may be noticed
STRATEGY = "range"
PINNED = {
    "group.protocol": "classic",
    "partition.assignment.strategy": STRATEGY,
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "earliest",  # what is written to a new partition before it is seen is not skipped
    "session.timeout.ms": 10_000,
    "heartbeat.interval.ms": 1_000,
    "max.poll.interval.ms": 600_000,
    "topic.metadata.refresh.interval.ms": 1_000,  # new partitions are noticed within a second
    "allow.auto.create.topics": False,
    "log_level": 3,
}
# named wrong designs, for the proof of the drill, beside those of `consuming`
COMMITS_HELD = "commits_held"  # commits past what it holds
HOLDS_NOTHING = "holds_nothing"  # the barrier has no effect


class KafkaWorker(Consuming):
    """One member of the group."""

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver)
        options = driver.options
        self.topic: str = options["topic"]
        self.held: set[int] = set()
        self.mine: set[int] = set()
        about = {"group.id": options["group"], "client.id": self.name.replace("/", ".")}
        self.client = Consumer({**options["client"], **PINNED, **about})
        self.dead_letters: DeadLetters | None = None
        if "dead_letters" in options:
            self.dead_letters = DeadLetters(
                options["client"], options["dead_letters"], options["transactional_id"], self.client, self.mutant
            )

    def main(self) -> int:
        """Works until it is told to stop, or can't go on; the exit code."""
        self.driver.listen(self.hooks)
        self.driver.say("ready", strategy=STRATEGY, reader=self.reader)
        joined = False
        while True:
            command = self._command(0.0 if joined else LOOK)
            if command is not None and command["do"] == "stop":
                break
            if command is not None:
                joined = True
                self._do(command)
            record = self.client.poll(LOOK) if joined else None
            if record is not None and not self._take(record):
                return 1
        self.client.close()
        return 0

    def _command(self, seconds: float) -> Any:
        try:
            return self.driver.commands.get(timeout=seconds) if seconds else self.driver.commands.get_nowait()
        except Empty:
            return None

    def _do(self, command: Any) -> None:
        if command["do"] == "join":
            self.held = set() if self.mutant == HOLDS_NOTHING else set(command["hold"])
            self.client.subscribe([self.topic], on_assign=self._assigned, on_revoke=self._revoked)
        elif command["do"] == "let":
            freed = self.held & set(command["partitions"])
            self.held -= freed
            self.client.resume(self._places(freed & self.mine))

    # the group

    def _assigned(self, client: Any, partitions: Iterable[Any]) -> None:
        """A new assignment begins unpaused: what is held is held again before anything of it can be handed out."""
        places = list(partitions)
        client.assign(places)
        self.mine = {place.partition for place in places}
        client.pause(self._places(self.held & self.mine))
        self.driver.say("assigned", partitions=sorted(self.mine), held=sorted(self.held & self.mine))

    def _revoked(self, client: Any, _: Any) -> None:
        """Nothing is in hand while it polls, so nothing is to be finished."""
        client.unassign()
        self.mine = set()

    def _places(self, partitions: Iterable[int]) -> list[Any]:
        return [TopicPartition(self.topic, number) for number in sorted(partitions)]

    # records

    def _take(self, record: Any) -> bool:
        """Handles what came; False when this consumer can't go on."""
        error = record.error()
        if error is not None:
            self.driver.say("lost" if error.fatal() else "trouble", reason=error.str())
            return not error.fatal()
        if record.partition() in self.held:
            self._hold(record)
        else:
            self._handle(record)
        return True

    def _hold(self, record: Any) -> None:
        """One that was on its way when its partition was held: it is read again later."""
        self._again(record)
        self.client.pause(self._places([record.partition()]))
        self.driver.say("held", partition=record.partition(), offset=record.offset())

    def _again(self, record: Any) -> None:
        try:
            self.client.seek(TopicPartition(self.topic, record.partition(), record.offset()))
        except KafkaException as error:  # it is not ours any more: whoever has it begins at the committed offset
            self.driver.say("trouble", reason=str(error))

    def _handle(self, record: Any) -> None:
        place = f"{self.topic}/{record.partition()}/{record.offset()}"
        try:
            event, amount = self.read(record.value() or b"", place)
        except UnreadableError as error:
            self._put_away(record, place, error)
            return
        if messages.is_sentinel(event.event_id):
            if self._commit(record, event.event_id):
                self.driver.say("sentinel", event_id=event.event_id)
            return
        self.ledger.delivered(self.case, event.event_id, self.name, place, payload_hash=event.payload_hash)
        self.driver.say("delivered", event_id=event.event_id, place=place)
        if not self.skips(event):
            self.apply(event, amount)
        self.hooks.reach(AFTER_DB_COMMIT_BEFORE_ACK, event.event_id)
        self._commit(record, event.event_id)
        if self.mutant == COMMITS_HELD:
            self._commit_held()

    def _put_away(self, record: Any, place: str, error: UnreadableError) -> None:
        """What can't be read goes to the dead-letter topic, or into quarantine; it comes again when that fails."""
        if self.dead_letters is None:
            self.set_aside(record.value() or b"", place, error)
            self._commit(record, "")
            return
        try:
            held = partial(self.hooks.reach, AFTER_DEAD_LETTER_BEFORE_COMMIT, place)
            self.dead_letters.move(record, place, error, held)
        except KafkaException as failure:
            if failure.args[0].fatal():  # such as another one with its transactional ID: no later try would succeed
                raise
            self.driver.say("trouble", reason=str(failure))
            self._again(record)
            return
        self.driver.say("dead_letter", place=place, error_class=error.error_class)

    # offsets

    def _commit(self, record: Any, event_id: str) -> bool:
        """The next offset to read; one that is not committed is read again, as nothing else would commit it."""
        refusal = self._committed(record.partition(), record.offset() + 1)
        if refusal is None:
            self.driver.say("committed", event_id=event_id, partition=record.partition(), offset=record.offset() + 1)
            return True
        self.driver.say("not_committed", event_id=event_id, reason=refusal)
        self._again(record)
        return False

    def _committed(self, partition: int, offset: int) -> str | None:
        """Commits and waits; why it was refused. A commit that returns may still hold an error for its partition."""
        asked = [TopicPartition(self.topic, partition, offset)]
        try:
            answers = self.client.commit(offsets=asked, asynchronous=False)
        except KafkaException as error:
            return str(error)
        wrong = [str(one.error) for one in answers or () if one.error is not None]
        return "; ".join(wrong) or None

    def _commit_held(self) -> None:
        for partition in sorted(self.held & self.mine):
            _, end = self.client.get_watermark_offsets(TopicPartition(self.topic, partition), timeout=10)
            self._committed(partition, end)


if __name__ == "__main__":
    sys.exit(KafkaWorker(Driver()).main())
