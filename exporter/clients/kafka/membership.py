"""Which brokers belong to the cluster, fenced ones too."""

from __future__ import annotations

from dataclasses import dataclass, field

from exporter.clients.kafka import codes
from exporter.clients.kafka.brokers import Brokers, Failure
from exporter.clients.kafka.messages import cluster
from exporter.clients.kafka.recorder import Recorder
from exporter.clients.kafka.wire import MalformedError
from exporter.model.common import Kind

KNOWS_FENCED = 2


@dataclass(slots=True)
class MembershipReader:
    """Asks DescribeCluster. Before version 2 a broker that is down is not listed, so those seen before are kept."""

    brokers: Brokers
    seen: set[int] = field(default_factory=set)
    restricted: bool = False  # the user may not do everything with the cluster

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
        self.restricted = found.restricted
        if found.may_describe is False:
            words = "grant Describe on the cluster to the exporter's user: log directories and groups stay hidden"
            run.problem("cluster", Failure(Kind.AUTHORIZATION, words))
        up = {broker: broker not in found.fenced for broker in found.brokers}
        missing = set() if answer[0] >= KNOWS_FENCED else self.seen - up.keys()
        self.seen = set(up) | missing
        return dict(sorted({**dict.fromkeys(missing, False), **up}.items()))
