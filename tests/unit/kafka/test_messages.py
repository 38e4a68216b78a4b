"""Our encoding and decoding against kafka-python's message classes, which know nothing of ours."""

from __future__ import annotations

import struct
import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas by a deprecated function
    from kafka.protocol.admin import (
        DescribeClusterRequest,
        DescribeClusterResponse,
        DescribeConfigsRequest,
        DescribeConfigsResponse,
        DescribeGroupsRequest,
        DescribeGroupsResponse,
        DescribeLogDirsRequest,
        DescribeLogDirsResponse,
        DescribeQuorumRequest,
        DescribeQuorumResponse,
        ListGroupsRequest,
        ListGroupsResponse,
    )
    from kafka.protocol.consumer import (
        ListOffsetsRequest,
        ListOffsetsResponse,
        OffsetFetchRequest,
        OffsetFetchResponse,
    )
    from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from exporter.clients.kafka.address import Address
from exporter.clients.kafka.messages import (
    cluster,
    configs,
    group_describe,
    group_list,
    list_offsets,
    log_dirs,
    metadata,
    offset_fetch,
    quorum,
    share_offsets,
)
from exporter.clients.kafka.messages.list_offsets import End
from exporter.clients.kafka.messages.metadata import PartitionRow, TopicRow
from exporter.clients.kafka.wire import INT32, INT64, Cursor, MalformedError, compact, compact_array, printable, varint

ID = bytes(range(16))
UUID = "00010203-0405-0607-0809-0a0b0c0d0e0f"


@pytest.mark.parametrize("version", [10, 11, 12])
def test_metadata_is_asked_for_all_topics_and_creates_none(version: int) -> None:
    sent = MetadataRequest.decode(metadata.request(version).body, version=version)
    assert (sent.topics, sent.allow_auto_topic_creation, sent.include_topic_authorized_operations) == (
        None,
        False,
        True,
    )


@pytest.mark.parametrize("version", [10, 11, 12])
def test_metadata_is_decoded(version: int) -> None:
    part = MetadataResponse.MetadataResponseTopic.MetadataResponsePartition
    parts = [
        part(0, 1, 11, 7, [11, 12, 13], [11, 12], [13], version=version),
        part(5, 0, -1, 3, [12], [], [], version=version),
    ]
    topics = [
        MetadataResponse.MetadataResponseTopic(0, "b", UUID, False, parts, {3}, version=version),
        MetadataResponse.MetadataResponseTopic(29, "a", UUID, True, [], {8}, version=version),
    ]
    brokers = [MetadataResponse.MetadataResponseBroker(11, "host", 9092, None, version=version)]
    answer = MetadataResponse(0, brokers, "cluster", 11, topics, version=version).encode()
    assert metadata.decode(answer, version) == metadata.Metadata(
        "cluster",
        {11: Address("host", 9092)},
        (
            TopicRow(29, "a", ID, True, (), False),
            TopicRow(0, "b", ID, False, (PartitionRow(0, 5, -1, 1, 0), PartitionRow(1, 0, 11, 3, 2)), True),
        ),
    )


@pytest.mark.parametrize("version", [3, 4, 5])
def test_groups_of_all_states_and_types_are_listed(version: int) -> None:
    sent = ListGroupsRequest.decode(group_list.request(version).body, version=version)
    assert (sent.states_filter or [], sent.types_filter or []) == ([], [])
    rows = [("g\n☕", "consumer", "Stable", "consumer"), ("h", "", "Empty", "share")]
    groups = [ListGroupsResponse.ListedGroup(*row[: version - 1], version=version) for row in rows]
    code, found = group_list.decode(ListGroupsResponse(0, 14, groups, version=version).encode(), version)
    assert code == 14
    assert [tuple(row) for row in found] == [(*row[: version - 1], *[""] * (5 - version)) for row in rows]


def test_a_group_id_that_is_not_utf8_survives_and_can_be_shown() -> None:
    body = INT32.pack(0) + b"\0\0" + b"\2" + b"\4a\xffb" + b"\1\1\1" + b"\0" + b"\0"
    name = group_list.decode(body, 5)[1][0].group
    assert compact(name) == b"\4a\xffb"
    assert printable(name) == "a\ufffdb"


