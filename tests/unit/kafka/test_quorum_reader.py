"""The quorum is asked about on a connection of its own: brokers hang with the controller that they forward to."""

from __future__ import annotations

import threading

import pytest

from exporter.clients.kafka.address import Address
from exporter.clients.kafka.brokers import Brokers, Request
from exporter.clients.kafka.controllers import QuorumReader, clock_offsets
from exporter.clients.kafka.messages.quorum import QuorumAnswer, Replica
from exporter.clients.kafka.properties import Client
from exporter.clients.kafka.wire import INT32, compact, compact_array
from exporter.model.common import Kind
from exporter.model.kafka import Quorum
from tests.mutations import fails_under, mutation
from tests.unit.kafka import fake_broker
from tests.unit.kafka.fake_broker import broker, listener

ECHO = b"an answer"


@mutation
def quorum_shares_one_connection(patch: pytest.MonkeyPatch) -> None:
    """Ask about the quorum on the connections that everything else uses."""
    plain = QuorumReader._ask_one

    def shared(reader: QuorumReader) -> object:
        reader._link = reader._brokers
        return plain(reader)

    patch.setattr(QuorumReader, "_ask_one", shared)


def test_a_controller_that_hangs_does_not_make_its_broker_look_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = compact_array(key.to_bytes(2, "big") + b"\0\0\0\x0c\0" for key in (3, 18, 55))
    monkeypatch.setattr(fake_broker, "API_VERSIONS_ANSWER", b"\0\0" + keys + INT32.pack(0) + b"\0")
    check_quorum_apart()
    fails_under("quorum_shares_one_connection", check_quorum_apart)


def check_quorum_apart() -> None:
    """After a request about the quorum that nobody answered, the broker still answers everything else."""

    def answer(key: int, version: int, body: bytes) -> bytes | None:
        if key != 55:
            return ECHO
        threading.Event().wait(5)
        return None

    with listener(broker(answer)) as port:
        client = Client.of({}, {})
        brokers, link = Brokers(["127.0.0.1:1"], client, 0.5), Brokers((), client, 0.5)
        brokers.begin()
        brokers.learn({7: Address("127.0.0.1", port)})
        assert brokers.ask({7: [Request(3, 12, b"")]})[7] == [ECHO]
        run = QuorumReader(brokers, link, 60.0, 15.0).read()
        assert run is not None
        assert [(problem.kind, "active controller" in problem.detail) for problem in run.problems] == [
            (Kind.TIMEOUT, True)
        ]
        assert brokers.ask({7: [Request(3, 12, b"")]})[7] == [ECHO]
        assert brokers.endpoints() == {f"127.0.0.1:{port}": True}
        brokers.close()
        link.close()


def described(leader: int, epoch: int) -> bytes:
    """An answer of version 0 without voters."""
    partition = bytes(4) + b"\0\0" + INT32.pack(leader) + INT32.pack(epoch) + bytes(8) + b"\1\1\0"
    return b"\0\0" + compact_array([compact("__cluster_metadata") + compact_array([partition]) + b"\0"]) + b"\0"


@pytest.mark.parametrize(("leader", "epoch", "expected"), [(3, 4, Quorum(3, 4, 0, {})), (-1, 4, None), (3, -249, None)])
def test_without_a_leader_and_an_epoch_there_is_no_quorum(
    monkeypatch: pytest.MonkeyPatch, leader: int, epoch: int, expected: Quorum | None
) -> None:
    monkeypatch.setattr(QuorumReader, "_ask_one", lambda _: (0, described(leader, epoch)))
    nobody = Brokers((), Client.of({}, {}), 0.5)
    reader = QuorumReader(nobody, nobody, 60.0, 15.0)
    run = reader.read()
    assert run is not None
    assert (expected, expected is not None) == (reader.quorum(), run.success)


def quorum_answer(stamp: int) -> QuorumAnswer:
    return QuorumAnswer(0, None, 3, 1, 9, (Replica(3, 10, stamp, stamp), Replica(4, 8, 1, 1)), ())


def test_the_leaders_clock_is_compared_with_the_middle_of_the_round_trip() -> None:
    assert clock_offsets(quorum_answer(1_000_500), 999.0, 1000.0) == {"3": 1.0}
    assert clock_offsets(quorum_answer(-1), 999.0, 1000.0) == {}


def test_a_round_trip_that_is_too_long_says_nothing_about_the_clock() -> None:
    assert clock_offsets(quorum_answer(1_000_500), 997.0, 1000.0) == {}
