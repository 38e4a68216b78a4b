"""`incident`: schema, restarts, alerts, security and replay, on both brokers with a database behind them."""

from __future__ import annotations

from typing import Any

from drills.criteria.incident import (
    c1_cells,
    c2_upgrade,
    c3_poisons,
    c4_restarts,
    c5_lag_alert,
    c6_disk_alarm,
    c7_access,
    c8_replay,
)
from drills.engine.drill import Case, Criterion, Drill
from drills.scenes.crash_window.leader_loss import LeaderLoss
from drills.scenes.incident.access import KafkaAccess, RabbitmqAccess
from drills.scenes.incident.alarms import DiskAlarm, LagAlert
from drills.scenes.incident.compatible import Cell, RollingUpgrade
from drills.scenes.incident.poisoned import PoisonedQueue, PoisonedTopic
from drills.scenes.incident.poisons import IDS as POISONS
from drills.scenes.incident.replay import Replay
from drills.scenes.incident.restarts import BrokerRestart, ConsumerRestart
from drills.scenes.wrong import Wrong

ACCOUNTS = [f"account-{number:04}" for number in range(1, 6)]
LAG, QUICK_LAG = 200, 40  # events behind the barrier
BOUND, QUICK_BOUND = 100, 20  # of the rule


def parameters(quick: bool) -> dict[str, Any]:
    """Counts, IDs in the order in which they are sent, and deadlines (seconds). `quick` plays a fifth of the lag."""
    lag = QUICK_LAG if quick else LAG
    v1, v2 = ([f"{name}-{version}{number:02}" for number in (1, 2) for name in ACCOUNTS] for version in (1, 2))
    restart = [f"{name}-3{number:02}" for number in range(1, 5) for name in ACCOUNTS]
    poisoned = [*v2[:3], POISONS[0], *v2[3:6], POISONS[1], *v2[6:8], POISONS[2], *v2[8:]]
    probes = ["probe-0001-001", "probe-0002-001"]
    of_cases = {
        "poisoned-topic": poisoned, "poisoned-queue": poisoned, "restart-queue-leader": restart,
        "restart-broker": restart, "restart-consumer": restart, "disk-alarm": [*v2, *probes],
        "replay": [*v1[:5], POISONS[0], POISONS[1], *v1[5:], *v2[:5], POISONS[2], *v2[5:]],
    }  # fmt: skip
    return {
        "quick": quick,
        "events": lag,
        "full_events": LAG,
        "ids": {
            "v1": v1, "v2": v2, "upgrade": [*v1, *v2], "poisoned": poisoned, "restart": restart,
            "lag": [f"{name}-{number}" for number in range(401, 401 + lag // len(ACCOUNTS)) for name in ACCOUNTS],
            **of_cases,
        },
        "probe_ids": probes,
        "lag_bound": QUICK_BOUND if quick else BOUND,
        "confirm_seconds": 30,
        "blocked_seconds": 6,
        "late_confirm_seconds": 10,
        "hook_seconds": 60,
        "group_seconds": 90,
        "drain_seconds": 120,
        "election_seconds": 60,
        "isr_seconds": 60,
        "probe_seconds": 10 if quick else 30,
        "seen_seconds": 45,
    }  # fmt: skip


def drill(wrong: Wrong | None = None) -> Drill:
    """The drill. With something wrong it is the proof that it objects (tests/mutants), and nothing else."""
    return Drill(
        name="incident",
        question="Do schema, restarts, alerts, security and replay hold when an incident goes through all of them?",
        question_vi="Schema, khởi động lại, cảnh báo, bảo mật và replay có đứng vững khi sự cố đi qua tất cả không?",
        systems=("kafka", "rabbitmq"),
        cases=_cases(wrong or Wrong()),
        criteria=CRITERIA,
        parameters=parameters,
    )


def _cases(wrong: Wrong) -> list[Case]:
    return [
        *(Cell(writer, reader, wrong) for writer, reader in c1_cells.CELLS),
        RollingUpgrade("rolling-upgrade", "consumers, then the producer are upgraded while events come", wrong),
        PoisonedTopic("poisoned-topic", "the consumer dies in the transaction of a dead letter", wrong),
        PoisonedQueue("poisoned-queue", "the consumer dies between quarantine and ack", wrong),
        LeaderLoss("restart-queue-leader", "the node of the queue's leader is restarted", wrong),
        BrokerRestart("restart-broker", "a broker of Kafka is restarted", wrong),
        ConsumerRestart("restart-consumer", "a consumer dies, and another one goes on", wrong),
        LagAlert("lag-alert", "lag behind a barrier, and its alert", wrong),
        DiskAlarm("disk-alarm", "RabbitMQ's disk alarm, and its alert", wrong),
        RabbitmqAccess("access-rabbitmq", "what the application's account may do on RabbitMQ", wrong),
        KafkaAccess("access-kafka", "what the application's account may do on Kafka", wrong),
        Replay("replay", "valid events are replayed, apart from what is live", wrong),
    ]  # fmt: skip


CRITERIA = (
    Criterion(
        1, "Writers 1 and 2 with readers 1 and 2, ten events each: every field and value after decoding",
        "Writer 1 và 2 với reader 1 và 2, mỗi ô 10 event: đúng từng field và giá trị sau khi giải mã",
        c1_cells.judge, tuple(c1_cells.name(*cell) for cell in c1_cells.CELLS),
    ),
    Criterion(
        2, "Rolling upgrade, consumers first: versions and progress at each step, nothing quarantined",
        "Nâng cấp cuốn chiếu, consumer trước: phiên bản và tiến độ từng bước, không gì bị cách ly",
        c2_upgrade.judge, ("rolling-upgrade",),
    ),
    Criterion(
        3, "Three poisons set aside whole: Kafka in one transaction with the offset, RabbitMQ before the ack",
        "Ba poison được cách ly đầy đủ: Kafka cùng transaction với offset, RabbitMQ trước khi ack",
        c3_poisons.judge, ("poisoned-topic", "poisoned-queue"),
    ),
    Criterion(
        4, "Queue leader, broker and consumer restarted one at a time: all read again, once, checkpoints right",
        "Khởi động lại lần lượt leader của queue, broker, consumer: đọc lại đủ, một lần, checkpoint đúng",
        c4_restarts.judge, ("restart-queue-leader", "restart-broker", "restart-consumer"),
    ),
    Criterion(
        5, "200 IDs at a barrier: lag > 100 for 10 s, the alert pending, firing, and resolved after the drain",
        "200 ID sau barrier: lag > 100 trong 10 giây, alert pending, firing, rồi hết sau khi drain",
        c5_lag_alert.judge, ("lag-alert",),
    ),
    Criterion(
        6, "Disk alarm by the limit: node, exporter and alert show it, a publisher is blocked; then all is clear",
        "Disk alarm bằng ngưỡng: node, exporter và alert đều thấy, publisher bị chặn; rồi trở lại bình thường",
        c6_disk_alarm.judge, ("disk-alarm",),
    ),
    Criterion(
        7, "TLS, login and rights told apart on both brokers; the account is no admin; after rotation only the new key",
        "Phân biệt TLS, xác thực, phân quyền trên cả hai broker; không là admin; sau khi đổi chỉ mật khẩu mới vào được",
        c7_access.judge, ("access-rabbitmq", "access-kafka"),
    ),
    Criterion(
        8, "20 valid events replayed apart: no new effect, a rebuilt projection alike, live offsets unmoved, no poison",
        "Replay cách ly 20 event hợp lệ: không hiệu ứng mới, projection dựng lại giống hệt, offset live giữ nguyên",
        c8_replay.judge, ("replay",),
    ),
)  # fmt: skip

DRILL = drill()