def fetch_answer(groups: dict[str, dict[str, list[tuple[int, int, str | None, int]]]]) -> bytes:
    kinds = OffsetFetchResponse.OffsetFetchResponseGroup
    topic_kind = kinds.OffsetFetchResponseTopics
    part_kind = topic_kind.OffsetFetchResponsePartitions

    def topic(name: str, rows: list[tuple[int, int, str | None, int]]) -> object:
        parts = [part_kind(p, offset, -1, meta, code, version=8) for p, offset, meta, code in rows]
        return topic_kind(name=name, partitions=parts, version=8)

    made = [
        kinds(group_id=group, topics=[topic(*row) for row in topics.items()], error_code=0, version=8)
        for group, topics in groups.items()
    ]
    return bytes(OffsetFetchResponse(throttle_time_ms=0, groups=made, version=8).encode())


@pytest.mark.parametrize("metadata_text", ["", None, "x", "y" * 40, "z" * 200])
def test_committed_offsets_are_decoded_whatever_their_metadata(metadata_text: str | None) -> None:
    rows = [(number, number * 7, metadata_text, 0) for number in range(300)]
    found = offset_fetch.decode(fetch_answer({"g": {"t": rows, "u": rows[:1]}, "empty": {}}))
    assert [(group.group, group.error) for group in found] == [("g", 0), ("empty", 0)]
    commits = found[0].topics["t"]
    assert (commits.partitions, commits.offsets) == (tuple(range(300)), tuple(n * 7 for n in range(300)))
    assert found[0].topics["u"].offsets == (0,)


def test_mixed_rows_errors_and_missing_commits_are_told_apart() -> None:
    rows = [(0, 5, "", 0), (1, -1, "", 0), (2, -1, "", 29), (3, 8, "longer", 0), (4, 9, None, 0)]
    commits = offset_fetch.decode(fetch_answer({"g": {"t": rows}}))[0].topics["t"]
    assert (commits.partitions, commits.offsets, commits.errors) == ((0, 3, 4), (5, 8, 9), {2: 29})


def test_a_topic_on_which_nothing_is_committed_is_left_out() -> None:
    assert offset_fetch.decode(fetch_answer({"g": {"t": [(0, -1, "", 0)]}}))[0].topics == {}


def test_offsets_of_many_groups_are_asked_for_at_once() -> None:
    sent = OffsetFetchRequest.decode(offset_fetch.request(["a", "b"]).body, version=8)
    assert [(group.group_id, group.topics) for group in sent.groups] == [("a", None), ("b", None)]
    assert sent.require_stable is False
    some = OffsetFetchRequest.decode(offset_fetch.request(["a"], {"t": [0, 2]}).body, version=8)
    assert [(t.name, t.partition_indexes) for t in some.groups[0].topics] == [("t", [0, 2])]


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_cut_off_answer_is_malformed_and_nothing_worse(cut: int) -> None:
    answer = fetch_answer({"group": {"topic": [(0, 5, "", 0), (1, 6, "", 0)]}})
    with pytest.raises(MalformedError):
        offset_fetch.decode(answer[: len(answer) - 1 - cut])


@pytest.mark.parametrize("end", list(End))
@pytest.mark.parametrize("version", [6, 7, 8])
def test_ends_are_asked_with_their_isolation_and_timestamp(end: End, version: int) -> None:
    body = list_offsets.request(version, {"t": (0, 3)}, end).body
    sent = ListOffsetsRequest.decode(body, version=version)
    rows = [(part.partition_index, part.current_leader_epoch, part.timestamp) for part in sent.topics[0].partitions]
    assert (sent.replica_id, sent.isolation_level) == (-1, end.value[0])
    assert rows == [(0, -1, end.value[1]), (3, -1, end.value[1])]


def test_ends_are_decoded_side_by_side() -> None:
    topic_kind = ListOffsetsResponse.ListOffsetsTopicResponse
    part = topic_kind.ListOffsetsPartitionResponse
    rows = [
        part(partition_index=3, error_code=0, timestamp=-1, offset=17, leader_epoch=2, version=7),
        part(partition_index=0, error_code=6, timestamp=-1, offset=-1, leader_epoch=-1, version=7),
    ]
    topics = [topic_kind(name="t", partitions=rows, version=7)]
    answer = ListOffsetsResponse(throttle_time_ms=0, topics=topics, version=7).encode()
    assert list_offsets.decode(answer) == {"t": ((3, 0), (0, 6), (17, -1))}
    with pytest.raises(MalformedError):
        list_offsets.decode(answer[:-5])


