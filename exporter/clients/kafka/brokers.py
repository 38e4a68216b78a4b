"""All brokers of one cluster: connections that stay open, and requests to many of them at once.

A broker that fails or is late is left out until the next poll begins, so that it costs one timeout a poll.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from exporter.clients.kafka.address import Address
from exporter.clients.kafka.connection import Connection, Request
from exporter.clients.kafka.exchange import exchange
from exporter.clients.kafka.failures import Failure, UnusableError
from exporter.clients.kafka.lost import LostAddresses
from exporter.clients.kafka.opening import open_connection
from exporter.clients.kafka.properties import Client
from exporter.model.common import Kind

__all__ = ["Address", "Brokers", "Failure", "Request"]
LEEWAY = 0.5  # seconds over the timeout before a thread that opens a connection is given up


class Brokers:
    """Brokers by their node id; addresses of the configuration stand in as -1, -2, ... until the ids are known."""

    def __init__(self, bootstrap: Sequence[str], client: Client, timeout: float) -> None:
        self._client = client
        self._timeout = timeout
        self._seeds = {-1 - at: Address.parse(text) for at, text in enumerate(bootstrap)}
        self._addresses: dict[int, Address] = {}
        self._open: dict[Address, Connection] = {}
        self._down: dict[Address, Failure] = {}
        self._answered: dict[Address, bool] = {}
        self._lost_seeds: set[Address] = set()
        self._lost = LostAddresses(self._attempt)

    def begin(self) -> None:
        """A new poll: brokers that failed in the last one are tried again."""
        self._down = {}
        self._answered = {}

    def learn(self, addresses: Mapping[int, Address]) -> None:
        """Take the brokers' addresses from metadata; connections to others are closed."""
        self._addresses = dict(addresses)
        for address in set(self._open) - set(addresses.values()):
            self._drop(address)

    @property
    def known(self) -> tuple[int, ...]:
        """Ids of the brokers that metadata named."""
        return tuple(sorted(self._addresses))

    @property
    def timeout(self) -> float:
        """Seconds that one `ask` may take."""
        return self._timeout

    def address(self, broker: int) -> Address | None:
        """Where the broker listens."""
        return self._addresses.get(broker) or self._seeds.get(broker)

    def watch(self, fenced: Collection[Address]) -> None:
        """Keep an eye on addresses that this poll has no request for: fenced brokers', and seeds that ever failed."""
        self._lost_seeds |= {seed for seed in self._seeds.values() if self._answered.get(seed) is False}
        known = set(self._addresses.values())
        self._lost.watch((self._lost_seeds | set(fenced)) - known, self._answered, known)

    def _attempt(self, address: Address) -> None:
        open_connection(address, self._client, self._timeout).close()

    def endpoints(self) -> dict[str, bool]:
        """HOST:PORT of every address tried in this poll or lost before it, and whether it answered."""
        return {str(address): up for address, up in {**self._lost.endpoints(), **self._answered}.items()}

    def failure(self, broker: int) -> Failure | None:
        """Why this broker is left out of the rest of this poll; None when it isn't."""
        address = self.address(broker)
        if address is None:
            return Failure(Kind.UNREACHABLE, f"broker {broker} is not in the metadata: is it down or fenced?")
        return self._down.get(address)

    def version(self, broker: int, api_key: int, lowest: int, highest: int) -> int | None:
        """The best version that both sides know; None when there is none, or when the broker can't be reached.

        To ask it of several brokers, `connect` to all of them first.
        """
        self.connect([broker])
        address = self.address(broker)
        connection = self._open.get(address) if address else None
        if connection is None or api_key not in connection.versions:
            return None
        theirs = connection.versions[api_key]
        best = min(theirs[1], highest)
        return best if best >= max(theirs[0], lowest) else None

    def ask(self, requests: Mapping[int, Sequence[Request]]) -> dict[int, list[bytes] | Failure]:
        """Send all requests of all brokers, then read all answers, within one timeout for all of them.

        The bodies after the response header, in the order asked, or the failure of the broker, which is then left out
        for the rest of this poll.
        """
        self.connect(requests)
        # only now: a broker that can't be connected to is out already, and must not cost the others their time
        deadline = time.monotonic() + self._timeout
        again = self._exchange(requests, deadline)
        if again:
            # a connection that was closed while it stood idle says nothing about the broker
            self.connect(again)
            self._exchange({broker: requests[broker] for broker in again}, deadline)
        return {broker: self._result(broker, len(asked)) for broker, asked in requests.items()}

    def ask_first(
        self, api_key: int, lowest: int, highest: int, build: Callable[[int], Request]
    ) -> tuple[int, bytes] | Failure:
        """The version used and the answer of the first broker that gives one; `build` makes the request.

        Brokers that metadata named go first; the addresses of the configuration are for when none of them answers.
        """
        failure = Failure(Kind.UNREACHABLE, "no broker is known")
        for candidates in (self.known, tuple(self._seeds)):
            self.connect(candidates)
            for broker in candidates:
                version = self.version(broker, api_key, lowest, highest)
                if version is None:
                    failure = self.failure(broker) or self.unsupported(broker, f"request {api_key} v{lowest}")
                    continue
                answer = self.ask({broker: [build(version)]})[broker]
                if not isinstance(answer, Failure):
                    return version, answer[0]
                failure = answer
        return failure

    def unsupported(self, broker: int, what: str) -> Failure:
        """The failure for a broker that is too old for something."""
        return Failure(Kind.UNSUPPORTED, f"{self.address(broker)}: this broker does not know {what}")

    def connect(self, brokers: Collection[int]) -> None:
        """Open the missing connections, all at the same time. Failures are remembered for this poll."""
        wanted = {address for address in map(self.address, brokers) if address is not None}
        now = time.monotonic()
        for address in wanted & set(self._open):
            connection = self._open[address]
            if connection.done and (now > connection.expires_at or connection.stale()):
                self._drop(address)
        missing = wanted - set(self._open) - set(self._down)
        if missing:
            _Opening(missing, self._client, self._timeout).run(self._open, self._down)
            self._answered.update({address: address in self._open for address in missing})

    def _exchange(self, requests: Mapping[int, Sequence[Request]], deadline: float) -> list[int]:
        """Send and read; the brokers whose idle connection turned out to be closed, worth one more try."""
        brokers: dict[Connection, int] = {}
        for broker, asked in requests.items():
            address = self.address(broker)
            if address is not None and address in self._open:
                connection = self._open[address]
                connection.queue(asked)
                brokers[connection] = broker
        failures = exchange(list(brokers), deadline, self._timeout)
        again = []
        for connection, broker in brokers.items():
            failure = failures.get(connection)
            if failure is None:
                connection.used = True
                self._answered[self._where(broker)] = True
            elif failure.closed and connection.used and not connection.answers:
                self._drop(self._where(broker))
                again.append(broker)
            else:
                self._fail(self._where(broker), failure)
        return again

    def _result(self, broker: int, count: int) -> list[bytes] | Failure:
        failure = self.failure(broker)
        if failure is not None:
            return failure
        connection = self._open.get(self._where(broker))
        if connection is None or len(connection.answers) != count:
            return Failure(Kind.UNREACHABLE, f"{self.address(broker)}: the broker closed the connection")
        answers, connection.answers = connection.answers, []
        return answers

    def _where(self, broker: int) -> Address:
        address = self.address(broker)
        if address is None:
            raise KeyError(broker)
        return address

    def _fail(self, address: Address, failure: Failure) -> None:
        self._drop(address)
        self._down[address] = failure
        self._answered[address] = False

    def _drop(self, address: Address) -> None:
        connection = self._open.pop(address, None)
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Close every connection. May be called twice."""
        for address in list(self._open):
            self._drop(address)


class _Opening:
    """Opens several connections in threads, so that a slow name server or handshake does not hold up the others."""

    def __init__(self, addresses: Iterable[Address], client: Client, timeout: float) -> None:
        self._lock = threading.Lock()
        self._given_up = False
        self._opened: dict[Address, Connection] = {}
        self._failed: dict[Address, Failure] = {}
        self._client = client
        self._timeout = timeout
        self._addresses = list(addresses)

    def run(self, opened: dict[Address, Connection], failed: dict[Address, Failure]) -> None:
        """Fill `opened` and `failed`, one entry for each address."""
        threads = [threading.Thread(target=self._one, args=(where,), daemon=True) for where in self._addresses]
        deadline = time.monotonic() + self._timeout + LEEWAY
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0))
        with self._lock:
            self._given_up = True
            opened.update(self._opened)
            failed.update(self._failed)
        late = Failure(Kind.TIMEOUT, f"no connection within {self._timeout:g} s: does the name server answer?")
        failed.update({where: late for where in self._addresses if where not in opened and where not in failed})

    def _one(self, address: Address) -> None:
        try:
            connection = open_connection(address, self._client, self._timeout)
        except (UnusableError, OSError, ValueError) as error:
            failure = Failure(Kind.UNREACHABLE, f"{address}: {error}")
            with self._lock:
                self._failed[address] = error.failure if isinstance(error, UnusableError) else failure
            return
        with self._lock:
            if self._given_up:
                connection.close()
            else:
                self._opened[address] = connection
