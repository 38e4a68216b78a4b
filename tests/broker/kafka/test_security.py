"""TLS, SASL and authorization on a real broker: it works, or it says what to do."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AclOperation, NewTopic
from confluent_kafka.admin import ResourceType as Resource

from exporter.clients.kafka.brokers import Request
from exporter.clients.kafka.commits import CommitReader, CommitTable
from exporter.clients.kafka.messages import metadata, offset_fetch
from exporter.clients.kafka.reader import KafkaReader
from exporter.clients.kafka.wire import MalformedError, compact
from exporter.config.model import Filter, Kafka, Secret
from exporter.metrics import kafka_brokers
from exporter.model.common import Kind
from exporter.model.kafka import KafkaSnapshot
from tests.broker.kafka.lag_world import LagWorld, ages, lags, problems, row_of, wait
from tests.broker.kafka.secure_node import PASSWORD, REAUTHENTICATE_MS, SecureNode, secure_node
from tests.mutations import fails_under, mutation

MISSING = "a-topic-that-nobody-made"
Name = Callable[[str], str]
Open = Callable[..., KafkaReader]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureNode]:
    with secure_node(tmp_path_factory.mktemp("secure")) as made:
        for operation, kind in (
            (AclOperation.DESCRIBE, Resource.TOPIC),
            (AclOperation.DESCRIBE_CONFIGS, Resource.TOPIC),
            (AclOperation.READ, Resource.TOPIC),
            (AclOperation.DESCRIBE, Resource.GROUP),
        ):
            made.allow("monitor", operation, kind)
        made.allow("monitor", AclOperation.DESCRIBE, Resource.BROKER, "kafka-cluster")
        yield made


@pytest.fixture
def world(node: SecureNode) -> Iterator[LagWorld]:
    made = LagWorld(node.open)
    yield made
    made.close()


@pytest.fixture
def reader(node: SecureNode, tmp_path: Path) -> Iterator[Open]:
    """Opens readers as a user, by default through TLS and SCRAM-SHA-512, with the password in a file."""
    made: list[KafkaReader] = []

    def open_(
        user: str, *names: str, password: str | None = None, address: str | None = None, **more: str
    ) -> KafkaReader:
        secret = tmp_path / "password"
        secret.write_text(password or f"{PASSWORD}{user}")
        client = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "ssl.ca.location": str(node.ca),
            **more,
        }
        chosen = Filter(allow=names or (".*",))
        secrets = {"sasl.password": Secret(file=secret)} if client["security.protocol"].startswith("SASL") else {}
        if not secrets:
            client = {name: value for name, value in client.items() if not name.startswith("sasl")}
        config = Kafka(
            bootstrap_servers=(address or node.sasl,), client=client, secrets=secrets, topics=chosen, groups=chosen,
            slow_interval=0.1, timeout=10.0,
        )  # fmt: skip
        made.append(KafkaReader(config))
        return made[-1]

    yield open_
    for one in made:
        one.close()


def lagging(world: LagWorld, fresh_name: Name) -> tuple[str, str]:
    topic, group = world.create(fresh_name("topic"), replicas=1), fresh_name("group")
    world.produce(topic, 5)
    world.commit(group, topic, {0: 2})
    return topic, group


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN"])
def test_a_monitor_sees_everything_through_tls_and_sasl(
    world: LagWorld, reader: Open, fresh_name: Name, mechanism: str
) -> None:
    topic, group = lagging(world, fresh_name)
    snapshot = reader("monitor", topic, group, **{"sasl.mechanism": mechanism}).poll()
    assert problems(snapshot) == {}
    row = row_of(snapshot, group, topic)
    assert lags(row) == {0: 3}
    assert ages(row)[0] is not None
    assert snapshot.quorum is not None
    assert [directory.offline for directory in snapshot.log_dirs] == [False, False]


def test_sessions_are_renewed_before_the_broker_ends_them(world: LagWorld, reader: Open, fresh_name: Name) -> None:
    topic, group = lagging(world, fresh_name)
    opened = reader("monitor", topic, group)
    until = time.monotonic() + 2.5 * REAUTHENTICATE_MS / 1000
    while time.monotonic() < until:
        assert problems(opened.poll()) == {}
        time.sleep(0.3)


def token_for(user: str, seconds: float) -> str:
    """A token that says who one is and until when, unsigned, as Kafka's own validator for trials takes it."""
    now = time.time()
    claims = {"sub": user, "iat": now - 60, "exp": now + seconds}
    parts = (urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in ({"alg": "none"}, claims))
    return b".".join(parts).decode() + "."


