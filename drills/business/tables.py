"""The tables of the business database. Rows of different runs and cases do not meet."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

_NAME = sa.String(200)

inbox = sa.Table(
    "inbox",
    metadata,
    sa.Column("run", sa.String(64), primary_key=True),
    sa.Column("case", _NAME, primary_key=True),
    sa.Column("handler_id", _NAME, primary_key=True),
    sa.Column("event_id", _NAME, primary_key=True),
    sa.Column("payload_hash", sa.String(64), nullable=False),  # SHA-256 of the bytes as they came, in hexadecimal
)

counters = sa.Table(
    "counters",
    metadata,
    sa.Column("run", sa.String(64), primary_key=True),
    sa.Column("case", _NAME, primary_key=True),
    sa.Column("handler_id", _NAME, primary_key=True),
    sa.Column("value", sa.BigInteger, nullable=False),
)

effects = sa.Table(
    "effects",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("run", sa.String(64), nullable=False, index=True),
    sa.Column("case", _NAME, nullable=False),
    sa.Column("handler_id", _NAME, nullable=False),
    sa.Column("event_id", _NAME, nullable=False),  # one row for each time it was applied
    sa.Column("worker", _NAME, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # seconds since 1970
    sa.Column("fields", sa.JSON),  # of the contract, with the values after decoding; null where there is none
)

quarantine = sa.Table(
    "quarantine",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("run", sa.String(64), nullable=False, index=True),
    sa.Column("case", _NAME, nullable=False),
    sa.Column("handler_id", _NAME, nullable=False),
    sa.Column("event_id", _NAME, nullable=False),  # "" when the bytes name none
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("error_class", _NAME, nullable=False),  # malformed, invalid, unsupported_version; "" for a conflict
    sa.Column("fingerprint", sa.String(64), nullable=False),  # SHA-256 of the reader's schema; "" where there is none
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("payload_hash", sa.String(64), nullable=False),
    sa.Column("place", _NAME, nullable=False),  # queue, or topic/partition/offset
    sa.Column("at", sa.Float, nullable=False),
)
