"""Wrong applications and environments, by name: with each of them a drill must object (`make mutants`)."""

from __future__ import annotations

from dataclasses import dataclass

# of the environment; those of workers are named in drills/actors
KILL_MISSES = "kill_misses"  # the worker is let go instead of killed
STOPS_A_FOLLOWER = "stops_a_follower"  # where the leader is meant
STOPS_ONE = "stops_one"  # where a majority is meant
NO_SENTINEL = "no_sentinel"  # the drain is not proven
CONTROLS_ARE_RIGHT = "controls_are_right"  # the negative controls run the right design
STOPS_NONE = "stops_none"  # where a follower is meant
ONE_MEMBER_LESS = "one_member_less"  # than the group should have
RAISES_UNDRAINED = "raises_undrained"  # partitions are raised while old records wait
PRODUCER_FIRST = "producer_first"  # it is upgraded before the consumers
BROKER_STAYS = "broker_stays"  # where it is to be stopped
RULE_TOO_HIGH = "rule_too_high"  # the alert's threshold is never reached
LIMIT_TOO_LOW = "limit_too_low"  # the free-disk limit stays below what is free
ACCOUNT_IS_ADMIN = "account_is_admin"  # the application's account may do everything
CLOCK_STEPS = "clock_steps"  # the worker's clock jumps back by an hour when it gets its first command
ROTATES_NOTHING = "rotates_nothing"  # the password stays what it is


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong on purpose; nothing, in a drill that a person runs. `victim`: the event that it concerns."""

    consumer: str | None = None
    publisher: str | None = None
    replayer: str | None = None
    environment: str | None = None
    victim: str | None = None