def test_a_token_logs_in_and_is_read_anew_before_it_ends(
    node: SecureNode, world: LagWorld, fresh_name: Name, tmp_path: Path
) -> None:
    """OAUTHBEARER: a token that has ended is refused; when its file has a new one, that is used without a restart."""
    topic, group = lagging(world, fresh_name)
    secret = tmp_path / "token"
    client = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "ssl.ca.location": str(node.ca)}
    chosen = Filter(allow=(topic, group))
    secrets = {"sasl_oauth_token": Secret(file=secret)}
    config = Kafka(
        bootstrap_servers=(node.sasl,), client=client, secrets=secrets, topics=chosen, groups=chosen, timeout=10.0
    )
    opened = KafkaReader(config)
    try:
        secret.write_text(token_for("monitor", -300))
        assert kinds(opened.poll()) == {Kind.AUTHENTICATION}
        secret.write_text(token_for("monitor", 300))
        snapshot = opened.poll()
        assert (problems(snapshot), lags(row_of(snapshot, group, topic))) == ({}, {0: 3})
    finally:
        opened.close()


def kinds(snapshot: KafkaSnapshot) -> set[Kind]:
    return {problem.kind for run in snapshot.runs for problem in run.problems}


def test_a_wrong_password_is_told_and_never_shown(reader: Open) -> None:
    snapshot = reader("monitor", password="hunter2-is-wrong").poll()
    assert kinds(snapshot) == {Kind.AUTHENTICATION}
    assert "hunter2" not in repr(snapshot)
    assert "SCRAM-SHA-512 login refused" in snapshot.runs[0].problems[0].detail


def test_without_rights_the_emptiness_is_a_failure(world: LagWorld, reader: Open, fresh_name: Name) -> None:
    lagging(world, fresh_name)
    snapshot = reader("nobody").poll()
    assert (snapshot.topics, snapshot.groups) == ((), ())
    failed = {run.name: {problem.kind for problem in run.problems} for run in snapshot.runs if not run.success}
    assert failed["topics"] == failed["brokers"] == failed["log_dirs"] == failed["quorum"] == {Kind.AUTHORIZATION}


@mutation
def one_bad_group_hides_all(patch: pytest.MonkeyPatch) -> None:
    """Give up on the whole answer at the first group in it that has an error."""
    plain = CommitReader._take_commits

    def hasty(reader: CommitReader, data: bytes, table: CommitTable) -> None:
        if any(group.error for group in offset_fetch.decode(data)):
            raise MalformedError("one bad group")
        plain(reader, data, table)

    patch.setattr(CommitReader, "_take_commits", hasty)


def test_one_group_that_may_not_be_described_hides_no_other(
    node: SecureNode, world: LagWorld, reader: Open, fresh_name: Name
) -> None:
    topic, group = lagging(world, fresh_name)
    hidden = world.commit(f"{group}-hidden", topic, {0: 1})
    for kind, name in ((Resource.TOPIC, topic), (Resource.GROUP, group), (Resource.BROKER, "kafka-cluster")):
        node.allow("half", AclOperation.DESCRIBE, kind, name)
    check_hides_no_other(reader, topic, group, hidden)
    fails_under("one_bad_group_hides_all", check_hides_no_other, reader, topic, group, hidden)


def check_hides_no_other(reader: Open, topic: str, group: str, hidden: str) -> None:
    """The group we may describe has its lag; the other one is named with the reason."""
    snapshot = reader("half", topic, group, hidden).poll()
    row = row_of(snapshot, group, topic)
    assert lags(row) == {0: 3}
    told = problems(snapshot)
    assert [f"group {hidden}: missing right Describe on Group {hidden}: " in text for text in told["commits"]] == [True]
    assert "commits" not in {run.name for run in snapshot.runs if run.success}
    assert "offsets" in {run.name for run in snapshot.runs if run.success}
    assert [f"topic {topic}: missing right Read on Topic {topic}: " in text for text in told["ages"]] == [True]
    # without the right to read, no age is invented: it is an estimate with its bound, or absent
    assert ages(row)[0] is None or row.error_bounds[0] > 0


