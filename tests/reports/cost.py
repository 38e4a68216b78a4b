"""Reports 30 to 39: protocols, rights and secrets; memory, scale and cardinality."""

from __future__ import annotations

from tests.reports.report import Report, tests

KE, SE, KM = "danielqsj/kafka_exporter", "seglo/kafka-lag-exporter", "redpanda-data/kminion"
SECURITY, PROMISES = "broker/kafka/test_security", "broker/exporter/test_promises"
SCALE = "broker/reports/test_scale"

REPORTS = (
    Report(
        30, (f"{KM}#294,352", f"{KE}#533"),
        "Groups of the new protocol (KIP-848) are missing or have no members.",
        "Use the old requests alone.",
        "Groups of every type are listed and described by the request of their type.",
        tests("broker/kafka/test_groups", "a_group_of_the_new_protocol_is_read_like_any_other"),
    ),
    Report(
        31, (f"{KE}#132,40",),
        "Without rights the page is empty and nobody says why.",
        "Take an empty list for no data.",
        "The rights are asked for: what is missing is an error of the kind `authorization`, with what to grant.",
        tests(SECURITY, "without_rights_the_emptiness_is_a_failure",
              "one_group_that_may_not_be_described_hides_no_other"),
    ),
    Report(
        32, (f"{KE}#422,486,120,36",),
        "Options for OAUTHBEARER, TLS and SASL are missing, or confuse.",
        "Have a flag for some of them.",
        "Every property of the usual clients is taken or refused at the start; secrets come from files and are read "
        "anew; a wrong listener is named.",
        tests(SECURITY, "a_token_logs_in_and_is_read_anew_before_it_ends",
              "a_monitor_sees_everything_through_tls_and_sasl", "a_listener_of_another_kind_is_recognised",
              "a_client_certificate_lets_in_and_its_lack_is_told")
        + tests("unit/kafka/test_client_properties", "every_mistake_is_told"),
    ),
    Report(
        33, ("kbudde/rabbitmq_exporter#412",),
        "The exporter's own page has neither TLS nor a password.",
        "Leave it to a proxy.",
        "TLS, client certificates and passwords in Prometheus' own format.",
        tests("broker/reports/test_protocol", "the_page_is_shown_over_tls_to_who_has_the_password"),
    ),
    Report(
        34, ("strimzi/strimzi-kafka-operator#6137,2842,3624",),
        "The exporter is restarted again and again during an outage of Kafka.",
        "Answer the liveness probe by whether Kafka answers.",
        "Liveness is the process; readiness is the first whole page.",
        tests(PROMISES, "promise_9_liveness_is_the_process_and_readiness_the_first_complete_page"),
    ),
    Report(
        35, (f"{KE}#336,377,385,54,193,7",),
        "Scrapes time out; memory and sockets grow with polls and with throwaway groups.",
        "Ask for each partition in turn, within the scrape, and forget nothing.",
        "One connection a broker, bounded threads; what is gone is forgotten. A scrape asks nobody.",
        tests(SCALE, "sockets_threads_and_memory_do_not_grow_with_polls_nor_with_groups_that_come_and_go",
              "ten_groups_cost_the_requests_of_one")
        + tests(PROMISES, "promise_2_a_frozen_broker_costs_freshness_and_never_a_scrape"),
    ),
    Report(
        36, (f"{KM}#67,138,103,21",),
        "30 GB of memory; filters leave the requests as many as they were; a count as a label explodes.",
        "Ask for everything, then filter.",
        "What a filter leaves out is in no request. No count is a label, and lag has three labels.",
        tests(SCALE, "what_filters_leave_out_is_in_no_request")
        + tests("broker/reports/test_stale_series",
                "partitions_that_change_hands_have_one_series_each_and_no_name_of_a_member"),
    ),
    Report(
        37, (f"{SE}#373,92",),
        "Memory leaks; sums are wanted instead of partitions.",
        "Offer partitions alone.",
        "`granularity: topic`, and a budget of series for each cluster with the number that was dropped.",
        tests("broker/exporter/test_metrics_kafka_groups",
              "granularity_by_topic_leaves_out_partitions_and_keeps_totals")
        + tests(PROMISES, "promise_6_the_budget_of_series_holds_and_the_highest_lags_stay"),
    ),
    Report(
        38, ("DataDog/integrations-core#20715",),
        "A check takes 33 minutes.",
        "Fetch the high watermark for each group.",
        "Ends are read once a partition, in three requests a broker: ten groups cost the requests of one. Requests are "
        "counted, not timed.",
        tests(SCALE, "ten_groups_cost_the_requests_of_one"),
    ),
    Report(
        39, ("prometheus/client_python#374,639,1114",),
        "Rendering many series is slow and heavy.",
        "Make an object for every sample of every scrape.",
        "Text is rendered once a poll, with the label texts kept: less than half of the CPU of `generate_latest` on "
        "the same samples, gzip included. A ratio in the same run, not a time.",
        tests(SCALE, "a_page_costs_less_than_half_of_what_the_usual_library_needs"),
    ),
)  # fmt: skip
