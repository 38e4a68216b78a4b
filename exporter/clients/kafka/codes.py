"""Error codes of the protocol that a reader meets: their names, their kind, and whether asking again may help.

Source: https://kafka.apache.org/protocol#protocol_error_codes
"""

from __future__ import annotations

from exporter.clients.kafka.failures import Failure
from exporter.model.common import Kind

NONE = 0
OFFSET_OUT_OF_RANGE = 1
UNKNOWN_TOPIC_OR_PARTITION = 3
LEADER_NOT_AVAILABLE = 5
NOT_COORDINATOR = 16
SASL_AUTHENTICATION_FAILED = 58
UNSUPPORTED_VERSION = 35
KAFKA_STORAGE_ERROR = 56
GROUP_ID_NOT_FOUND = 69
TOPIC_DENIED, GROUP_DENIED, CLUSTER_DENIED = 29, 30, 31

NAMES = {
    -1: "UNKNOWN_SERVER_ERROR",
    1: "OFFSET_OUT_OF_RANGE",
    2: "CORRUPT_MESSAGE",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER",
    7: "REQUEST_TIMED_OUT",
    9: "REPLICA_NOT_AVAILABLE",
    13: "NETWORK_EXCEPTION",
    14: "COORDINATOR_LOAD_IN_PROGRESS",
    15: "COORDINATOR_NOT_AVAILABLE",
    16: "NOT_COORDINATOR",
    17: "INVALID_TOPIC_EXCEPTION",
    24: "INVALID_GROUP_ID",
    29: "TOPIC_AUTHORIZATION_FAILED",
    30: "GROUP_AUTHORIZATION_FAILED",
    31: "CLUSTER_AUTHORIZATION_FAILED",
    33: "UNSUPPORTED_SASL_MECHANISM",
    34: "ILLEGAL_SASL_STATE",
    35: "UNSUPPORTED_VERSION",
    41: "NOT_CONTROLLER",
    42: "INVALID_REQUEST",
    43: "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    56: "KAFKA_STORAGE_ERROR",
    58: "SASL_AUTHENTICATION_FAILED",
    69: "GROUP_ID_NOT_FOUND",
    70: "FETCH_SESSION_ID_NOT_FOUND",
    71: "INVALID_FETCH_SESSION_EPOCH",
    74: "FENCED_LEADER_EPOCH",
    75: "UNKNOWN_LEADER_EPOCH",
    78: "OFFSET_NOT_AVAILABLE",
    88: "UNSTABLE_OFFSET_COMMIT",
    89: "THROTTLING_QUOTA_EXCEEDED",
    100: "UNKNOWN_TOPIC_ID",
    103: "INCONSISTENT_TOPIC_ID",
    109: "OFFSET_MOVED_TO_TIERED_STORAGE",
}
RETRYABLE = frozenset({3, 5, 6, 7, 9, 13, 14, 15, 16, 56, 74, 75, 78, 88, 89, 100, 103})
KINDS = {
    7: Kind.TIMEOUT,
    29: Kind.AUTHORIZATION,
    30: Kind.AUTHORIZATION,
    31: Kind.AUTHORIZATION,
    33: Kind.AUTHENTICATION,
    34: Kind.AUTHENTICATION,
    58: Kind.AUTHENTICATION,
    35: Kind.UNSUPPORTED,
    43: Kind.UNSUPPORTED,
}
UNREACHABLE = frozenset({5, 6, 9, 13, 14, 15, 16, 56, 78})
ADVICE = {
    5: "the partition has no leader: look for brokers that are down and for offline log directories",
    14: "the coordinator is still loading its offsets; it is normally ready within a minute",
    15: "no coordinator: the partition of __consumer_offsets that holds this group is offline",
    29: "missing right Describe on this Topic (Read for exact ages)",
    30: "missing right Describe on this Group",
    31: "missing right Describe on Cluster",
    56: "a log directory of the broker is offline",
}


def name(code: int) -> str:
    """The protocol's name of an error code."""
    return NAMES.get(code, f"error {code}")


def failure(code: int, message: str | None = None) -> Failure:
    """An error code of one item as a failure, with the broker's own words and what to do."""
    kind = KINDS.get(code, Kind.UNREACHABLE if code in UNREACHABLE else Kind.PROTOCOL)
    words = [name(code), *([message] if message else []), *([ADVICE[code]] if code in ADVICE else [])]
    return Failure(kind, ": ".join(words))
