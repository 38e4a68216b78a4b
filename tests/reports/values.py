"""Reports 1 to 17: wrong values."""

from __future__ import annotations

from tests.reports.report import Report, tests

KE, SE, KM, BU = "danielqsj/kafka_exporter", "seglo/kafka-lag-exporter", "redpanda-data/kminion", "linkedin/Burrow"
OT, SW = "open-telemetry/opentelemetry-collector-contrib", "softwaremill/klag-exporter"
LAG, TIMES, GROUPS = (
    "broker/kafka/test_lag",
    "broker/kafka/test_record_times",
    "broker/exporter/test_metrics_kafka_groups",
)
VALUES, STALE = "broker/reports/test_values", "broker/reports/test_stale_series"
FIRST_UNREAD = tests(VALUES, "a_replay_idle_topics_and_hours_of_lag_have_the_age_of_their_first_unread_record")

REPORTS = (
    Report(
        1, (f"{KE}#76,287,437,262,191,169",),
        "Lag is negative, and autoscalers misbehave.",
        "Read the end first and the commit later, or use an older end; some set what is below 0 to 0.",
        "Commits are read before ends. A commit beyond the end is a state (`beyond_log_end`) and is counted; nothing "
        "is clamped.",
        tests(LAG, "commits_are_read_before_ends", "a_commit_beyond_the_end_is_a_state_and_a_contradiction"),
    ),
    Report(
        2, (f"{KE}#28", f"{SE}#37,45"),
        "A partition without a commit has a huge lag, or -1.",
        "Publish -1 or NaN, and add it to sums.",
        "A state (`no_commit`) that is counted beside those that are ok, and no number.",
        tests(LAG, "records_without_a_commit_are_a_state_and_not_a_number"),
    ),
    Report(
        3, ("braedon/prometheus-kafka-consumer-group-exporter#32", f"{BU}#651", "spring-projects/spring-kafka#1587",
            "confluentinc/librdkafka#3917"),
        "The lag of a transactional topic stays at 1 or more though everything was read.",
        "Count the markers of transactions, and aborted records, as lag.",
        "When nothing is left behind the commit that a consumer could get, the group is caught up: lag and age are 0.",
        tests(LAG, "nothing_but_transaction_markers_left_is_caught_up") + tests(VALUES, "an_aborted_tail_is_caught_up")
        + tests(TIMES, "aborted_data_at_the_committed_offset_is_stepped_over"),
    ),
    Report(
        4, (f"{SW}#104",),
        "Commit and last stable offset 200, high watermark 1663: the read for the age finds nothing, at every poll "
        "anew.",
        "Count lag to the high watermark and read the age with a consumer that stops before it.",
        "Lag 1463, to the high watermark; the age of the record that waits; the gap itself and the age of the open "
        "transaction are series of their own. One read a poll at most, without a problem.",
        tests(VALUES, "a_hung_transaction_has_the_lag_and_age_of_what_waits_behind_it")
        + tests(LAG, "an_open_transaction_shows_as_age_and_as_a_gap"),
    ),
    Report(
        5, (f"{SW}#94",),
        "Reading ages stalls on partitions that retention has emptied, until the process is killed.",
        "Seek to a commit that is gone and wait for a record that never comes.",
        "Lag counts from the log start, so nothing is left and nothing is read; what was lost is a state and a count.",
        tests(VALUES, "drained_partitions_are_caught_up_and_cost_no_reading"),
    ),
    Report(
        6, (f"{SE}#138",),
        "Time lag is negative.",
        "Extrapolate a line beyond the points that were seen.",
        "Ages are those of records. An estimate has a bound that holds the true age, or is absent; a record from the "
        "future is a state.",
        tests(VALUES, "estimates_after_a_replay_are_never_negative_nor_beyond_their_bound")
        + tests(LAG, "future_timestamps_are_a_state_and_not_a_negative_age"),
    ),
    Report(
        7, (f"{SE}#496",),
        "After a replay the time lag is astronomically large.",
        "Extrapolate a line far before the first point that was seen.",
        "The age of the first unread record, 40 days here; the estimate keeps within its bound.",
        FIRST_UNREAD + tests(VALUES, "estimates_after_a_replay_are_never_negative_nor_beyond_their_bound"),
    ),
    Report(
        8, (f"{SE}#353",),
        "Time lag goes up and down by the length of a poll.",
        "Take the moment of a poll for the time of every record written since the one before.",
        "The record's own timestamp: the age grows exactly as the clock does. An estimate says its bound.",
        tests(VALUES, "an_age_grows_as_the_clock_does_and_does_not_saw"),
    ),
    Report(
        9, (f"{SE}#111,125",),
        "NaN on topics with little traffic poisons sums and maxima.",
        "Publish NaN until two points are known.",
        "The age of a topic with one record in three days is known at the first poll; no number on the page is NaN or "
        "infinite.",
        FIRST_UNREAD + tests("unit/test_page", "nan_and_infinity_are_never_printed"),
    ),
    Report(
        10, (f"{SE}#32", "DataDog/integrations-core#14111"),
        "On an idle topic the time lag grows, or is wrong.",
        "Measure from the last commit or the last point of a table.",
        "Nothing unread is age 0, however long ago it was written; one unread record of three days ago is three days.",
        FIRST_UNREAD,
    ),
    Report(
        11, ("themoah/klag#30",),
        "Time lag stops at 30 minutes.",
        "Look it up in a table of the last sixty polls.",
        "The record is read: three hours and forty days are what they are.",
        FIRST_UNREAD,
    ),
    Report(
        12, (f"{KM}#292,302",),
        "The low watermark equals the high one after a library was updated.",
        "Send a sentinel that an old broker takes for something else.",
        "Log start, last stable offset and high watermark differ by every version of the request that we send.",
        tests(VALUES, "log_start_and_end_differ_by_every_version_of_the_request")
        + tests("broker/exporter/test_metrics_kafka_partitions", "log_starts_are_those_that_retention_left"),
    ),
    Report(
        13, (f"{OT}#33309",),
        "Every partition shows the sum of the group.",
        "Use the variable of the sum in the loop over partitions.",
        "Three partitions with three different lags, compared one by one.",
        tests(LAG, "lag_is_high_watermark_minus_commit_on_every_partition"),
    ),
    Report(
        14, (f"{OT}#48701",),
        "Lag is negative.",
        "Read ends first, then commits.",
        "As report 1.",
        tests(LAG, "commits_are_read_before_ends"),
    ),
    Report(
        15, (f"{OT}#36093",),
        "Lag stays for partitions that the member does not own any more.",
        "Set gauges and never take them away.",
        "One series for each group and partition, made from each poll anew, whoever owns the partition.",
        tests(STALE, "partitions_that_change_hands_have_one_series_each_and_no_name_of_a_member"),
    ),
    Report(
        16, (f"{BU}#38,94,171,185,237",),
        "A consumer of a topic that is rarely written is called stopped.",
        "Judge by the time since the last commit.",
        "No verdict is given on silence: with nothing unread, lag and age are 0 however long ago the last commit was.",
        FIRST_UNREAD,
    ),
    Report(
        17, (f"{BU}#287,446",),
        "Lag is not updated after the consumer has stopped.",
        "Work out lag when a commit comes.",
        "Lag is compared with the end of each poll: it goes on growing when nobody is there.",
        tests(STALE, "lag_is_there_and_grows_without_members_and_beyond_their_assignment"),
    ),
)  # fmt: skip
