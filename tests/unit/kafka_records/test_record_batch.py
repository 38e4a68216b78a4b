"""Which records the bytes of a Fetch answer hold, and which of them a reader of committed data sees."""

from __future__ import annotations

import random

import pytest

from exporter.clients.kafka import record_batch
from exporter.clients.kafka.record_batch import Scan, scan
from exporter.clients.kafka.record_compression import RecordError
from tests.mutations import fails_under, mutation
from tests.unit.kafka_records.record_bytes import (
    APPEND_TIME,
    TRANSACTIONAL,
    batch,
    marker,
    message,
    record,
    wrapper,
    zigzag,
)

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


def found(
    data: bytes, *asked: int, start: int = 0, aborted: tuple[tuple[int, int], ...] = ()
) -> dict[int, tuple[int, int]]:
    return scan(data, start, asked, aborted).found


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_an_offset_within_a_batch_has_its_own_timestamp(codec: int) -> None:
    data = batch(100, [(n, 5000 + n * n) for n in range(300)], codec=codec)
    assert {0: (100, 5000), 100: (100, 5000), 250: (250, 27500), 399: (399, 94401)} == found(data, 0, 100, 250, 399)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of kafka-python's own imports
def test_the_same_records_are_read_as_kafka_python_writes_them() -> None:
    from kafka.record.default_records import DefaultRecordBatchBuilder

    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20)
    stamps = [1_700_000_000_000 + delta for delta in (0, 7, -3, 90_000, 2)]
    for at, stamp in enumerate(stamps):
        builder.append(at, stamp, b"key" if at % 2 else None, b"v" * 200, [("h", b"1")])
    data = bytes(builder.build())
    assert {at: (at, stamp) for at, stamp in enumerate(stamps)} == found(data, *range(5))


def test_log_append_time_is_the_batch_s_maximum_for_every_record() -> None:
    data = batch(0, [(0, 10), (1, 20)], attributes=APPEND_TIME, max_timestamp=777)
    assert {0: (0, 777), 1: (1, 777)} == found(data, 0, 1)


def test_a_hole_that_compaction_left_is_stepped_over() -> None:
    data = batch(10, [(0, 1), (7, 2)], last_delta=9) + batch(25, [(0, 3)])
    assert {11: (17, 2), 18: (25, 3), 20: (25, 3)} == found(data, 11, 18, 20, start=11)


def test_a_batch_that_compaction_emptied_is_stepped_over() -> None:
    assert {0: (6, 9)} == found(batch(0, [], last_delta=5) + batch(6, [(0, 9)]), 0)


def test_when_nothing_visible_is_there_reading_goes_on_behind_the_last_whole_batch() -> None:
    data = batch(0, [], last_delta=5) + marker(6, 1, "commit")
    assert Scan({}, 7, len(marker(6, 1, "commit"))) == scan(data, 0, [3])


def test_a_truncated_tail_is_left_out() -> None:
    whole = batch(0, [(0, 1), (1, 2)])
    cut = whole + batch(2, [(0, 3)])[:-1]
    assert Scan({0: (0, 1)}, 2, len(whole)) == scan(cut, 0, [0, 2])


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 16, batch(5, [(0, 1)])[:40]], ids=["nothing", "no header", "half a header"]
)
def test_without_a_whole_batch_reading_stays_where_it_is(data: bytes) -> None:
    assert Scan({}, 5, 0) == scan(data, 5, [5])


def check_aborted_data_is_not_visible() -> None:
    data = (
        batch(0, [(0, 1), (1, 2)], attributes=TRANSACTIONAL, producer=7)
        + batch(2, [(0, 3)], attributes=TRANSACTIONAL, producer=8)
        + marker(3, 7, "abort")
        + batch(4, [(0, 4)], attributes=TRANSACTIONAL, producer=7)
        + marker(5, 7, "commit")
    )
    assert {0: (2, 3), 3: (4, 4)} == found(data, 0, 3, aborted=((7, 0),))


@mutation
def ignore_aborted(patch: pytest.MonkeyPatch) -> None:
    def hides(_: object, batch: record_batch.Batch, data: bytes) -> bool:
        return bool(batch.attributes & record_batch.CONTROL)

    patch.setattr(record_batch.Transactions, "hides", hides)


@mutation
def ignore_control_records(patch: pytest.MonkeyPatch) -> None:
    real = record_batch.Transactions.hides
    patch.setattr(
        record_batch.Transactions,
        "hides",
        lambda self, batch, data: real(self, batch, data) and not batch.attributes & record_batch.CONTROL,
    )


