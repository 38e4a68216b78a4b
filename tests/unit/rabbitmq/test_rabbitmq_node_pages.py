"""The nodes' own pages: names that 3.10 does not escape, numbers that are none, counters summed."""

from __future__ import annotations

from exporter.model.rabbitmq import QueueName
from exporter.model.rabbitmq_node_pages import Depth, NodePage, read_depths, read_node, spellings
from tests.mutations import fails_under

NAMES = (
    QueueName("/", "plain"),
    QueueName("/", 'has "quote"'),
    QueueName("/", "back\\slash"),
    QueueName("/", "tail\\"),
    QueueName("/", "pct%2Fslash"),
    QueueName("/", "a/b"),
    QueueName("/", 'comma,x="y"'),
    QueueName("/", "br{ace} 7"),
    QueueName("/", "üñí 漢字"),
    QueueName('we"ird\\v h%2F', "q1"),
)


def page(escape: bool) -> str:
    def spelled(value: str) -> str:
        return value.replace("\\", "\\\\").replace('"', '\\"') if escape else value

    return "".join(
        f'rabbitmq_detailed_queue_{what}{{vhost="{spelled(name.vhost)}",queue="{spelled(name.name)}"}} {number}\n'
        for what in ("messages_ready", "messages_unacked", "messages", "consumers")
        for number, name in enumerate(NAMES)
    )


def check_names_are_read_as_3_10_writes_them() -> None:
    expected = {name: Depth(number, number, number, number) for number, name in enumerate(NAMES)}
    assert (expected, set()) == read_depths(page(escape=False), spellings(NAMES))


def test_names_are_read_as_3_10_writes_them() -> None:
    check_names_are_read_as_3_10_writes_them()
    fails_under("labels_taken_as_escaped", check_names_are_read_as_3_10_writes_them)


def test_names_are_read_as_the_format_demands() -> None:
    expected = {name: Depth(number, number, number, number) for number, name in enumerate(NAMES)}
    assert (expected, set()) == read_depths(page(escape=True), spellings(NAMES))


def test_a_text_that_can_be_two_queues_is_taken_for_none() -> None:
    plain, escaped = QueueName("/", 'a\\"b'), QueueName("/", 'a"b')
    line = 'rabbitmq_detailed_queue_messages{vhost="/",queue="a\\"b"} 3\n'
    assert ({}, set()) == read_depths(line, spellings([plain, escaped]))


def test_queues_that_are_not_known_are_named() -> None:
    line = 'rabbitmq_detailed_queue_messages{vhost="/",queue="new"} 3\n'
    assert ({}, {'vhost="/",queue="new"'}) == read_depths(line, spellings(NAMES))


PAGE = """\
# TYPE rabbitmq_process_open_fds gauge
rabbitmq_process_open_fds 52
rabbitmq_process_max_fds 20000
rabbitmq_process_resident_memory_bytes 142827520
rabbitmq_resident_memory_limit_bytes 1.5e9
rabbitmq_disk_space_available_bytes {free}
rabbitmq_disk_space_available_limit_bytes 50000000
rabbitmq_alarms_free_disk_space_watermark 1
rabbitmq_alarms_memory_used_watermark 0
rabbitmq_identity_info{{rabbitmq_node="rmq1@localhost",rabbitmq_cluster="c",rabbitmq_cluster_permanent_id="x"}} 1
rabbitmq_global_messages_dead_lettered_rejected_total{{queue_type="rabbit_classic_queue",dead_letter_strategy="disabled"}} 3
rabbitmq_global_messages_dead_lettered_rejected_total{{queue_type="rabbit_quorum_queue",dead_letter_strategy="disabled"}} 4
rabbitmq_global_messages_dead_lettered_confirmed_total{{queue_type="rabbit_quorum_queue",dead_letter_strategy="at_least_once"}} 9
rabbitmq_global_messages_unroutable_dropped_total{{protocol="amqp091"}} 5
rabbitmq_global_messages_unroutable_dropped_total{{protocol="stream"}} 1
rabbitmq_global_messages_unroutable_returned_total{{protocol="amqp091"}} 0
"""  # noqa: E501


def test_a_node_says_what_it_has_and_counts() -> None:
    expected = NodePage(
        "rmq1@localhost",
        memory_used_bytes=142827520,
        memory_limit_bytes=1500000000,
        memory_alarm=False,
        disk_free_bytes=84359663616,
        disk_free_limit_bytes=50000000,
        disk_alarm=True,
        file_descriptors_used=52,
        file_descriptors_limit=20000,
        dead_lettered={("rejected", "disabled"): 7},
        unroutable={"dropped": 6, "returned": 0},
    )
    assert expected == read_node(PAGE.format(free=84359663616))


def test_counts_are_read_as_4_3_writes_them() -> None:
    """As Erlang writes floating-point numbers, also a million."""
    text = (
        'rabbitmq_identity_info{rabbitmq_node="a@b"} 1.0\n'
        'rabbitmq_global_messages_dead_lettered_rejected_total{queue_type="x",dead_letter_strategy="disabled"} 24.0\n'
        'rabbitmq_global_messages_dead_lettered_rejected_total{queue_type="y",dead_letter_strategy="disabled"} 1.0e6\n'
        'rabbitmq_global_messages_unroutable_returned_total{protocol="amqp091"} 2.5e7\n'
    )
    expected = NodePage("a@b", dead_lettered={("rejected", "disabled"): 1_000_024}, unroutable={"returned": 25_000_000})
    assert expected == read_node(text)
    line = 'rabbitmq_detailed_queue_messages{vhost="/",queue="plain"} 1.234567e6\n'
    assert ({NAMES[0]: Depth(messages=1_234_567)}, set()) == read_depths(line, spellings(NAMES))


def test_free_space_that_is_no_number_is_unknown() -> None:
    for free in ("NaN", "+Inf", "-1", "unknown"):
        page = read_node(PAGE.format(free=free))
        assert page is not None
        assert (None, True) == (page.disk_free_bytes, page.disk_alarm)


def test_a_page_of_something_else_is_no_node() -> None:
    assert None is read_node("# HELP up\nup 1\n")


def test_alarms_that_timed_out_are_unknown() -> None:
    page = read_node('rabbitmq_identity_info{rabbitmq_node="a@b",rabbitmq_cluster="c"} 1\n')
    assert NodePage("a@b") == page
