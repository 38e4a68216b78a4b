"""What the demo asks Prometheus, and the answers that the ledger demands."""

from __future__ import annotations

from drills.demo.kafka_work import DEAD as DEAD_TOPIC
from drills.demo.kafka_work import GROUP, ORDERS, PAYMENTS, RECORDS
from drills.demo.ledger import Ledger
from drills.demo.rabbitmq_work import DEAD as DEAD_QUEUE
from drills.demo.rabbitmq_work import WORK
from drills.demo.table import Row, age, exactly


def kafka_rows(ledger: Ledger, delay: float) -> list[Row]:
    """Lag, age, an open transaction and a dead letter on Kafka. `delay`: seconds that the page may be old."""
    at = f'group="{GROUP}",topic="{ORDERS}"'
    unstable = (
        f'mq_kafka_partition_high_watermark_offset{{topic="{PAYMENTS}"}} '
        f'- mq_kafka_partition_last_stable_offset{{topic="{PAYMENTS}"}}'
    )
    ages = f'mq_kafka_group_oldest_message_age_seconds{{{at},partition="0"}}'
    transaction = f'mq_kafka_partition_open_transaction_seconds{{topic="{PAYMENTS}"}}'
    dead = f'{{system="kafka",dlq="{DEAD_TOPIC}"}}'
    return [
        *(
            exactly(
                f"Kafka lag of partition {partition}",
                f'mq_kafka_group_lag_offsets{{{at},partition="{partition}"}}',
                ledger.lag(partition),
                "produced - committed",
            )
            for partition in RECORDS
        ),
        exactly("Kafka lag of the topic", f"mq_kafka_group_topic_lag_offsets{{{at}}}", ledger.total_lag(), "sum"),
        age("Kafka age, partition 0 (held)", ages, ledger.oldest_unread(0), delay, "time of the first unread record"),
        exactly("Kafka age, partition 1 (done)", ages.replace('"0"', '"1"'), 0, "nothing unread", "s"),
        exactly("Kafka records in an open transaction", unstable, ledger.transaction_records, "sent, not committed"),
        age("Kafka open transaction", transaction, ledger.transaction_began, delay, "time of its first record"),
        exactly("Kafka dead letters", f"mq_dlq_unhandled_messages{dead}", len(ledger.kafka_dead), "poisons buried"),
        age(
            "Kafka dead letter, age", f"mq_dlq_oldest_message_age_seconds{dead}", ledger.kafka_dead[0], delay, "buried"
        ),
    ]


def rabbitmq_rows(ledger: Ledger, delay: float) -> list[Row]:
    """Depth, age and a dead letter on RabbitMQ."""
    at = f'{{vhost="/",queue="{WORK}"}}'
    dead = f'{{system="rabbitmq",vhost="/",dlq="{DEAD_QUEUE}"}}'
    ready, held = "mq_rabbitmq_queue_messages_ready", "mq_rabbitmq_queue_messages_unacknowledged"
    letters = 'sum(mq_rabbitmq_dead_lettered_total{reason="rejected"})'
    return [
        exactly("RabbitMQ ready", ready + at, ledger.ready(), "published - acked - held - rejected"),
        exactly("RabbitMQ unacknowledged", held + at, ledger.rabbitmq_held, "held"),
        age(
            "RabbitMQ age",
            f"mq_rabbitmq_queue_oldest_message_age_seconds{at}",
            ledger.oldest_held(),
            delay,
            "published",
        ),
        exactly("RabbitMQ dead letters", f"mq_dlq_unhandled_messages{dead}", ledger.rabbitmq_rejected, "rejected"),
        age(
            "RabbitMQ dead letter, age",
            f"mq_dlq_oldest_message_age_seconds{dead}",
            ledger.rabbitmq_rejected_at,
            delay,
            "rejected",
        ),
        exactly("RabbitMQ dead-lettered so far", letters, ledger.rabbitmq_rejected, "rejected"),
    ]


def health_rows() -> list[Row]:
    """A healthy lab withholds nothing."""
    return [
        exactly("Prometheus can scrape", 'up{job="mq-exporter"}', 1, "always"),
        exactly("collectors that succeed, share", "avg(mq_exporter_collector_success)", 1, "a healthy lab"),
        exactly("items withheld", "sum(mq_exporter_items_skipped) or vector(0)", 0, "a healthy lab"),
    ]


def alarm_row(node: str, raised: bool) -> Row:
    """The disk alarm of one RabbitMQ node."""
    title = f"disk alarm {'raised on ' + node if raised else 'lifted again'}"
    return exactly(title, f'mq_disk_alarm{{system="rabbitmq",node="{node}"}}', int(raised), "the limit set on the node")