def test_aborted_data_is_not_visible_and_the_same_producer_s_next_transaction_is() -> None:
    check_aborted_data_is_not_visible()
    fails_under("ignore_aborted", check_aborted_data_is_not_visible)


def test_two_aborted_transactions_of_one_producer_end_with_their_own_markers() -> None:
    data = b"".join(
        [
            batch(0, [(0, 1)], attributes=TRANSACTIONAL, producer=7),
            marker(1, 7, "abort"),
            batch(2, [(0, 2)], attributes=TRANSACTIONAL, producer=7),
            marker(3, 7, "abort"),
            batch(4, [(0, 3)], producer=7),
        ]
    )
    assert {0: (4, 3)} == found(data, 0, aborted=((7, 0), (7, 2)))


def test_a_plain_batch_of_a_producer_with_an_aborted_transaction_is_visible() -> None:
    assert {0: (0, 1)} == found(batch(0, [(0, 1)], producer=7), 0, aborted=((7, 0),))


def test_uncommitted_reading_sees_everything_but_markers() -> None:
    data = marker(0, 7, "commit") + batch(1, [(0, 5)], attributes=TRANSACTIONAL, producer=7)
    assert {0: (1, 5)} == found(data, 0)


def test_control_records_are_not_visible() -> None:
    def check() -> None:
        assert {} == found(marker(0, 7, "commit"), 0)

    check()
    fails_under("ignore_control_records", check)


def test_a_record_without_a_timestamp_says_so() -> None:
    assert {0: (0, -1)} == found(batch(0, [(0, -1)]), 0)


def test_messages_of_v1_have_timestamps_and_those_of_v0_have_none() -> None:
    assert {0: (0, 55), 1: (1, -1)} == found(message(0, 55) + message(1, None), 0, 1)


@pytest.mark.parametrize("codec", [1, 2])
def test_a_compressed_message_set_of_v1_has_relative_offsets(codec: int) -> None:
    data = wrapper(12, 99, [message(0, 50), message(1, 60), message(3, 70)], codec)
    assert {9: (9, 50), 11: (12, 70)} == found(data, 9, 11, start=9)


def test_a_compressed_message_set_of_v1_may_have_append_time() -> None:
    assert {9: (9, 99)} == found(wrapper(10, 99, [message(0, 50), message(1, 60)], 1, APPEND_TIME), 9, start=9)


@pytest.mark.parametrize(
    "data",
    [
        batch(0, [(0, 1)], body=b"\x02\0"),
        batch(0, [(0, 1)], body=zigzag(1000) + b"\0" * 20),
        batch(0, [(0, 1)], body=zigzag(-5) + b"\0" * 20),
        batch(0, [(0, 1)], body=b"\xff" * 40),
        batch(0, [(0, 1)], body=record(5, 0), last_delta=0),
        batch(0, [(0, 1)], body=record(-1, 0)),
        batch(0, [(0, 1)], last_delta=-1),
        batch(-9, [(0, 1)]),
        batch(0, [(0, 1)], attributes=5),
        batch(0, [(0, 1)], attributes=7),
        batch(0, [(0, 1)], attributes=4),
        b"\0" * 8 + b"\0\0\0\x05" + b"\0\0\0\0" + b"\x02" + b"\0" * 60,
        b"\0" * 8 + b"\xff\xff\xff\xff" + b"\0\0\0\0" + b"\x02" + b"\0" * 60,
        b"\0" * 16 + b"\x09" + b"\0" * 60,
        wrapper(1, 1, [wrapper(1, 1, [message(0, 1)], 1)], 1),
        wrapper(1, 1, [b"\0" * 30], 1),
    ],
)
def test_bytes_that_are_no_records_are_one_clear_error(data: bytes) -> None:
    with pytest.raises(RecordError):
        scan(data, 0, [0])


def test_any_damage_is_an_error_or_an_answer_and_never_anything_else() -> None:
    chance = random.Random(3)
    kinds = [batch(0, [(n, n) for n in range(20)], codec=codec, value=b"v" * 50) for codec in CODECS.values()]
    kinds += [marker(0, 7, "abort") + kinds[0], wrapper(3, 9, [message(n, n) for n in range(4)], 1), message(0, 5)]
    for _ in range(4000):
        data = bytearray(chance.choice(kinds))
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        del data[chance.randint(0, 2 * len(data)) :]
        try:
            result = scan(bytes(data), 0, [0, 5], [(7, 0)])
        except RecordError:
            continue
        assert result.next_offset >= 0
