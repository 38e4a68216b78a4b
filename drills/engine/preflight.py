"""What must be true before a run touches anything, and which versions it is about."""

from __future__ import annotations

import importlib.metadata
import platform

from drills.engine.drill import Drill
from drills.engine.errors import Refused
from drills.engine.screen import Screen
from drills.faults.silence import Silence
from drills.targets.kafka_admin import admin
from drills.targets.target import Target, TargetError
from drills.witness.rabbitmq import RabbitWitness, WitnessError

CLIENTS = ("pika", "confluent-kafka", "kafka-python", "sqlalchemy", "psycopg")


def check(target: Target, drill: Drill, screen: Screen) -> None:
    """Raises Refused with every node that does not serve, or with what the drill itself lacks."""
    conditions = {name: target.node(name).condition() for system in drill.systems for name in target.nodes(system)}
    bad = [f"{name} is {condition}" for name, condition in conditions.items() if condition != "serving"]
    if bad:
        raise Refused(f"target {target.name} is not whole: {', '.join(bad)}. Bring it back first; nothing was touched")
    screen.line(f"{len(conditions)} nodes serve")
    lack = drill.lack(target)
    if lack is not None:
        raise Refused(f"drill {drill.name} can't begin on {target.name}: {lack}")


def own_versions() -> dict[str, str]:
    """Of this project, Python and the client libraries."""
    found = {"python": platform.python_version(), "kernel": platform.release()}
    for name in ("mqops", *CLIENTS):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def broker_versions(target: Target) -> dict[str, str]:
    """What the brokers say that they are; of Kafka, which tells no version, the feature levels in force."""
    return {**_rabbitmq(target), **_kafka(target)}


def _rabbitmq(target: Target) -> dict[str, str]:
    if "rabbitmq" not in target.systems:
        return {}
    addresses = target.rabbitmq
    try:
        about = RabbitWitness(addresses.urls, addresses.user, addresses.password, addresses.ca_file).overview()
    except WitnessError as error:
        raise Refused(f"RabbitMQ of {target.name} can't be asked: {error}") from error
    return {key: about[key] for key in ("rabbitmq_version", "erlang_version") if key in about}


def _kafka(target: Target) -> dict[str, str]:
    if "kafka" not in target.systems:
        return {}
    try:
        with admin(target.kafka) as client:
            found = client.describe_features()
    except TargetError as error:
        raise Refused(f"Kafka of {target.name} can't be asked: {error}") from error
    return {f"kafka {name}": str(one["finalized"][1]) for name, one in sorted(found.items()) if one.get("finalized")}


def silence(target: Target, run: str, namespace: str) -> Silence:
    """The silence on the run's own scope. Raises Refused where there is no Alertmanager."""
    if target.alertmanager_url is None:
        raise Refused(f"--silence: target {target.name} has no Alertmanager (alertmanager_url)")
    return Silence(target.alertmanager_url, run, namespace)
