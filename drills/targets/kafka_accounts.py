"""Accounts of Kafka: passwords (SCRAM-SHA-512) and rights, as the cluster itself keeps them. All raise TargetError."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from drills.targets.kafka_admin import admin, names
from drills.targets.target import KafkaAddresses, TargetError

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # as in kafka_admin
    from kafka.admin import (
        ACL,
        ACLFilter,
        ACLOperation,
        ACLPermissionType,
        ACLResourcePatternType,
        ResourcePattern,
        ResourcePatternFilter,
        ResourceType,
        ScramMechanism,
        UserScramCredentialDeletion,
        UserScramCredentialUpsertion,
    )

MECHANISM, ITERATIONS = ScramMechanism.SCRAM_SHA_512, 4096


def set_password(addresses: KafkaAddresses, user: str, password: str) -> None:
    """Makes an account (SCRAM-SHA-512), or gives one another password. Brokers learn of it a moment later."""
    fresh = UserScramCredentialUpsertion(user, MECHANISM, password, iterations=ITERATIONS)
    _alter(addresses, user, fresh)


def forget_user(addresses: KafkaAddresses, user: str) -> None:
    """Takes the password of an account away; nothing when it has none."""
    if has_password(addresses, user):
        _alter(addresses, user, UserScramCredentialDeletion(user, MECHANISM))


def has_password(addresses: KafkaAddresses, user: str) -> bool:
    """Whether an account has a password."""
    with admin(addresses) as client:
        return bool(client.describe_user_scram_credentials([user])[user]["credential_infos"])


def _alter(addresses: KafkaAddresses, user: str, alteration: Any) -> None:
    with admin(addresses) as client:
        problem = client.alter_user_scram_credentials([alteration])[user]
    if problem is not None:
        raise TargetError(f"the password of {user} was not changed: {problem}")


def grant(addresses: KafkaAddresses, user: str, rights: Iterable[Sequence[str]]) -> None:
    """Gives an account rights: (operation, resource type, resource name), by Kafka's names for them."""
    made = [
        ACL(f"User:{user}", "*", ACLOperation[operation], ACLPermissionType.ALLOW,
            ResourcePattern(ResourceType[kind], name))
        for operation, kind, name in rights
    ]  # fmt: skip
    with admin(addresses) as client:
        answer = client.create_acls(made)
    if answer["failed"]:
        raise TargetError(f"rights of {user} were not given: {answer['failed']}")


def revoke(addresses: KafkaAddresses, user: str) -> None:
    """Takes all rights of an account away."""
    with admin(addresses) as client:
        client.delete_acls([_rules_of(user)])


def rights_of(addresses: KafkaAddresses, user: str) -> list[list[str]]:
    """What an account may and may not do: [permission, operation, resource type, pattern, resource name], sorted."""
    with admin(addresses) as client:
        found, error = client.describe_acls(_rules_of(user))
    if names(error.errno):
        raise TargetError(f"rights of {user} can't be told: {error.__name__}")
    return sorted(_told_right(one) for one in found)


def _rules_of(user: str) -> Any:
    everything = ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY)
    return ACLFilter(f"User:{user}", None, ACLOperation.ANY, ACLPermissionType.ANY, everything)


def _told_right(acl: Any) -> list[str]:
    where = acl.resource_pattern
    parts = (acl.permission_type, acl.operation, where.resource_type, where.pattern_type)
    return [*(part.name for part in parts), where.resource_name]
