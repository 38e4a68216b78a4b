"""Wrong applications and environments that partition-lag must object to; `python -m tests.mutants` runs them."""

from __future__ import annotations

from drills.actors import consuming, publishing
from drills.actors import kafka_consumer as consumer
from drills.actors import kafka_producer as producer
from drills.catalog import partition_lag
from drills.model.verdict import Verdict
from drills.scenes import wrong
from drills.scenes.wrong import Wrong
from tests.mutant import Expected, Mutant

FAIL, UNKNOWN = Verdict.FAIL, Verdict.UNKNOWN
QUICK = partition_lag.parameters(True)
OF_PARTITION_0 = ("account-0003", "account-0006", "account-0009", "account-0012")
HELD = tuple(sorted(event for event in QUICK["ids"]["hot"] if event.startswith(OF_PARTITION_0)))

PARTITION_LAG = {
    "default_partitioner": Mutant(
        "the producer leaves the partition to its client's own partitioner",
        Wrong(publisher=producer.DEFAULT_PARTITIONER),
        {1: Expected(FAIL, None)},
    ),
    "commits_without_doing": Mutant(
        "a consumer commits the offset of one event and does nothing with it",
        Wrong(consumer=consuming.SKIPS_ONE, victim="account-0007-002"),
        {1: Expected(FAIL, ("account-0007-002",)), 5: Expected(FAIL, ("account-0007-002",))},
    ),
    "commits_held": Mutant(
        "a consumer commits past the records that it holds, and the lag looks like none",
        Wrong(consumer=consumer.COMMITS_HELD),
        {2: Expected(FAIL, HELD)},
    ),
    "holds_nothing": Mutant(
        "the barrier on partition 0 has no effect", Wrong(consumer=consumer.HOLDS_NOTHING), {2: Expected(UNKNOWN)}
    ),
    "one_member_less": Mutant(
        "each group has one member less than it should", Wrong(environment=wrong.ONE_MEMBER_LESS), {3: Expected(FAIL)}
    ),
    "control_drained": Mutant(
        "the negative control drains before the raise, and so shows nothing",
        Wrong(environment=wrong.CONTROLS_ARE_RIGHT),
        {4: Expected(FAIL, ("account-0003-006",))},
    ),
    "raises_undrained": Mutant(
        "partitions are raised while the old records wait",
        Wrong(environment=wrong.RAISES_UNDRAINED),
        {5: Expected(FAIL, None)},
    ),
    "stops_none": Mutant(
        "no follower is stopped before A is sent", Wrong(environment=wrong.STOPS_NONE), {6: Expected(UNKNOWN)}
    ),
    "stops_one_follower": Mutant(
        "one follower is stopped where two are meant", Wrong(environment=wrong.STOPS_ONE), {7: Expected(UNKNOWN)}
    ),
    "acks_one": Mutant(
        "the producer asks the leader alone (acks=1)",
        Wrong(publisher=producer.ACKS_ONE),
        {7: Expected(FAIL, tuple(QUICK["b_ids"]))},
    ),
    "retry_leaves_one": Mutant(
        "a producer that starts again skips one ID of those that it has to send again",
        Wrong(publisher=publishing.RETRY_SKIPS_ONE),
        {8: Expected(FAIL, (QUICK["b_ids"][-1],))},
    ),
    "no_sentinels": Mutant(
        "the drain's sentinels are never sent", Wrong(environment=wrong.NO_SENTINEL), {1: Expected(UNKNOWN)}
    ),
}
