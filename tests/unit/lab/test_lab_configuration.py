"""The files that brokers get."""

from __future__ import annotations

import base64
from pathlib import Path

from drills.lab import kafka_config, rabbitmq_config
from drills.lab.keys import Keys
from drills.lab.ports import Ports
from drills.lab.record import Settings

PORTS = Ports(17000)


def properties(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines())


def test_a_kafka_id_is_16_bytes_and_never_looks_like_an_option() -> None:
    ids = [kafka_config.uuid() for _ in range(500)]
    assert {16} == {len(base64.urlsafe_b64decode(one + "==")) for one in ids}
    assert [] == [one for one in ids if one.startswith("-") or "=" in one]
    assert 500 == len(set(ids))


def test_the_first_voters_are_the_three_controllers() -> None:
    expected = "101@127.0.0.1:17071:A,102@127.0.0.1:17072:B,103@127.0.0.1:17073:C"
    assert expected == kafka_config.initial_controllers(PORTS, ("A", "B", "C"))


def test_a_controllers_file() -> None:
    expected = {
        "process.roles": "controller",
        "node.id": "102",
        "listeners": "CONTROLLER://127.0.0.1:17072",
        "advertised.listeners": "CONTROLLER://127.0.0.1:17072",
        "controller.quorum.bootstrap.servers": "127.0.0.1:17071,127.0.0.1:17072,127.0.0.1:17073",
        "log.dirs": "/data",
        **kafka_config.COMMON,
    }
    assert expected == properties(kafka_config.controller_properties(PORTS, 2, "/data"))


def test_a_brokers_file_with_two_log_directories() -> None:
    expected = {
        "node.id": "3",
        "listeners": "PLAINTEXT://127.0.0.1:17083",
        "advertised.listeners": "PLAINTEXT://127.0.0.1:17083",
        "controller.quorum.bootstrap.servers": "127.0.0.1:17071,127.0.0.1:17072,127.0.0.1:17073",
        "log.dirs": "/data,/small",
        **kafka_config.COMMON,
        **kafka_config.BROKER,
    }
    assert expected == properties(kafka_config.broker_properties(PORTS, 3, ["/data", "/small"]))


def test_nothing_is_created_by_asking_and_new_topics_need_two_replicas() -> None:
    controller = properties(kafka_config.controller_properties(PORTS, 1, "/data"))
    broker = properties(kafka_config.broker_properties(PORTS, 1, ["/data"]))
    assert ("false", "2", "3") == (
        broker["auto.create.topics.enable"],
        controller["min.insync.replicas"],
        controller["default.replication.factor"],
    )


def test_a_formatted_directory_says_whose_it_is() -> None:
    assert "version=1\ncluster.id=C\nnode.id=1\ndirectory.id=D\n" == kafka_config.meta_properties(1, "C", "D")


def test_a_rabbitmq_nodes_file() -> None:
    expected = """\
listeners.tcp.1 = 127.0.0.1:17002
management.tcp.ip = 127.0.0.1
management.tcp.port = 17012
prometheus.tcp.ip = 127.0.0.1
prometheus.tcp.port = 17022
stream.listeners.tcp.1 = 127.0.0.1:17032
cluster_formation.peer_discovery_backend = classic_config
cluster_formation.classic_config.nodes.1 = rabbitmq-1@localhost
cluster_formation.classic_config.nodes.2 = rabbitmq-2@localhost
cluster_formation.classic_config.nodes.3 = rabbitmq-3@localhost
cluster_formation.discovery_retry_limit = 2
cluster_formation.discovery_retry_interval = 250
cluster_partition_handling = pause_minority
collect_statistics_interval = 1000
disk_free_limit.absolute = 50000000
vm_memory_high_watermark.absolute = 1500MB
log.file.level = info
"""
    settings = Settings(partition_handling="pause_minority")
    assert expected == rabbitmq_config.configuration(PORTS, 2, settings)


def test_the_tick_time_is_set_in_erlangs_own_file() -> None:
    assert "[{kernel,[{net_ticktime,8}]}].\n" == rabbitmq_config.advanced(Settings(net_ticktime=8))


def test_rabbitmq_4_3_with_tls_has_no_plain_listener_for_prometheus(tmp_path: Path) -> None:
    """It would open on 15692 of every node, and the second one could not start."""
    for version, lines in (("3.10", 0), ("4.0", 0), ("4.3", 1)):
        text = rabbitmq_config.configuration(PORTS, 2, Settings(rabbitmq_version=version), Keys(tmp_path))
        assert lines == text.splitlines().count("prometheus.tcp.listener = none"), version
    assert "none" not in rabbitmq_config.configuration(PORTS, 2, Settings(rabbitmq_version="4.3"))
