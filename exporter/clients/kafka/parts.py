"""The readers of one cluster, which keep their connections and caches from poll to poll."""

from __future__ import annotations

from exporter.clients.kafka import sasl
from exporter.clients.kafka.brokers import Brokers
from exporter.clients.kafka.commits import CommitReader
from exporter.clients.kafka.controllers import QuorumReader
from exporter.clients.kafka.directories import DirectoryReader
from exporter.clients.kafka.ends import EndReader
from exporter.clients.kafka.groups import GroupReader
from exporter.clients.kafka.hidden import HiddenReader
from exporter.clients.kafka.membership import MembershipReader
from exporter.clients.kafka.memory import Memory
from exporter.clients.kafka.properties import Client
from exporter.clients.kafka.record_times import RecordTimes
from exporter.clients.kafka.settings import SettingsReader
from exporter.clients.kafka.topics import TopicReader
from exporter.config.model import Kafka


class Parts:
    """One reader for each thing that is read."""

    def __init__(self, config: Kafka) -> None:
        self.config = config
        paces = (config.slow_interval, config.interval)
        client = Client.of(config.client, config.secrets)
        if client.protocol.startswith("SASL"):
            sasl.mechanisms()  # now, and not within the deadline of the first login
        self.brokers = Brokers(config.bootstrap_servers, client, config.timeout)
        self.link = Brokers((), client, config.timeout)
        self.topics = TopicReader(self.brokers, config.topics)
        self.groups = GroupReader(self.brokers, config.groups)
        self.commits = CommitReader(self.brokers)
        self.ends = EndReader(self.brokers)
        self.membership = MembershipReader(self.brokers)
        self.settings = SettingsReader(self.brokers, *paces)
        self.directories = DirectoryReader(self.brokers, *paces)
        self.quorum = QuorumReader(self.brokers, self.link, *paces)
        self.hidden = HiddenReader(self.brokers, config)
        self.times = RecordTimes(config.interval, config.age_budget, exact=config.ages == "exact")
        self.memory = Memory()

    def close(self) -> None:
        """Close every connection."""
        self.brokers.close()
        self.link.close()
