"""What the driver makes of Kafka's words, and when a drain of a topic is proven."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from drills.actors.partitioner import account_of, partition_of
from drills.model.publish import Attempt, Outcome, to_retry
from drills.targets.kafka_admin import names, properties
from drills.witness import kafka_drain
from drills.witness.kafka import GroupReading, Member, OffsetsReading, PartitionReading
from drills.witness.rabbitmq import WitnessError

LED = [PartitionReading(0, 1, (1, 2, 3), (1, 2, 3)), PartitionReading(1, 2, (1, 2, 3), (1, 2))]
LEADERLESS = [LED[0], PartitionReading(1, None, (1, 2, 3), ())]


def offsets(at: float, committed: dict[int, int], end: dict[int, int]) -> OffsetsReading:
    return OffsetsReading(at, committed, dict.fromkeys(end, 0), end)


def test_the_account_is_where_its_number_puts_it() -> None:
    assert (0, 3) == (partition_of("account-0003", 3), partition_of("account-0003", 6))
    assert "account-0003" == account_of("account-0003-031")
    with pytest.raises(ValueError, match="does not end in a number"):
        partition_of("account", 3)


def test_what_no_attempt_settled_is_sent_again() -> None:
    attempts = [
        Attempt("nacked", 1, Outcome.NACKED),
        Attempt("pending", 1, Outcome.PENDING),
        Attempt("late", 1, Outcome.UNKNOWN),
        Attempt("late", 2, Outcome.CONFIRMED),
        Attempt("there", 1, Outcome.CONFIRMED),
    ]
    assert {"nacked", "pending"} == to_retry(attempts)


def test_a_client_of_librdkafka_is_one_of_kafka_python() -> None:
    given = {
        "bootstrap.servers": "a:1,b:2", "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "u", "sasl.password": "p", "ssl.ca.location": "/ca",
    }  # fmt: skip
    assert {
        "bootstrap_servers": ["a:1", "b:2"], "security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "u", "sasl_plain_password": "p", "ssl_cafile": "/ca",
    } == properties(given)  # fmt: skip


def test_error_codes_have_names() -> None:
    assert ("", "UnknownTopicOrPartitionError", "InvalidPartitionsError") == (names(0), names(3), names(37))


def test_a_partition_without_a_commit_has_no_lag() -> None:
    found = offsets(1.0, {0: 4}, {0: 10, 1: 5})
    assert {0: 6, 1: None} == found.lag
    assert {"0": 6, "1": None} == found.json()["lag"]


def test_members_without_a_partition_are_idle() -> None:
    found = GroupReading("Stable", "range", [Member("a", (0,)), Member("b", ()), Member("c", (1, 2))])
    assert 1 == found.json()["idle"]


def proved(readings: Sequence[tuple[Sequence[PartitionReading], OffsetsReading] | Exception]) -> str | None:
    """What is lacking after these readings, of which the last one is repeated."""
    left = list(readings)

    def read() -> tuple[Sequence[PartitionReading], OffsetsReading]:
        found = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(found, Exception):
            raise found
        return found

    return kafka_drain.prove(read, ["sentinel-0", "sentinel-1"], lambda _: None, 0.9).lack()


def test_a_drain_is_zero_lag_of_every_partition_that_stays() -> None:
    done = {0: 5, 1: 5}
    assert proved([(LED, offsets(1.0, done, done)), (LED, offsets(7.0, done, done))]) is None
    assert "the last reading is not zero" in str(proved([(LED, offsets(1.0, {0: 5, 1: 4}, done))]))
    assert "more than 5 s apart" in str(proved([(LED, offsets(1.0, done, done))]))
    assert "no leader was seen" == proved([(LEADERLESS, offsets(1.0, done, done))])
    assert "no leader was seen" == proved([(LED, offsets(1.0, {0: 5}, done))])
    assert "no leader was seen" == proved([WitnessError("no broker answers")])


def test_without_sentinels_nothing_is_proven() -> None:
    def fails(_: Sequence[str]) -> None:
        raise RuntimeError("no")

    done = {0: 5, 1: 5}
    found = kafka_drain.prove(lambda: (LED, offsets(1.0, done, done)), ["sentinel-0"], fails, 60.0)
    assert "no sentinel was consumed" == found.lack()