def assignment(topics: dict[str, list[int]]) -> bytes:
    rows = [
        struct.pack(">h", len(name)) + name.encode() + struct.pack(f">i{len(parts)}i", len(parts), *parts)
        for name, parts in topics.items()
    ]
    return struct.pack(">hi", 0, len(rows)) + b"".join(rows) + struct.pack(">i", -1)


@pytest.mark.parametrize("version", [5, 6])
def test_classic_groups_are_described(version: int) -> None:
    kind = DescribeGroupsResponse.DescribedGroup
    member = kind.DescribedGroupMember

    def one(name: str, assigned: bytes) -> object:
        return member(
            member_id=name,
            client_id="c",
            client_host="/h",
            member_metadata=b"",
            member_assignment=assigned,
            version=version,
        )

    members = [one("m1", assignment({"t": [0, 1]})), one("m2", assignment({})), one("m3", b"")]
    connect = [one("w1", b"\0\1anything")]
    groups = [
        kind(error_code=0, group_id="g", group_state="Stable", protocol_type="consumer", protocol_data="range",
             members=members, version=version),
        kind(error_code=0, group_id="c", group_state="Stable", protocol_type="connect", protocol_data="x",
             members=connect, version=version),
        kind(error_code=16, group_id="n", group_state="", protocol_type="", protocol_data="", members=[],
             version=version),
    ]  # fmt: skip
    answer = DescribeGroupsResponse(throttle_time_ms=0, groups=groups, version=version).encode()
    found = group_describe.decode(group_describe.CLASSIC, answer, version)
    assert [(g.error, g.group, g.state, g.members, g.busy, g.assigned) for g in found] == [
        (0, "g", "Stable", 3, 1, {"t": {0, 1}}),
        (0, "c", "Stable", 1, 1, {}),
        (16, "n", "", 0, 0, {}),
    ]
    sent = DescribeGroupsRequest.decode(group_describe.request(15, version, ["g"]).body, version=version)
    assert (sent.groups, sent.include_authorized_operations) == (["g"], False)


def new_protocol_head(name: str, state: str) -> bytes:
    return b"\0\0" + b"\0" + compact(name) + compact(state) + INT32.pack(3) + INT32.pack(3)


def new_assignment(topics: dict[str, list[int]]) -> bytes:
    rows = [
        ID + compact(name) + varint(len(parts) + 1) + struct.pack(f">{len(parts)}i", *parts) + b"\0"
        for name, parts in topics.items()
    ]
    return compact_array(rows) + b"\0"


def answer_of(*groups: bytes) -> bytes:
    return INT32.pack(0) + compact_array(groups) + b"\0"


@pytest.mark.parametrize("version", [0, 1])
def test_groups_of_the_new_protocol_are_described(version: int) -> None:
    def member(assigned: dict[str, list[int]]) -> bytes:
        texts = compact("m") + b"\0" + b"\0" + INT32.pack(1) + compact("c") + compact("/h")
        subscribed = compact_array([compact("t")]) + b"\0"
        kind = b"\1" if version else b""
        return texts + subscribed + new_assignment(assigned) + new_assignment({"t": [9]}) + kind + b"\0"

    members = compact_array([member({"t": [0, 2]}), member({})])
    group = new_protocol_head("g", "Reconciling") + compact("uniform") + members + INT32.pack(0) + b"\0"
    found = group_describe.decode(group_describe.CONSUMER, answer_of(group), version)[0]
    assert (found.group, found.state, found.members, found.busy) == ("g", "Reconciling", 2, 1)
    assert found.assigned == {"t": {0, 2}}


def test_share_groups_are_described() -> None:
    member = compact("m") + b"\0" + INT32.pack(1) + compact("c") + compact("/h") + compact_array([compact("t")])
    members = compact_array([member + new_assignment({"t": [1]}) + b"\0"])
    group = new_protocol_head("g", "Stable") + compact("simple") + members + INT32.pack(0) + b"\0"
    found = group_describe.decode(group_describe.SHARE, answer_of(group), 1)[0]
    assert (found.state, found.members, found.busy, found.assigned) == ("Stable", 1, 1, {"t": {1}})


