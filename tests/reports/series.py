"""Reports 18 to 29: series that stay, vanish or are there twice."""

from __future__ import annotations

from tests.reports.report import Report, tests

KE, SE, KM, BU = "danielqsj/kafka_exporter", "seglo/kafka-lag-exporter", "redpanda-data/kminion", "linkedin/Burrow"
LAG, BROKEN, SECURITY = "broker/kafka/test_lag", "broker/kafka/test_broken_brokers", "broker/kafka/test_security"
STALE, PROMISES = "broker/reports/test_stale_series", "broker/exporter/test_promises"
BROKERS = "broker/exporter/test_metrics_kafka_brokers"

REPORTS = (
    Report(
        18, (f"{BU}#818,758,504",),
        "Groups and topics that were deleted go on alarming.",
        "Keep gauges for as long as the process lives.",
        "They are gone at the next poll.",
        tests(LAG, "deleted_topics_and_groups_are_gone_at_the_next_poll")
        + tests(PROMISES, "promise_4_deleted_things_are_gone_and_asking_creates_nothing"),
    ),
    Report(
        19, (f"{SE}#25,244",),
        "Series of old client ids and hosts stay, or change at every restart of a client.",
        "Label lag with the member that owns the partition.",
        "Lag is labelled with group, topic and partition alone.",
        tests(STALE, "partitions_that_change_hands_have_one_series_each_and_no_name_of_a_member"),
    ),
    Report(
        20, (f"{KE}#226,463", f"{SE}#63,126"),
        "Lag disappears when the consumers go away, and groups without members (Flink) are never seen.",
        "Ask for commits of the assigned partitions alone.",
        "Every partition with a commit has its lag: without members, and beyond what the members are assigned.",
        tests(STALE, "lag_is_there_and_grows_without_members_and_beyond_their_assignment"),
    ),
    Report(
        21, (f"{SE}#172,110,386,164,361",),
        "One group that times out takes all others off the page.",
        "Fail the whole poll, then restart.",
        "What failed is withheld, counted and named; the rest is there. Last values are not kept: they would look "
        "fresh.",
        tests(BROKEN, "a_frozen_broker_costs_one_timeout_and_only_its_own_data",
              "groups_of_a_broker_that_is_gone_are_counted_until_they_move")
        + tests(SECURITY, "one_group_that_may_not_be_described_hides_no_other"),
    ),
    Report(
        22, ("themoah/klag#68",),
        "Gaps, and numbers of series that swing.",
        "Publish a partial poll as if it were whole.",
        "A collector that did not read everything says so (success 0, what was skipped); groups that it could read are "
        "what they were.",
        tests(BROKEN, "a_frozen_broker_costs_one_timeout_and_only_its_own_data")
        + tests(BROKERS, "the_collectors_say_that_something_is_missing"),
    ),
    Report(
        23, (f"{KE}#513",),
        "The sum of a group's lag comes and goes.",
        "Leave the sum out, or add up what there is, without a word.",
        "The total is a lower bound beside the count of what is unreadable: withholding it would end an alarm just "
        "when a partition goes offline.",
        tests(BROKERS, "a_group_on_it_keeps_the_others_and_says_unreadable")
        + tests(BROKEN, "a_killed_broker_is_down_and_its_lonely_partition_unreadable"),
    ),
    Report(
        24, (f"{KE}#280,306,112,157", f"{KM}#133,335"),
        "Two brokers list the same group, or a member is counted twice: the whole page is an error.",
        "Hand a sample that is there twice to a library that refuses the page.",
        "Samples are kept by their labels, so none can be there twice. Of two brokers that list a group the one that "
        "leads its partition of the offsets topic is believed, and the contradiction is counted.",
        tests(STALE, "a_group_that_several_brokers_list_is_there_once_with_the_coordinators_word",
              "a_group_with_many_members_on_many_topics_is_there_once")
        + tests(PROMISES, "promise_5_names_of_every_kind_in_two_clusters_keep_the_page_valid"),
        "real brokers, whose lists of groups are made longer on the way. Tried: a broker was restarted and its leaders "
        "were moved back by election while all three were asked for their groups 104 times in 25 s. The groups moved "
        "(4 different layouts); with a group on two brokers: 0.",
    ),
    Report(
        25, (f"{KE}#497,279",),
        "The exporter hangs for ever after an outage.",
        "Wait for an answer without a deadline.",
        "Every call has a deadline; polls go on, freshness shows, and all is well again when the broker is.",
        tests(PROMISES, "promise_2_a_frozen_broker_costs_freshness_and_never_a_scrape")
        + tests(BROKEN, "a_frozen_broker_costs_one_timeout_and_only_its_own_data"),
    ),
    Report(
        26, (f"{KM}#253,93",),
        "No metrics while one broker restarts, or when one seed is offline.",
        "Give up when one of several addresses fails.",
        "Any broker that answers will do. The address that does not stays 0 until it answers again.",
        tests(STALE, "a_seed_that_is_dead_costs_nothing_and_is_seen_until_it_answers")
        + tests(BROKEN, "a_killed_broker_is_down_and_its_lonely_partition_unreadable"),
    ),
    Report(
        27, (f"{SE}#197",),
        "A topic that was made anew between two polls keeps the history of the one before.",
        "Know topics by name.",
        "Topics are known by their id; with a new one everything starts afresh.",
        tests(PROMISES, "promise_4_a_topic_made_anew_between_two_polls_starts_afresh")
        + tests(LAG, "a_topic_made_anew_starts_afresh"),
    ),
    Report(
        28, (f"{KE}#253",),
        "Asking for a topic creates it again after it was deleted.",
        "Ask for metadata by name and let the broker create what is missing.",
        "All topics are asked for, and creation is not allowed; proven where brokers create topics on sight.",
        tests(SECURITY, "asking_never_creates_a_topic_where_brokers_would"),
    ),
    Report(
        29, (f"{BU}#637",),
        "A group is missing until a window of commits is full.",
        "Say nothing before ten commits were seen.",
        "Lag, age and state are there at the first poll of a new exporter.",
        tests("broker/reports/test_values",
              "a_replay_idle_topics_and_hours_of_lag_have_the_age_of_their_first_unread_record"),
    ),
)  # fmt: skip
