"""Local clusters for demo, tests and drills: Kafka, RabbitMQ, Prometheus and Alertmanager, real ones, on loopback.

lab = Lab.up("demo", only=["kafka", "rabbitmq"], report=report_to())
lab.kafka.bootstrap, lab.rabbitmq.urls
lab.node("kafka-1").kill()
lab.down()
"""

from __future__ import annotations

from drills.lab.errors import LabError, LabTimeoutError, RefusedError
from drills.lab.instance import Lab, NodeStatus, lab_names, take_down
from drills.lab.record import SYSTEMS, Settings
from drills.lab.report import Report, report_to

__all__ = [
    "SYSTEMS",
    "Lab",
    "LabError",
    "LabTimeoutError",
    "NodeStatus",
    "RefusedError",
    "Report",
    "Settings",
    "lab_names",
    "report_to",
    "take_down",
]
