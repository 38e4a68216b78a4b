"""Compressed batches: every codec, and a limit that holds whatever the bytes say about themselves."""

from __future__ import annotations

import gzip

import cramjam
import pytest

from exporter.clients.kafka import record_compression
from exporter.clients.kafka.record_compression import RecordError, unpack
from tests.mutations import fails_under, mutation
from tests.unit.kafka_records.record_bytes import COMPRESS, xerial

PLAIN = bytes(range(256)) * 3000


@pytest.mark.parametrize("codec", COMPRESS)
def test_every_codec_gives_back_what_was_packed(codec: int) -> None:
    assert PLAIN == bytes(unpack(codec, memoryview(COMPRESS[codec](PLAIN))))


def test_snappy_is_read_with_and_without_java_s_framing() -> None:
    raw = bytes(cramjam.snappy.compress_raw(PLAIN))
    assert (PLAIN, PLAIN) == (bytes(unpack(2, memoryview(raw))), bytes(unpack(2, memoryview(xerial(PLAIN)))))


def outcome(codec: int, data: memoryview) -> str:
    try:
        return f"{len(unpack(codec, data))} bytes"
    except RecordError as error:
        return str(error)


@mutation
def unpack_without_limit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(record_compression, "MOST_UNPACKED", 1 << 30)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_batch_that_unpacks_to_too_much_is_refused(codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_compression, "MOST_UNPACKED", 1 << 20)
    bomb = memoryview(COMPRESS[codec](bytes(2 << 20)))

    def check() -> None:
        assert "a batch unpacks to more than 1 MiB" == outcome(codec, bomb)

    check()
    fails_under("unpack_without_limit", check)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
@pytest.mark.parametrize("damage", ["cut", "noise", "nothing"])
def test_damaged_data_is_one_clear_error(codec: int, damage: str) -> None:
    whole = COMPRESS[codec](PLAIN)
    data = {"cut": whole[: len(whole) // 2], "noise": b"\x99" * 64, "nothing": b""}[damage]
    with pytest.raises(RecordError):
        unpack(codec, memoryview(data))


def test_gzip_with_a_tail_of_rubbish_still_gives_its_records() -> None:
    assert b"abc" == unpack(1, memoryview(gzip.compress(b"abc") + b"rubbish"))
