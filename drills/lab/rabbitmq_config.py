"""RabbitMQ's files and environment."""

from __future__ import annotations

from pathlib import Path

from drills.lab import rabbitmq_security
from drills.lab.keys import Keys
from drills.lab.ports import Ports
from drills.lab.record import Settings

NODES = (1, 2, 3)
PLUGINS = ("rabbitmq_management", "rabbitmq_prometheus", "rabbitmq_stream", "rabbitmq_stream_management")
NO_SPINNING = "+sbwt none +sbwtdcpu none +sbwtdio none"  # three idle nodes else take a core
DISK_LIMIT = 50_000_000  # bytes


def erlang_name(number: int) -> str:
    """The name that RabbitMQ itself gives a node; labs are kept apart by their epmd and their cookie."""
    return f"rabbitmq-{number}@localhost"


def configuration(ports: Ports, number: int, settings: Settings, keys: Keys | None = None) -> str:
    """rabbitmq.conf of one node. Every node lists all three: with one seed, the others hold the lock that it needs."""
    lines = {
        **(rabbitmq_security.configuration(ports, number, keys) if keys else _plain_listeners(ports, number)),
        **(BESIDE_TLS if keys and _series(settings) >= TWO_LISTENERS else {}),
        "cluster_formation.peer_discovery_backend": "classic_config",
        **{f"cluster_formation.classic_config.nodes.{n}": erlang_name(n) for n in NODES},
        # by default the holder of the discovery lock tries ten times to join nodes that wait for that lock
        "cluster_formation.discovery_retry_limit": "2",
        "cluster_formation.discovery_retry_interval": "250",
        "cluster_partition_handling": settings.partition_handling,
        "collect_statistics_interval": str(settings.statistics_interval),
        "disk_free_limit.absolute": str(DISK_LIMIT),
        "vm_memory_high_watermark.absolute": "1500MB",
        "log.file.level": "info",
    }
    return "".join(f"{key} = {value}\n" for key, value in lines.items())


TWO_LISTENERS = (4, 3)
BESIDE_TLS = {"prometheus.tcp.listener": "none"}
"""From then on the plain listener of the Prometheus plugin opens beside that with TLS, on one port for all nodes."""


def _series(settings: Settings) -> tuple[int, ...]:
    return tuple(int(part) for part in settings.rabbitmq_version.split("."))


def _plain_listeners(ports: Ports, number: int) -> dict[str, str]:
    return {
        "listeners.tcp.1": f"127.0.0.1:{ports.amqp(number)}",
        "management.tcp.ip": "127.0.0.1",
        "management.tcp.port": str(ports.management(number)),
        "prometheus.tcp.ip": "127.0.0.1",
        "prometheus.tcp.port": str(ports.rabbitmq_metrics(number)),
        "stream.listeners.tcp.1": f"127.0.0.1:{ports.stream(number)}",
    }


def advanced(settings: Settings) -> str:
    """advanced.config."""
    return f"[{{kernel,[{{net_ticktime,{settings.net_ticktime}}}]}}].\n"


def cli_environment(ports: Ports, home: Path) -> dict[str, str]:
    """What RabbitMQ's command line tools need to reach the nodes of this lab, and no other."""
    first, last = ports.cli
    return {
        "HOME": str(home),
        "ERL_EPMD_PORT": str(ports.epmd),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_CRASH_DUMP_SECONDS": "0",
        "RABBITMQ_CTL_DIST_PORT_MIN": str(first),
        "RABBITMQ_CTL_DIST_PORT_MAX": str(last),
        "RABBITMQ_CONF_ENV_FILE": str(home / "rabbitmq-env.conf"),
    }


def node_environment(ports: Ports, number: int, folder: Path, log: Path) -> dict[str, str]:
    """What the server of one node needs beside the above."""
    return {
        "RABBITMQ_NODENAME": erlang_name(number),
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(ports.amqp(number)),
        "RABBITMQ_DIST_PORT": str(ports.distribution(number)),
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOG_BASE": str(log.parent),
        "RABBITMQ_LOGS": str(log),
        "RABBITMQ_PID_FILE": str(folder / "pid"),
        "RABBITMQ_GENERATED_CONFIG_DIR": str(folder / "generated"),
        "RABBITMQ_FEATURE_FLAGS_FILE": str(folder / "data" / "feature_flags"),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
        "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "advanced.config"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
        "ERL_CRASH_DUMP": str(folder / "erl_crash.dump"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"-kernel inet_dist_use_interface {{127,0,0,1}} {NO_SPINNING}",
        # makes the start script exec Erlang in its own place: the pid we know is then the node's, with no shell between
        "RUNNING_UNDER_SYSTEMD": "true",
    }