def test_streams_groups_are_described_with_the_topics_behind_their_tasks() -> None:
    info = compact("r") + INT32.pack(2) + b"\0\3" + compact_array([compact("k") + compact("v") + b"\0"]) + b"\0"
    sub = compact("0") + compact_array([compact("in")]) + compact_array([compact("sink")])
    sub += compact_array([info]) + compact_array([info]) + b"\0"
    topology = b"\1" + INT32.pack(1) + compact_array([sub]) + b"\0"

    def tasks(active: list[int]) -> bytes:
        rows = [compact("0") + varint(len(active) + 1) + struct.pack(f">{len(active)}i", *active) + b"\0"]
        return compact_array(rows if active else []) + b"\1" + b"\1" + b"\0"

    offset = compact("0") + INT32.pack(1) + INT64.pack(5) + b"\0"

    def member(active: list[int], endpoint: bytes) -> bytes:
        head = compact("m") + INT32.pack(1) + b"\0" + b"\0" + compact("c") + compact("/h") + INT32.pack(1)
        tags = compact_array([compact("zone") + compact("a") + b"\0"])
        offsets = compact_array([offset]) + compact_array([offset])
        return head + compact("p") + endpoint + tags + offsets + tasks(active) + tasks([]) + b"\0" + b"\0"

    endpoint = b"\1" + compact("host") + b"\x1f\x90" + b"\0"
    members = compact_array([member([0, 1], endpoint), member([], b"\xff")])
    group = new_protocol_head("g", "Stable") + topology + members + INT32.pack(0) + b"\0"
    found = group_describe.decode(group_describe.STREAMS, answer_of(group, group), 0)
    assert [(g.group, g.members, g.busy, g.assigned) for g in found] == [("g", 2, 1, {"in": {0, 1}, "r": {0, 1}})] * 2


@pytest.mark.parametrize(("version", "lag"), [(0, -1), (1, 4)])
def test_share_offsets_are_decoded(version: int, lag: int) -> None:
    part = INT32.pack(2) + INT64.pack(7) + INT32.pack(0) + (INT64.pack(4) if version else b"") + b"\0\0" + b"\0" + b"\0"
    topic = compact("t") + ID + compact_array([part]) + b"\0"
    group = compact("g") + compact_array([topic]) + b"\0\0" + b"\0" + b"\0"
    found = share_offsets.decode(INT32.pack(0) + compact_array([group]) + b"\0", version)
    assert found == [share_offsets.ShareOffsets("g", 0, None, {"t": [share_offsets.SharePartition(2, 7, lag, 0)]})]


def test_configurations_keep_their_errors_apart() -> None:
    kind = DescribeConfigsResponse.DescribeConfigsResult
    setting = kind.DescribeConfigsResourceResult
    synonym = setting.DescribeConfigsSynonym
    one = setting(
        name="retention.ms", value="5", read_only=False, config_source=1, is_sensitive=False,
        synonyms=[synonym("retention.ms", "5", 1, version=4)], config_type=5, documentation=None, version=4,
    )  # fmt: skip
    results = [
        kind(error_code=0, error_message=None, resource_type=2, resource_name="t", configs=[one], version=4),
        kind(error_code=29, error_message="no", resource_type=2, resource_name="u", configs=[], version=4),
    ]
    answer = DescribeConfigsResponse(throttle_time_ms=0, results=results, version=4).encode()
    assert configs.decode(answer) == [
        configs.Settings("t", 0, None, {"retention.ms": "5"}),
        configs.Settings("u", 29, "no", {}),
    ]
    sent = DescribeConfigsRequest.decode(configs.request(configs.TOPIC, ["t"], ["a", "b"]).body, version=4)
    asked = [(row.resource_type, row.resource_name, row.configuration_keys) for row in sent.resources]
    assert (asked, sent.include_synonyms) == ([(2, "t", ["a", "b"])], False)


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_log_directories_are_decoded_and_minus_one_is_unknown(version: int) -> None:
    kind = DescribeLogDirsResponse.DescribeLogDirsResult
    topic = kind.DescribeLogDirsTopic
    part = topic.DescribeLogDirsPartition
    parts = [part(number, size, 0, False, version=version) for number, size in ((0, 10), (1, 32))]
    more = {"total_bytes": 1000, "usable_bytes": 400} if version >= 4 else {}
    gone = {"total_bytes": -1, "usable_bytes": -1} if version >= 4 else {}
    results = [
        kind(error_code=0, log_dir="/a", topics=[topic("t", parts, version=version)], version=version, **more),
        kind(error_code=56, log_dir="/b", topics=[], version=version, **gone),
    ]
    head = {"error_code": 0} if version >= 3 else {}
    answer = DescribeLogDirsResponse(throttle_time_ms=0, results=results, version=version, **head).encode()
    sizes = (1000, 400) if version >= 4 else (None, None)
    assert log_dirs.decode(answer, version) == (
        0,
        [
            log_dirs.LogDirRow("/a", 0, 42, *sizes, frozenset({"t"})),
            log_dirs.LogDirRow("/b", 56, 0, None, None, frozenset()),
        ],
    )
    assert DescribeLogDirsRequest.decode(log_dirs.request(version).body, version=version).topics is None