def test_a_client_certificate_lets_in_and_its_lack_is_told(
    node: SecureNode, world: LagWorld, reader: Open, fresh_name: Name
) -> None:
    topic, group = lagging(world, fresh_name)
    own = {"ssl.certificate.location": str(node.certificate), "ssl.key.location": str(node.key)}
    let_in = reader("x", topic, group, address=node.mutual, **{"security.protocol": "SSL", **own}).poll()
    assert lags(row_of(let_in, group, topic)) == {0: 3}
    refused = reader("x", topic, group, address=node.mutual, **{"security.protocol": "SSL"}).poll()
    assert kinds(refused) == {Kind.TLS}
    assert "ssl_certfile" in refused.runs[0].problems[0].detail


@pytest.mark.parametrize(
    ("listener", "client", "kind", "words"),
    [
        ("open", {"security.protocol": "SSL"}, Kind.TLS, "is it a plaintext port?"),
        ("sasl", {"security.protocol": "PLAINTEXT"}, Kind.TLS, "speaks TLS"),
        ("tls", {"security.protocol": "SASL_SSL"}, Kind.AUTHENTICATION, "takes no SASL login"),
        ("sasl", {"security.protocol": "SSL"}, Kind.UNREACHABLE, "does this listener want a SASL login?"),
        ("sasl", {"sasl.mechanism": "SCRAM-SHA-256"}, Kind.AUTHENTICATION, "only OAUTHBEARER, PLAIN, SCRAM-SHA-512"),
    ],
)
def test_a_listener_of_another_kind_is_recognised(
    node: SecureNode, reader: Open, listener: str, client: dict[str, str], kind: Kind, words: str
) -> None:
    snapshot = reader("monitor", address=getattr(node, listener), **client).poll()
    assert (kinds(snapshot), snapshot.topics) == ({kind}, ())
    assert words in snapshot.runs[0].problems[0].detail


@mutation
def metadata_may_create(patch: pytest.MonkeyPatch) -> None:
    """Ask for topics by name and let the broker create them, as some clients do."""
    asked = b"\2" + bytes(16) + compact(MISSING) + b"\0" + b"\1\0\0"
    patch.setattr(metadata, "request", lambda version: Request(metadata.API_KEY, version, asked))


def test_asking_never_creates_a_topic_where_brokers_would(world: LagWorld) -> None:
    check_never_creates(world)
    fails_under("metadata_may_create", check_never_creates, world)


def check_never_creates(world: LagWorld) -> None:
    """A topic that does not exist, though the configuration names it, does not exist after two polls either."""
    missing = MISSING  # this node creates topics on sight, as brokers do by default
    opened = world.reader(missing)
    opened.poll()
    opened.poll()
    assert missing not in world.admin.list_topics(timeout=10).topics


def test_a_log_directory_that_is_lost_is_an_alarm_and_its_space_unknown(
    node: SecureNode, world: LagWorld, fresh_name: Name
) -> None:
    """The last test of this file: the node does not get its directory back."""
    opened = world.reader()
    healthy = opened.poll()
    assert [(disk.alarm, disk.free_bytes is None) for disk in healthy.disks] == [(False, False), (False, False)]
    node.lose_second_directory()

    def poke() -> KafkaSnapshot:
        with suppress(
            KafkaException, TimeoutError
        ):  # a topic whose directory can't be made takes the log directory offline
            world.admin.create_topics([NewTopic(fresh_name(f"t{time.monotonic_ns()}"), 4, 1)]).popitem()[1].result(10)
        return opened.poll()

    lost = wait(poke, lambda seen: any(directory.offline for directory in seen.log_dirs))
    gone = next(directory for directory in lost.log_dirs if directory.offline)
    assert (gone.path, gone.used, gone.total, gone.usable) == (str(node.folder / "more"), None, None, None)
    disk = next(disk for disk in lost.disks if disk.dir == gone.path)
    assert (disk.free_bytes, disk.alarm) == (None, True)
    measured = kafka_brokers.measure(lost)
    assert measured[kafka_brokers.OFFLINE] == {("1", str(node.folder / "data")): 0, ("1", gone.path): 1}
    assert all(path != gone.path for _, path in measured[kafka_brokers.USABLE])
