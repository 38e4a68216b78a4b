"""Reports 40 to 54: RabbitMQ."""

from __future__ import annotations

from tests.reports.report import Report, tests

RS, KB = "rabbitmq/rabbitmq-server", "kbudde/rabbitmq_exporter"
AGES, DEAD = "broker/rabbitmq/test_rabbitmq_ages", "broker/rabbitmq/test_rabbitmq_dead_letters"
NODES, QUEUES = "broker/rabbitmq/test_rabbitmq_nodes", "broker/rabbitmq/test_rabbitmq_queues"
MINE, PROMISES = "broker/reports/test_rabbitmq", "broker/exporter/test_promises"

REPORTS = (
    Report(
        40, (f"{RS}#8740,5721",),
        "Free disk space that is not known is `NaN` or `unknown`, and breaks the scrape; the management API says 0.",
        "Hand on what the node says.",
        "No sample, and the node is counted under `unknown_free_space`; an alarm is what the node says. Free space 0 "
        "without an alarm is how 3.10 adds up what it does not know.",
        tests(MINE, "free_space_that_the_broker_does_not_know_is_absent_and_nothing_else_is"),
        "real brokers; the value is taken out of the disk monitor's table of a node, which is what `df` failing "
        "leaves. It then answers `'NaN'` on its own page and 0 in the management API.",
    ),
    Report(
        41, (f"{RS}#17254,6813",),
        "The head timestamp is NaN, or missing for quorum queues.",
        "Publish it as an age.",
        "It is used where it is there and can be; else the broker's own word or a bounded estimate, and which of them "
        "is a label.",
        tests(AGES, "a_real_head_timestamp_is_the_age_of_a_classic_queue", "a_head_timestamp_that_cannot_be_is_ignored",
              "an_estimate_has_the_true_age_within_its_bound"),
    ),
    Report(
        42, (f"{RS}#12021",),
        "Detailed metrics are those of the queues led by one node: through a load balancer two thirds are missing.",
        "Scrape one address.",
        "Every node is found and asked; one management address is enough, whichever it is.",
        tests(MINE, "one_address_shows_the_queues_that_every_node_leads")
        + tests(QUEUES, "every_name_has_its_own_depth"),
    ),
    Report(
        43, (f"{RS}#2783,6929", "cloudamqp/lavinmq#2093"),
        "Counters fall when queues go.",
        "Add up the counters of the queues that there are.",
        "The broker's own counters of the node are used; those of a queue end with it, and no sum of them is a "
        "counter.",
        tests(MINE, "counters_do_not_fall_when_their_queues_go")
        + tests("unit/rabbitmq/test_rabbitmq_counters", "a_counter_never_goes_down"),
    ),
    Report(
        44, (f"{RS}#5462",),
        "The number of publishers is negative after clients have died.",
        "Count comings and goings.",
        "Connections are counted as they are listed, not by events; nothing on the page is negative but a clock's "
        "offset. Nothing is clamped.",
        tests(MINE, "clients_that_vanish_leave_no_connection_and_no_negative_number"),
    ),
    Report(
        45, (f"{RS}#362,2653,3312",),
        "The alarm of a node that has died stays, or is taken for none.",
        "Publish a flag for the cluster.",
        "Alarms are those of nodes that are up; a node that is down is `node_up` 0 and has no alarm flag, neither 1 "
        "nor 0.",
        tests(NODES, "a_killed_node_is_down_its_classic_queues_unknown_and_its_quorum_queues_live_on",
              "a_disk_alarm_is_seen_on_its_node_and_gone_when_lifted"),
    ),
    Report(
        46, ("rabbitmq/cluster-operator#1822,1006",),
        "Rules for alarms look at the alarm flag or at free space alone.",
        "Ship a rule for one of them.",
        "Flag, free space, limit in force and blocked connections are published together, so that a rule can warn "
        "before the alarm and tell its effect.",
        tests("broker/exporter/test_metrics_rabbitmq_nodes",
              "alarms_are_seen_on_their_nodes_block_publishers_and_are_lifted",
              "free_disk_is_what_the_file_system_says"),
    ),
    Report(
        47, (f"{RS}#15886,3467",),
        "Dead letters that can't be delivered wait at their source, and nobody sees it.",
        "Count dead letters by node.",
        "Held dead letters are a series of each source queue; dead-letter queues are found through arguments and "
        "policies, with depth and age.",
        tests(DEAD, "at_least_once_letters_without_a_way_are_held_at_the_source",
              "a_rejected_message_is_where_discovery_says")
        + tests("broker/exporter/test_metrics_rabbitmq_queues",
                "dead_letters_that_can_go_nowhere_are_held_at_their_source"),
    ),
    Report(
        48, (f"{RS}#15600,15610,12347,13239",),
        "HELP, TYPE or a label is on the page twice.",
        "Write families in pieces.",
        "Families are joined whole; the page of both systems is read by strict parsers and by Prometheus.",
        tests(PROMISES, "promise_5_the_page_of_both_systems_is_valid",
              "promise_5_names_of_every_kind_in_two_clusters_keep_the_page_valid",
              "a_real_prometheus_scrapes_without_an_error"),
    ),
    Report(
        49, (f"{RS}#10609",),
        "`?sort=` broke in 3.13, and what asked with it got nothing.",
        "Ask with any option that works today.",
        "Seven plain options are all that is ever sent.",
        tests(MINE, "listings_are_asked_with_plain_options_alone"),
    ),
    Report(
        50, ("rabbitmq/rabbitmq-management#602,702", "kedacore/keda#790", "mher/flower#112",
             "BrightcoveOS/Diamond#792"),
        "The vhost `/` is asked for as `/` or `%252F`, or a proxy undoes `%2F`: no queues.",
        "Put the name into the path as it is, or encode it twice.",
        "It is encoded once. Where a proxy undoes that, the whole listing is taken.",
        tests(QUEUES, "the_slash_vhost_is_encoded_once")
        + tests(MINE, "a_proxy_that_undoes_the_slash_of_a_vhost_costs_nothing"),
    ),
    Report(
        51, (f"{KB}#90",),
        "With a limit on queues all their series come and go.",
        "Drop all of them above the limit.",
        "The deepest stay, the same ones at each poll, and the number of series that were dropped is published.",
        tests(MINE, "the_queues_within_the_budget_are_the_deepest_and_the_same_at_each_poll"),
    ),
    Report(
        52, (f"{KB}#307,285,102,68",),
        "Fields of quorum queues are missing, a field has another format, an empty list without rights is a success, a "
        "listing is slow.",
        "Expect one version's fields and take what can't be read for empty.",
        "Only fields of a known shape are read, and one that is missing is absent; vhosts without rights are named; a "
        "listing has a deadline, and depths come from the nodes meanwhile.",
        tests("broker/rabbitmq/test_rabbitmq_refusals", "vhosts_that_the_user_may_not_see_are_no_empty_cluster")
        + tests(QUEUES, "a_queue_just_declared_is_unknown_and_not_empty")
        + tests(NODES, "a_frozen_node_costs_two_timeouts_and_its_own_queues")
        + tests("unit/rabbitmq/test_rabbitmq_listing", "a_quorum_queue_of_3_10_is_read_whole",
                "the_leader_of_3_13_stands_in_node", "numbers_that_are_none_are_unknown"),
    ),
    Report(
        53, ("rabbitmq/rabbitmq-prometheus#23,24", "rabbitmq/rabbitmq-management#41"),
        "Scrapes of many queues cost minutes and overload the statistics database.",
        "Ask for every object in each scrape.",
        "A poll sends as many requests for a thousand queues as for one, and no scrape sends any.",
        tests("broker/rabbitmq/test_rabbitmq_cost", "a_poll_asks_as_often_for_many_queues_as_for_one"),
    ),
    Report(
        54, (f"{RS}#10538,12765",),
        "The lag of a stream's consumer that waits at the end of a quiet stream is the whole stream.",
        "Take the broker's number.",
        "No lag until the consumer has an offset; then the last offset less its own.",
        tests(MINE, "a_consumer_that_waits_at_the_end_of_a_quiet_stream_has_no_lag_until_it_has_an_offset")
        + tests("broker/rabbitmq/test_rabbitmq_streams", "a_stored_offset_gives_the_lag_of_its_name",
                "a_connected_consumer_with_a_name_has_a_lag_without_the_cli"),
    ),
)  # fmt: skip