@pytest.mark.parametrize("version", [10, 11, 12])
def test_topics_are_asked_for_by_name_without_creating_them(version: int) -> None:
    sent = MetadataRequest.decode(metadata.request_named(version, ["a", "b.c"]).body, version=version)
    assert [topic.name for topic in sent.topics] == ["a", "b.c"]
    assert (sent.allow_auto_topic_creation, sent.include_topic_authorized_operations) == (False, False)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_quorum_is_decoded(version: int) -> None:
    topic = DescribeQuorumResponse.TopicData
    part = topic.PartitionData
    replica = part.ReplicaState
    times = {"last_fetch_timestamp": 1700, "last_caught_up_timestamp": 1600} if version >= 1 else {}
    ids = {"replica_directory_id": UUID} if version >= 2 else {}
    voters = [replica(replica_id=node, log_end_offset=90 - node, version=version, **times, **ids) for node in (1, 2)]
    state = {"error_code": 0, "error_message": None, "leader_id": 1, "leader_epoch": 4, "high_watermark": 88}
    parts = [part(partition_index=0, current_voters=voters, observers=[], version=version, **state)]
    data = [topic(topic_name="__cluster_metadata", partitions=parts, version=version)]
    found = quorum.decode(DescribeQuorumResponse(error_code=0, topics=data, version=version).encode(), version)
    stamps = (1700, 1600) if version >= 1 else (-1, -1)
    replicas = (quorum.Replica(1, 89, *stamps), quorum.Replica(2, 88, *stamps))
    assert found == quorum.QuorumAnswer(0, None, 1, 4, 88, replicas, ())
    sent = DescribeQuorumRequest.decode(quorum.request(version).body, version=version)
    assert sent.topics[0].partitions[0].partition_index == 0


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_cluster_is_decoded_with_fenced_brokers(version: int) -> None:
    kind = DescribeClusterResponse.DescribeClusterBroker
    fenced = {"is_fenced": True} if version >= 2 else {}
    brokers = [
        kind(broker_id=1, host="a", port=1, rack=None, version=version),
        kind(broker_id=2, host="b", port=2, rack="r", version=version, **fenced),
    ]
    found = DescribeClusterResponse(
        throttle_time_ms=0, error_code=0, cluster_id="c", controller_id=1, brokers=brokers,
        authorized_operations={8}, version=version,
    )  # fmt: skip
    seen = cluster.decode(found.encode(), version)
    assert (seen.cluster_id, dict(seen.brokers)) == ("c", {1: Address("a", 1), 2: Address("b", 2)})
    assert seen.fenced == (frozenset({2}) if version >= 2 else frozenset())
    assert (seen.may_describe, seen.restricted) == (True, True)
    sent = DescribeClusterRequest.decode(cluster.request(version).body, version=version)
    assert sent.include_cluster_authorized_operations is True
    assert version < 2 or sent.include_fenced_brokers is True


def test_a_cursor_never_reads_past_the_end() -> None:
    for read in (Cursor.int8, Cursor.int16, Cursor.int32, Cursor.int64, Cursor.varint, Cursor.uuid, Cursor.boolean):
        with pytest.raises(MalformedError):
            read(Cursor(b""))
    with pytest.raises(MalformedError):
        Cursor(b"\xff\xff\xff\x7f").count()
    with pytest.raises(MalformedError):
        Cursor(b"\x09abc").text()
