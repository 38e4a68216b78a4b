"""The status page says what matters first, and never that all is well when something is unknown."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from exporter import health
from exporter.metrics import registry
from exporter.model.common import DeadLetterQueue, Disk, Kind, Problem
from exporter.status import attention, tables
from exporter.status.attention import Attention, Level
from exporter.status.facts import Facts, gather
from exporter.status.page import render
from exporter.status.tables import Backlog
from exporter.status.view import View, of_facts
from tests.unit.server.served import poller_of, snapshot
from tests.unit.status.scenes import (
    GROUP,
    NOW,
    TOPIC,
    calm_kafka,
    calm_rabbitmq,
    families,
    run,
    stale,
    troubled_kafka,
    troubled_rabbitmq,
    waiting,
)

ALARM, WARNING, UNKNOWN = Level.ALARM, Level.WARNING, Level.UNKNOWN


def said(facts: Facts) -> list[tuple[Level, str]]:
    return [(item.level, item.what) for item in of_facts([facts], NOW).attention]


def page(*clusters: Facts) -> str:
    return render(of_facts(list(clusters), NOW))


def with_snapshot(facts: Facts, **changes: object) -> Facts:
    assert facts.snapshot is not None
    return replace(facts, snapshot=replace(facts.snapshot, **changes))  # type: ignore[arg-type]


def test_when_all_is_well_it_says_so() -> None:
    view = of_facts([calm_kafka(), calm_rabbitmq()], NOW)
    assert ("calm", "Nothing needs attention", True, []) == (view.mood, view.headline, view.complete, view.attention)
    assert "Fresh data from every cluster; every collector read all it should." == view.summary


def test_trouble_in_kafka_is_told_worst_first() -> None:
    assert [
        (ALARM, "broker 3 is down"),
        (ALARM, "disk alarm: broker 1 /var/lib/kafka"),
        (ALARM, "1 partition below min ISR"),
        (WARNING, "transaction open for 22 min 05 s in payments[7]"),
        (WARNING, "41 dead letters in orders.dlq"),
        (WARNING, "billing on payments: 1 partition below log start"),
        (UNKNOWN, "disk unknown: broker 3 /var/lib/kafka"),
        (UNKNOWN, "dead letters in payments.DLT unknown"),
        (UNKNOWN, "broker 3 (kafka-3:9092) could not be read"),
        (UNKNOWN, "group payroll could not be read"),
    ] == said(troubled_kafka())


def test_trouble_in_rabbitmq_is_told_worst_first() -> None:
    assert [
        (ALARM, "node rabbit@rabbit-3 is down"),
        (ALARM, "disk alarm: rabbit@rabbit-1 /var/lib/rabbitmq"),
        (ALARM, "memory alarm: rabbit@rabbit-2"),
        (WARNING, "7 dead letters in tasks.dead"),
        (WARNING, "dead letters of thumbnails are thrown away"),
        (WARNING, "3 connections blocked on rabbit@rabbit-2"),
    ] == said(troubled_rabbitmq())


def test_stale_and_unpolled_clusters_are_unknown_and_not_well() -> None:
    view = of_facts([stale(calm_kafka()), waiting("eu-west")], NOW)
    assert "2 unknown" == view.headline
    assert not view.complete
    assert ["stale", "waiting"] == [card.state for card in view.clusters]
    assert "0 clusters of 2 with fresh data." == view.summary


def test_an_unsupported_feature_needs_no_attention() -> None:
    old = Problem(Kind.UNSUPPORTED, "log_dirs", "this version does not say")
    assert [] == said(with_snapshot(calm_kafka(), runs=(run("log_dirs", old),)))


def test_a_collector_that_failed_without_a_reason_is_told() -> None:
    assert [(UNKNOWN, "collector topics failed")] == said(
        with_snapshot(calm_kafka(), runs=(replace(run("topics"), success=False),))
    )


def test_one_problem_is_told_once_with_all_it_stops() -> None:
    silent = Problem(Kind.TIMEOUT, "broker 2", "broker 2: no answer within 5 s")
    (item,) = of_facts(
        [with_snapshot(calm_kafka(), runs=(run("topics", silent), run("groups", silent)))], NOW
    ).attention
    assert Attention(UNKNOWN, "orders", "broker 2 could not be read", "no answer within 5 s (topics, groups)") == item


def test_ten_thousand_problems_are_counted_and_not_listed() -> None:
    many = tuple(Problem(Kind.TIMEOUT, f"group {number}", "no answer") for number in range(10_000))
    told = said(with_snapshot(calm_kafka(), runs=(run("groups", *many),)))
    assert attention.LISTED + 1 == len(told)
    assert (UNKNOWN, "9,994 more like these") == told[-1]


def test_missing_members_and_groups_are_told() -> None:
    calm = calm_kafka()
    expected = families(
        expected_brokers=((), {(): 5}),
        expected_group=(("group",), {("billing",): 1, ("ghost",): 1}),
        kafka_group_state=(("group", "state"), {("billing", "Stable"): 1}),
    )
    assert [(ALARM, "2 of 5 expected brokers missing"), (WARNING, "group ghost was not found")] == said(
        replace(calm, families={**calm.families, **expected})
    )


def test_an_offline_disk_is_an_alarm() -> None:
    disks = (Disk("2", "/data", None, 10, True),)
    assert [(ALARM, "disk offline: broker 2 /data")] == said(with_snapshot(calm_kafka(), disks=disks))


def test_the_longest_waits_come_first_with_their_partition() -> None:
    view = of_facts([troubled_kafka(), troubled_rabbitmq()], NOW)
    assert [
        Backlog("orders", "billing", "payments", 7511.4, None, 1_284_220, "11"),
        Backlog("tasks", "mail", "vhost /", 640.0, None, 5650),
        Backlog("orders", "search-indexer", "product-changes", 192.0, 14.0, 88_412, "5"),
        Backlog("orders", "mailer", "orders", 41.2, None, 512, "0"),
        Backlog("orders", "audit", "orders", 3.4, None, 77, "2"),
    ] == view.longest
    assert ["billing", "search-indexer", "mail", "mailer", "audit", "archiver", "thumbnails", "warehouse"] == [
        row.name for row in view.largest
    ]
    assert [None, None, None] == [row.age for row in view.largest[-3:]]


def test_only_ten_are_listed() -> None:
    lags = {(f"group-{number:02}", "t"): float(number) for number in range(30)}
    facts = replace(calm_kafka(), families=families(kafka_group_topic_lag_offsets=(TOPIC, lags)))
    assert [f"group-{number}" for number in range(29, 19, -1)] == [row.name for row in of_facts([facts], NOW).largest]


def test_without_partition_families_the_topic_s_age_is_shown() -> None:
    facts = replace(
        calm_kafka(),
        families=families(
            kafka_group_topic_lag_offsets=(TOPIC, {("g", "t"): 5}),
            kafka_group_topic_oldest_message_age_seconds=(TOPIC, {("g", "t"): 12}),
        ),
    )
    assert [Backlog("orders", "g", "t", 12, None, 5)] == of_facts([facts], NOW).longest


def test_the_oldest_partition_counts_and_not_the_last() -> None:
    ages = {("g", "t", "0"): 5.0, ("g", "t", "1"): 50.0, ("g", "t", "2"): 7.0}
    facts = replace(calm_kafka(), families=families(kafka_group_oldest_message_age_seconds=(GROUP, ages)))
    assert [Backlog("orders", "g", "t", 50.0, None, None, "1")] == of_facts([facts], NOW).longest


def test_disks_in_the_worst_way_come_first() -> None:
    rows = tables.disks([troubled_kafka()])
    assert [("1", True), ("3", None), ("2", False)] == [(row.node, row.alarm) for row in rows]


def test_empty_states_are_said_in_words() -> None:
    calm = page(calm_kafka(), calm_rabbitmq())
    for words in ("No dead letters in 2 dead-letter queues.", "No transaction is open.", "No message is known to be"):
        assert words in calm
    partial = page(calm_kafka(), waiting("eu-west"))
    assert "No dead letters in 1 dead-letter queue, in what could be read." in partial
    nothing = page(waiting("eu-west"))
    assert "No dead-letter queue was found, in what could be read." in nothing
    assert "not polled yet" in nothing


def test_an_unknown_number_is_said_to_be_unknown() -> None:
    queue = DeadLetterQueue("d", "/", None, None, None, None, None)
    row = page(with_snapshot(calm_kafka(), dead_letter_queues=(queue,))).split("Dead-letter queue</th>")[1]
    assert 2 == row.split("</table>")[0].count("<i>unknown</i>")


def test_names_from_strangers_stay_names() -> None:
    evil = "<script>alert(1)</script>\n\"'&\x1b[31m\udcff{{ 7*7 }}"
    queue = DeadLetterQueue(evil, evil, 5, 5, 1.0, None, None)
    problem = Problem(Kind.TIMEOUT, evil, evil)
    facts = with_snapshot(
        calm_kafka(), dead_letter_queues=(queue,), runs=(run(evil, problem),), disks=(Disk(evil, evil, 1, 2, True),)
    )
    facts = replace(
        facts, cluster=evil, families=families(kafka_group_topic_lag_offsets=(TOPIC, {(evil, evil): 5})),
    )  # fmt: skip
    html = page(facts)
    assert "<script" not in html
    assert "\x1b" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\n&#34;&#39;&amp;\\x1b[31m" in html
    assert "{{ 7*7 }}" in html
    assert b"?" in html.encode("utf-8", "replace")


def test_every_family_that_the_page_reads_is_declared() -> None:
    declared = {family.name for subject in registry.subjects() for family in subject.families}
    declared |= {family.name for family in health.FAMILIES}
    sources = [Path(module.__file__ or "").read_text() for module in (attention, tables)]
    read = {name for source in sources for name in re.findall(r'"(mq_\w+)"', source)}
    assert set() == read - declared


def test_facts_come_from_the_poller_as_it_stands() -> None:
    poller = poller_of({"a": lambda: snapshot("a"), "b": lambda: snapshot("b")})
    poller.clusters["a"].poll()
    a, b = gather(poller)
    assert (True, True, 15.0) == (a.fresh, a.readable, a.interval)
    assert (False, None) == (b.fresh, b.snapshot)
    assert [({"system": "kafka", "vhost": "/", "dlq": "q0"}, 3)] == list(a.rows("mq_dlq_unhandled_messages"))


def test_the_page_reloads_with_the_shortest_interval_but_not_madly() -> None:
    def refresh(*intervals: float) -> int:
        view: View = of_facts([replace(calm_kafka(), interval=interval) for interval in intervals], NOW)
        return view.refresh

    assert [15, 30, 5] == [refresh(15, 30), refresh(30), refresh(0.5)]
