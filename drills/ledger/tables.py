"""The tables of the ledger: the durable record of runs. Every row says which run it belongs to."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

_RUN = sa.String(64)
_NAME = sa.String(200)
_ID = sa.String(200)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("run", _RUN, primary_key=True),
    sa.Column("drill", _NAME, nullable=False),
    sa.Column("target", _NAME, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("quick", sa.Boolean, nullable=False),
    sa.Column("state", _NAME, nullable=False),  # running, finished, aborted, refused
    sa.Column("driver_pid", sa.Integer, nullable=False),
    sa.Column("driver_started", sa.BigInteger, nullable=False),  # clock ticks after boot, as in /proc/PID/stat
    sa.Column("began", sa.Float, nullable=False),  # seconds since 1970
    sa.Column("ended", sa.Float),
    sa.Column("parameters", sa.JSON, nullable=False),  # counts, deadlines, the budget: fixed before the run
    sa.Column("versions", sa.JSON, nullable=False),
    sa.Column("exit_code", sa.Integer),
)

timeline = sa.Table(
    "timeline",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("run", _RUN, nullable=False, index=True),
    sa.Column("wall", sa.Float, nullable=False),  # seconds since 1970
    sa.Column("monotonic", sa.Float, nullable=False),  # CLOCK_MONOTONIC, the same for every process of one machine
    sa.Column("kind", _NAME, nullable=False),  # phase, change, hook, recovery, observation, criterion, alert, note
    sa.Column("case", _NAME, nullable=False),  # "" when it is about the whole run
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("data", sa.JSON, nullable=False),
)

changes = sa.Table(
    "changes",
    metadata,
    sa.Column("run", _RUN, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),  # undone from the last to the first
    sa.Column("case", _NAME, nullable=False),
    sa.Column("kind", _NAME, nullable=False),  # the name of the file in drills/faults
    sa.Column("arguments", sa.JSON, nullable=False),
    sa.Column("is_fault", sa.Boolean, nullable=False),
    sa.Column("planned", sa.Float, nullable=False),  # written before it is made; all times in seconds since 1970
    sa.Column("made", sa.Float),
    sa.Column("bite", sa.JSON),  # the proof that it took effect, read from the broker's or process' own state
    sa.Column("bitten", sa.Float),
    sa.Column("undone", sa.Float),
    sa.Column("undo_error", sa.Text),
)

workers = sa.Table(
    "workers",
    metadata,
    sa.Column("run", _RUN, primary_key=True),
    sa.Column("name", _NAME, primary_key=True),
    sa.Column("case", _NAME, nullable=False),
    sa.Column("role", _NAME, nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("started", sa.BigInteger, nullable=False),  # clock ticks after boot
    sa.Column("began", sa.Float, nullable=False),
    sa.Column("ended", sa.Float),
    sa.Column("exit_code", sa.Integer),  # negative: the signal
)

hooks = sa.Table(
    "hooks",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("run", _RUN, nullable=False, index=True),
    sa.Column("case", _NAME, nullable=False),
    sa.Column("worker", _NAME, nullable=False),
    sa.Column("hook", _NAME, nullable=False),
    sa.Column("event_id", _ID, nullable=False),
    sa.Column("reached", sa.Float, nullable=False),
    sa.Column("released", sa.Float),  # None: the worker was killed there, or is held there
)

attempts = sa.Table(
    "attempts",
    metadata,
    sa.Column("run", _RUN, primary_key=True),
    sa.Column("case", _NAME, primary_key=True),
    sa.Column("event_id", _ID, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),  # from 1
    sa.Column("worker", _NAME, nullable=False),
    sa.Column("outcome", _NAME, nullable=False),  # drills.model.publish.Outcome
    sa.Column("detail", sa.JSON, nullable=False),  # reply code, error, partition and offset
    sa.Column("pending", sa.Float, nullable=False),
    sa.Column("settled", sa.Float),
)

deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("run", _RUN, nullable=False, index=True),
    sa.Column("case", _NAME, nullable=False),
    sa.Column("event_id", _ID, nullable=False),
    sa.Column("worker", _NAME, nullable=False),
    sa.Column("place", _NAME, nullable=False),  # a queue, or topic/partition/offset
    sa.Column("redelivered", sa.Boolean, nullable=False),
    sa.Column("detail", sa.JSON, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)

decisions = sa.Table(
    "decisions",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("run", _RUN, nullable=False, index=True),
    sa.Column("case", _NAME, nullable=False),
    sa.Column("event_id", _ID, nullable=False),
    sa.Column("decision", _NAME, nullable=False),  # retry, give_up, replay, ...
    sa.Column("detail", sa.JSON, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)

facts = sa.Table(
    "facts",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("run", _RUN, nullable=False, index=True),
    sa.Column("case", _NAME, nullable=False),
    sa.Column("name", _NAME, nullable=False),  # the last one of a name counts
    sa.Column("value", sa.JSON, nullable=False),
    sa.Column("source", sa.Text, nullable=False),  # who was asked
    sa.Column("wall", sa.Float, nullable=False),
    sa.Column("monotonic", sa.Float, nullable=False),
)

judgements = sa.Table(
    "judgements",
    metadata,
    sa.Column("run", _RUN, primary_key=True),
    sa.Column("criterion", sa.Integer, primary_key=True),  # 1 to 8
    sa.Column("verdict", _NAME, nullable=False),
    sa.Column("because", sa.Text, nullable=False),
    sa.Column("ids", sa.JSON, nullable=False),
    sa.Column("evidence", sa.JSON, nullable=False),
)
