"""How clients of tests reach the lab: in a secure one they are its administrators, and the exporter its monitor."""

from __future__ import annotations

from typing import Any

import pika

from drills.lab import Lab
from drills.lab.kafka import Kafka


def amqp(lab: Lab, node: int, vhost: str = "/") -> pika.ConnectionParameters:
    """How a client that may do everything reaches a node; without heartbeats, as tests don't keep them."""
    rabbitmq = lab.rabbitmq
    return pika.ConnectionParameters(
        "127.0.0.1", lab.ports.amqp(node), vhost, pika.PlainCredentials(rabbitmq.user, rabbitmq.password), heartbeat=0,
        ssl_options=pika.SSLOptions(rabbitmq.tls, "127.0.0.1") if rabbitmq.tls else None,
    )  # fmt: skip


def kafka_python(kafka: Kafka) -> dict[str, Any]:
    """The properties of a client that may do everything, as kafka-python calls them."""
    client = dict(kafka.client)
    found: dict[str, Any] = {"bootstrap_servers": client.pop("bootstrap.servers").split(",")}
    if client:
        found |= {
            "sasl_plain_username": client.pop("sasl.username"),
            "sasl_plain_password": client.pop("sasl.password"),
        }
        found["ssl_cafile"] = client.pop("ssl.ca.location")
    return found | {name.replace(".", "_"): value for name, value in client.items()}
