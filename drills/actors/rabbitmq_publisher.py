"""A publisher to RabbitMQ: PENDING in the ledger before each send, confirms, returns, nacks and its own deadline.

Commands: publish (events, confirm_seconds), retry (events, confirm_seconds), sentinel (event_id), stop. Events:
ready, outcome, settled (all attempts of a command have an outcome), retrying, sentinel_confirmed, blocked, lost,
failed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

import pika

from drills.actors.hooks import AFTER_CONFIRM_BEFORE_LEDGER
from drills.actors.messages import Message
from drills.actors.protocol import Driver
from drills.actors.publishing import Open, Publishing
from drills.actors.rabbitmq_link import Link, LinkError
from drills.model.publish import Outcome

LOOK = 0.1  # seconds: how late a deadline or a command may be noticed


@dataclass(frozen=True)
class Answer:
    """What came from the broker: a confirm or nack of all tags of a range, a return, or the loss of the channel."""

    kind: str
    tags: Sequence[int] = ()
    message_id: str = ""
    detail: dict[str, Any] | None = None


class Publisher(Publishing):
    """Sends from its own thread; answers come through a queue, so that a hook never holds the I/O thread."""

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver)
        self.queue: str = driver.options["queue"]
        self.answers: SimpleQueue[Answer] = SimpleQueue()
        self.link = Link(
            driver.options,
            lambda reason: self.answers.put(Answer("lost", detail={"reason": reason})),
            lambda reason: driver.say("blocked", reason=reason),
        )
        self.open: dict[int, Open] = {}
        self._sent = 0
        self._confirmed_up_to = 0

    def main(self) -> int:
        """Works until it is told to stop; the exit code."""
        self.driver.listen(self.hooks)
        try:
            self.link.open()
        except LinkError as error:
            self.driver.say("failed", reason=str(error))
            return 1
        self.link.call(self._set_up)
        self.driver.say("ready")
        waits_for_all = False
        while True:
            command = self.command()
            if command is not None and command["do"] == "stop":
                break
            if command is not None:
                waits_for_all = self._do(command) or waits_for_all
            self._take_answers()
            self.expire(self.open.values())
            if waits_for_all and all(one.settled for one in self.open.values()):
                waits_for_all = False
                self.driver.say("settled")
        self.link.close()
        return 0

    def _do(self, command: Any) -> bool:
        """Whether there is an end to be told."""
        if command["do"] == "sentinel":
            self._send(
                Open(command["event_id"], 0, time.monotonic() + command["confirm_seconds"]),
                Message(command["event_id"]),
            )
            return False
        events = [Message(**event) for event in command["events"]]
        for event in self.to_retry(events) if command["do"] == "retry" else events:
            self._send(self.attempt(event, command["confirm_seconds"]), event)
        return True

    def _set_up(self) -> None:
        channel = self.link.channel
        channel.add_on_return_callback(self._returned)
        channel.confirm_delivery(self._confirmed)

    def _send(self, attempt: Open, message: Message) -> None:
        properties = pika.BasicProperties(message_id=message.event_id, delivery_mode=2, content_type="application/json")
        body = message.body(self.run, self.case, self.writer)

        def publish() -> None:
            self.link.channel.basic_publish("", self.queue, body, properties, mandatory=True)

        self._sent += 1
        self.open[self._sent] = attempt
        try:
            self.link.call(publish)
        except Exception as error:  # noqa: BLE001 - whatever it was, the message may have left
            self.settle(attempt, Outcome.UNKNOWN, reason=repr(error))
        self.sent(attempt)

    # in the I/O thread

    def _returned(self, _channel: Any, method: Any, properties: Any, _body: bytes) -> None:
        detail = {"reply_code": method.reply_code, "reply_text": method.reply_text}
        self.answers.put(Answer("returned", message_id=properties.message_id, detail=detail))

    def _confirmed(self, frame: Any) -> None:
        method = frame.method
        kind = "confirmed" if method.NAME == "Basic.Ack" else "nacked"
        first = self._confirmed_up_to + 1 if method.multiple else method.delivery_tag
        if method.multiple:
            self._confirmed_up_to = max(self._confirmed_up_to, method.delivery_tag)
        self.answers.put(Answer(kind, range(first, method.delivery_tag + 1)))

    # in the thread that writes the ledger

    def _take_answers(self) -> None:
        wait = LOOK
        while True:
            try:
                answer = self.answers.get(timeout=wait)
            except Empty:
                return
            self._take(answer)
            wait = 0.001  # what else has come

    def _take(self, answer: Answer) -> None:
        if answer.kind == "lost":
            self.driver.say("lost", **(answer.detail or {}))
            for attempt in self.open.values():
                if not attempt.settled:
                    self.settle(attempt, Outcome.UNKNOWN, **(answer.detail or {}))
            self.open.clear()
        elif answer.kind == "returned":
            for attempt in self.open.values():
                if attempt.event_id == answer.message_id and attempt.returned is None:
                    attempt.returned = answer.detail
                    break
        else:
            for tag in answer.tags:
                if tag in self.open:
                    self._answered(self.open.pop(tag), answer.kind)

    def _answered(self, attempt: Open, kind: str) -> None:
        if kind == "nacked":
            self.settle(attempt, Outcome.NACKED, late=attempt.settled)
            return
        self.hooks.reach(AFTER_CONFIRM_BEFORE_LEDGER, attempt.event_id)
        if attempt.returned is not None:
            self.settle(attempt, Outcome.RETURNED, **attempt.returned, confirmed_after=True)
        else:
            self.settle(attempt, Outcome.CONFIRMED, late=attempt.settled)


if __name__ == "__main__":
    sys.exit(Publisher(Driver()).main())
