"""A lab on this machine as a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drills.lab import Lab, record
from drills.lab import node as lab_node
from drills.lab.kafka import Broker
from drills.lab.keys import ADMIN
from drills.lab.node import Condition
from drills.targets.target import Identity, KafkaAddresses, RabbitAddress, RabbitAddresses, TargetError

PACE = {"interval": 2.0, "slow_interval": 6.0}  # seconds: the exporter of a run is read every two


@dataclass(frozen=True)
class LabNode:
    """A node of a lab."""

    name: str
    inner: lab_node.Node

    def condition(self) -> Condition:
        """gone, frozen, starting or serving."""
        return self.inner.condition()

    def identity(self) -> Identity | None:
        """Its main process."""
        process = self.inner.process()
        return None if process is None else Identity(process.pid, process.started)

    def start(self) -> None:
        """Started or thawed, and serving."""
        self.inner.start()

    def stop(self) -> None:
        """Ended cleanly."""
        self.inner.stop()

    def kill(self) -> None:
        """Ended with SIGKILL."""
        self.inner.kill()

    def pause(self) -> None:
        """Frozen."""
        self.inner.pause()

    def resume(self) -> None:
        """Thawed, and answering."""
        self.inner.resume()


class LabTarget:
    """A lab. Raises LabError when there is none of that name."""

    kind = "lab"

    def __init__(self, name: str, source: str, lab: str, drillable: bool, urls: Mapping[str, str | None]) -> None:
        self.name = name
        self.source = source
        self.drillable = drillable
        self.lab = Lab.open(lab)
        self.own_name = self.lab.name
        self.lock = self.lab.folder / "drill.lock"  # goes with the lab: one made anew is another cluster
        self.systems = self.lab.record.systems
        self.exporter_url = urls.get("exporter_url")
        self.prometheus_url = urls.get("prometheus_url") or self._url("prometheus")
        self.alertmanager_url = urls.get("alertmanager_url") or self._url("alertmanager")

    @property
    def rabbitmq(self) -> RabbitAddresses:
        """Its RabbitMQ cluster, as its administrator."""
        self._must_have("rabbitmq")
        found = self.lab.rabbitmq
        nodes = [
            RabbitAddress(f"rabbitmq-{number}", inside, url, "127.0.0.1", self.lab.ports.amqp(number))
            for number, (inside, url) in enumerate(zip(found.names, found.plain_urls, strict=True), start=1)
        ]
        return RabbitAddresses(nodes, found.user, found.password, str(found.keys.ca) if found.keys else None)

    @property
    def kafka(self) -> KafkaAddresses:
        """Its Kafka cluster, as its administrator."""
        self._must_have("kafka")
        return KafkaAddresses(self.lab.kafka.bootstrap, self.lab.kafka.client)

    def nodes(self, system: str) -> list[str]:
        """The names of the nodes of a system, controllers included."""
        return [name for name, node in self.lab.nodes.items() if node.system == system]

    def quorum(self, name: str) -> list[str]:
        """The nodes of the same kind."""
        kind = type(self.lab.node(name))
        return [other for other, node in self.lab.nodes.items() if type(node) is kind]

    def kafka_broker(self, name: str) -> int | None:
        """The broker's id is the node's number."""
        node = self.lab.node(name)
        return node.number if isinstance(node, Broker) else None

    def node(self, name: str) -> LabNode:
        """A node by name. Raises LabError naming those there are."""
        return LabNode(name, self.lab.node(name))

    def rabbitmq_command(self, node: str, *arguments: str, program: str = "rabbitmqctl") -> str:
        """What the program prints. Raises LabError."""
        return self.lab.rabbit_node(node).ctl(*arguments, program=program)

    def exporter_config(self) -> dict[str, Any]:
        """Both clusters, where they are there; the exporter wants each to have a name of its own."""
        found: dict[str, Any] = {}
        if "kafka" in self.systems:
            found["kafka"] = [{"cluster": f"{self.name}-kafka", **self.lab.kafka.watched(), **PACE}]
        if "rabbitmq" in self.systems:
            # an administrator sees the virtual hosts of the run, in which the lab's monitor has no rights
            watched = self.lab.rabbitmq.watched(ADMIN)
            found["rabbitmq"] = [{"cluster": f"{self.name}-rabbitmq", **watched, **PACE}]
        return found

    def watch(self, job: str, address: str, path: str, rules: Path, scrape: str) -> None:
        """A job and a rule file more. Raises LabError with Prometheus' reason."""
        self._must_have("prometheus")
        prometheus = self.lab.prometheus
        prometheus.scrape(job, [address], scrape, metrics_path=path or "/metrics")
        others = [Path(one) for one in prometheus.configuration()["rule_files"] if one != str(rules.absolute())]
        prometheus.rules([*others, rules])

    def unwatch(self, job: str, rules: Path) -> None:
        """A job and a rule file less."""
        self._must_have("prometheus")
        now = self.lab.prometheus.configuration()
        jobs = [one for one in now["scrape_configs"] if one["job_name"] != job]
        files = [one for one in now["rule_files"] if one != str(rules.absolute())]
        self.lab.prometheus.configure({**now, "scrape_configs": jobs, "rule_files": files})

    def watched(self) -> list[str]:
        """The jobs of the configuration that it has taken."""
        self._must_have("prometheus")
        return [str(one["job_name"]) for one in self.lab.prometheus.configuration()["scrape_configs"]]

    def _url(self, system: str) -> str | None:
        return str(getattr(self.lab, system).url) if system in self.lab.record.systems else None

    def _must_have(self, system: str) -> None:
        if system not in self.systems:
            raise TargetError(
                f"lab {self.lab.name!r} has no {system} (of {', '.join(record.SYSTEMS)} it has "
                f"{', '.join(self.systems)}): add it with `mq-drill lab up {self.lab.name} --only {system}`"
            )
