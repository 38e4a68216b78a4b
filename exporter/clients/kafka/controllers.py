"""The quorum of controllers, at a slow pace: who leads, how far the voters are behind, and the leader's clock."""

from __future__ import annotations

import time

from exporter.clients.kafka import codes, rights
from exporter.clients.kafka.brokers import Brokers, Failure
from exporter.clients.kafka.messages import quorum
from exporter.clients.kafka.messages.quorum import QuorumAnswer
from exporter.clients.kafka.recorder import Kept, Recorder
from exporter.clients.kafka.wire import MalformedError
from exporter.model.common import CollectorRun, Kind
from exporter.model.kafka import Quorum

NAME = "quorum"
KEY = "quorum"
MAX_ROUND_TRIP = 2.0


class QuorumReader:
    """Keeps the last answer for three intervals.

    Brokers forward this request to the active controller, and hang with it when that one hangs. So it has a connection
    of its own, and one broker is asked, once: a controller that is frozen must not make healthy brokers look frozen.
    """

    def __init__(self, brokers: Brokers, link: Brokers, interval: float, poll_interval: float) -> None:
        self._brokers = brokers
        self._link = link
        self._turn = 0
        self._interval = interval
        self._kept: Kept[tuple[Quorum, dict[str, float]]] = Kept(interval, poll_interval)
        self._run: CollectorRun | None = None

    def read(self) -> CollectorRun | None:
        """Bring it up to date when it is time; the account of the last time."""
        if self._kept.due():
            with Recorder(NAME, self._interval) as run:
                self._ask(run)
            self._run = run.run()
        return self._run

    def quorum(self) -> Quorum | None:
        """The quorum as last seen."""
        kept = self._kept.get(KEY)
        return kept[0] if kept else None

    def clock_offsets(self) -> dict[str, float]:
        """The leader's clock minus ours, in seconds, by the leader's id."""
        kept = self._kept.get(KEY)
        return kept[1] if kept else {}

    def _ask(self, run: Recorder) -> None:
        before = time.time()
        answer = self._ask_one()
        after = time.time()
        if isinstance(answer, Failure):
            self._turn += 1  # another broker next time
            run.problem("quorum", answer)
            return
        try:
            found = quorum.decode(answer[1], answer[0])
        except MalformedError as error:
            run.malformed("quorum", error)
            return
        if found.error == codes.CLUSTER_DENIED:
            run.problem(rights.CLUSTER, rights.DESCRIBE_CLUSTER.failure())
            return
        if found.error or min(found.leader, found.epoch) < 0:
            run.problem("quorum", codes.failure(found.error or codes.LEADER_NOT_AVAILABLE, found.message))
            return
        self._kept.put(KEY, (facts(found), clock_offsets(found, before, after)))

    def _ask_one(self) -> tuple[int, bytes] | Failure:
        """The version used and the answer of one broker that has not failed in this poll."""
        live = [broker for broker in self._brokers.known if self._brokers.failure(broker) is None]
        if not live:
            return Failure(Kind.UNREACHABLE, "no broker answers that could ask the active controller")
        broker = live[self._turn % len(live)]
        address = self._brokers.address(broker)
        assert address is not None
        self._link.begin()
        self._link.learn({broker: address})
        version = self._link.version(broker, quorum.API_KEY, quorum.LOWEST, quorum.HIGHEST)
        if version is None:
            return self._link.failure(broker) or self._link.unsupported(broker, "DescribeQuorum (KRaft)")
        answer = self._link.ask({broker: [quorum.request(version)]})[broker]
        if not isinstance(answer, Failure):
            return version, answer[0]
        if answer.kind is Kind.TIMEOUT:
            words = "the broker forwards this to the active controller: is that one alive, and is there one?"
            return Failure(Kind.TIMEOUT, f"{address}: no answer to DescribeQuorum: {words}")
        return answer


def facts(found: QuorumAnswer) -> Quorum:
    """Lags of the voters whose log end is known and not beyond the leader's, which cannot be; the leader's own is 0."""
    leader_end = next((voter.log_end for voter in found.voters if voter.node == found.leader), -1)
    known = {voter.node: leader_end - voter.log_end for voter in found.voters if 0 <= voter.log_end <= leader_end}
    return Quorum(found.leader, found.epoch, len(found.voters), known)


def clock_offsets(found: QuorumAnswer, before: float, after: float) -> dict[str, float]:
    """The leader names the present as its own last fetch; half of the round trip is our uncertainty, 1 s at most."""
    if after - before > MAX_ROUND_TRIP:
        return {}
    stamps = [voter.last_fetch for voter in found.voters if voter.node == found.leader and voter.last_fetch > 0]
    return {str(found.leader): stamp / 1000 - (before + after) / 2 for stamp in stamps}
