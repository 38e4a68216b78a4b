"""Wrong applications and environments that incident must object to; `python -m tests.mutants` runs them."""

from __future__ import annotations

from drills.actors import consuming, contract, dead_letters, kafka_consumer, kafka_replayer, publishing
from drills.actors import rabbitmq_consumer as consumer
from drills.catalog import incident
from drills.model.verdict import Verdict
from drills.scenes import wrong
from drills.scenes.incident.poisons import IDS as POISONS
from drills.scenes.wrong import Wrong
from tests.mutant import Expected, Mutant

FAIL, UNKNOWN = Verdict.FAIL, Verdict.UNKNOWN
QUICK = incident.parameters(True)
V1, V2 = sorted(QUICK["ids"]["v1"]), sorted(QUICK["ids"]["v2"])

INCIDENT = {
    "strict_reader": Mutant(
        "the reader of version 1 refuses fields that it does not know",
        Wrong(consumer=contract.STRICT),
        {1: Expected(FAIL, tuple(V2))},
    ),
    "no_default": Mutant(
        "the reader of version 2 wants a currency, which version 1 has not",
        Wrong(consumer=contract.NO_DEFAULT),
        {1: Expected(FAIL, tuple(V1))},
    ),
    "producer_first": Mutant(
        "the producer is upgraded before the consumers", Wrong(environment=wrong.PRODUCER_FIRST), {2: Expected(FAIL)}
    ),
    "offset_apart": Mutant(
        "the offset of a poison is committed before its dead letter, by itself",
        Wrong(consumer=dead_letters.OFFSET_APART),
        {3: Expected(FAIL, POISONS[:1])},
    ),
    "acks_poison_first": Mutant(
        "a poison is acked before it is in quarantine",
        Wrong(consumer=consumer.ACKS_POISON_FIRST),
        {3: Expected(FAIL, POISONS[:1])},
    ),
    "does_nothing_once": Mutant(
        "a consumer says of one event that it is done, and does nothing with it",
        Wrong(consumer=consuming.SKIPS_ONE, victim="account-0002-302"),
        {4: Expected(FAIL, ("account-0002-302",))},
    ),
    "broker_stays": Mutant(
        "the broker that is to be stopped is left alone", Wrong(environment=wrong.BROKER_STAYS), {4: Expected(UNKNOWN)}
    ),
    "rule_too_high": Mutant(
        "the alert's threshold is never reached", Wrong(environment=wrong.RULE_TOO_HIGH), {5: Expected(FAIL)}
    ),
    "barrier_open": Mutant(
        "the barrier has no effect, and no lag comes up",
        Wrong(consumer=kafka_consumer.HOLDS_NOTHING),
        {5: Expected(UNKNOWN)},
    ),
    "limit_too_low": Mutant(
        "the free-disk limit stays below what is free", Wrong(environment=wrong.LIMIT_TOO_LOW), {6: Expected(UNKNOWN)}
    ),
    "confirmed_while_blocked": Mutant(
        "a publisher marks what it sent as confirmed before the confirm",
        Wrong(publisher=publishing.CONFIRMED_BEFORE_CONFIRM),
        {6: Expected(FAIL, ("probe-0001-001",))},
    ),
    "account_is_admin": Mutant(
        "the application's account may do everything", Wrong(environment=wrong.ACCOUNT_IS_ADMIN), {7: Expected(FAIL)}
    ),
    "rotates_nothing": Mutant(
        "the password that is to be changed stays", Wrong(environment=wrong.ROTATES_NOTHING), {7: Expected(FAIL)}
    ),
    "replay_skips_one": Mutant(
        "the replay leaves one event out",
        Wrong(replayer=kafka_replayer.REPLAY_SKIPS_ONE, victim="account-0004-201"),
        {8: Expected(FAIL, ("account-0004-201",))},
    ),
    "replays_poisons": Mutant(
        "the replay takes the poisons along",
        Wrong(replayer=kafka_replayer.REPLAYS_POISONS),
        {8: Expected(FAIL, None)},  # one of the three has no ID, and is named by its place
    ),
    "replay_without_inbox": Mutant(
        "the handler has no unique key, and a replay does everything once more",
        Wrong(consumer=consuming.NO_INBOX),
        {8: Expected(FAIL, tuple(sorted([*V1, *V2])))},
    ),
}
