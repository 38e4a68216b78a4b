"""Which brokers belong to the cluster, fenced ones too."""

from __future__ import annotations

from dataclasses import dataclass, field

from exporter.clients.kafka import codes, rights
from exporter.clients.kafka.brokers import Address, Brokers, Failure
from exporter.clients.kafka.messages import cluster
from exporter.clients.kafka.recorder import Recorder
from exporter.clients.kafka.wire import MalformedError

KNOWS_FENCED = 2


@dataclass(slots=True)
class MembershipReader:
    """Asks DescribeCluster. Before version 2 a broker that is down is not listed, so those seen before are kept."""

    brokers: Brokers
    seen: set[int] = field(default_factory=set)
    addresses: dict[int, Address] = field(default_factory=dict)  # of brokers that are or were members
    restricted: bool = False  # the user may not do everything with the cluster
    may_describe: bool = True  # the cluster; False where the broker said so

    def read(self, run: Recorder) -> dict[int, bool]:
        """Broker id to whether it is a member now; empty when it can't be read."""
        answer = self.brokers.ask_first(cluster.API_KEY, cluster.LOWEST, cluster.HIGHEST, cluster.request)
        if isinstance(answer, Failure):
            run.problem("cluster", answer)
            return {}
        try:
            found = cluster.decode(answer[1], answer[0])
        except MalformedError as error:
            run.malformed("cluster", error)
            return {}
        if found.error:
            run.problem("cluster", codes.failure(found.error, found.message))
            return {}
        self.restricted, self.may_describe = found.restricted, found.may_describe is not False
        if found.may_describe is False:
            run.problem(rights.CLUSTER, rights.DESCRIBE_CLUSTER.failure())
        up = {broker: broker not in found.fenced for broker in found.brokers}
        missing = set() if answer[0] >= KNOWS_FENCED else self.seen - up.keys()
        self.seen = set(up) | missing
        members = {**dict.fromkeys(missing, False), **up}
        known = {**self.addresses, **found.brokers}
        self.addresses = {broker: known[broker] for broker in members if broker in known}
        self.brokers.watch({where for broker, where in self.addresses.items() if not members[broker]})
        return dict(sorted(members.items()))
