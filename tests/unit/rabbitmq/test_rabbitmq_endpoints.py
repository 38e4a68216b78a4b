"""Where each node's own endpoint is looked for, and when slow collectors run."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.clients.rabbitmq import collecting
from exporter.clients.rabbitmq.collecting import Slow
from exporter.clients.rabbitmq.failures import Failure
from exporter.clients.rabbitmq.node_endpoints import discover
from exporter.clients.rabbitmq.questions import literal_vhosts, vhost_path
from exporter.config.model import Filter
from exporter.model.common import Kind

HERE = ("rabbit@one", "http://gateway:15672")


def listener(node: str, ip: str = "::", **more: Any) -> dict[str, Any]:
    return {"node": node, "protocol": "http/prometheus", "ip_address": ip, "port": 15692, "socket_opts": {}, **more}


def test_a_listener_on_every_address_is_at_the_nodes_host() -> None:
    assert {"rabbit@two": ["http://two:15692"]} == discover([listener("rabbit@two")], {}, HERE)


def test_the_node_that_answered_is_also_where_it_was_reached() -> None:
    expected = {"rabbit@one": ["http://one:15692", "http://gateway:15692"]}
    assert expected == discover([listener("rabbit@one", "0.0.0.0")], {}, HERE)


def test_an_address_that_is_given_is_used() -> None:
    assert {"rabbit@two": ["http://10.0.0.2:15692"]} == discover([listener("rabbit@two", "10.0.0.2")], {}, HERE)
    bound = listener("rabbit@two", socket_opts={"ip": "fd00::2"})  # 3.10 says `::` in ip_address regardless
    assert {"rabbit@two": ["http://[fd00::2]:15692"]} == discover([bound], {}, HERE)


def test_tls_listeners_are_asked_by_tls() -> None:
    found = discover([listener("rabbit@two", protocol="https/prometheus")], {}, HERE)
    assert {"rabbit@two": ["https://two:15692"]} == found


def test_configured_urls_win() -> None:
    found = discover([listener("rabbit@two")], {"rabbit@two": "http://other:1/metrics"}, HERE)
    assert {"rabbit@two": ["http://other:1"]} == found


def test_other_listeners_and_odd_ones_are_left_out() -> None:
    odd = [None, {"protocol": "http"}, listener("rabbit@two", port="x"), listener("rabbit@two", protocol="amqp")]
    assert {} == discover(odd, {}, HERE)


@pytest.mark.parametrize(
    ("allow", "deny", "named"),
    [
        ((".*",), (), ()), (("/",), (), ("/",)), (("/", "a b"), (), ("/", "a b")), (("a.*",), (), ()),
        (("/",), ("x",), ()), (("a", "b", "c", "d", "e"), (), ()),
    ],
)  # fmt: skip
def test_a_filter_that_names_few_vhosts_is_asked_by_path(
    allow: tuple[str, ...], deny: tuple[str, ...], named: tuple[str, ...]
) -> None:
    assert named == literal_vhosts(Filter(allow=allow, deny=deny))


def test_a_vhost_is_encoded_once() -> None:
    assert ["%2F", "a%252Fb", "%C3%BC%20%22"] == [vhost_path(vhost) for vhost in ("/", "a%2Fb", 'ü "')]
    assert "%ED%A0%80" == vhost_path("\ud800"), "half a pair, as JSON can write it, is asked for and does not exist"


def test_a_slow_collector_keeps_its_last_good_result_for_three_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(collecting.time, "monotonic", lambda: now[0])
    slow: Slow[str] = Slow("topology", 60.0)
    assert slow.due()
    slow.end(slow.begin(), "good")
    assert (False, "good") == (slow.due(), slow.value)
    now[0] += 60
    run = slow.begin()
    run.failed("x", Failure(Kind.TIMEOUT, "late"))
    assert slow.due()
    slow.end(run, None)
    assert (True, "good", False) == (slow.due(), slow.value, slow.run.success if slow.run else None)
    now[0] += 121
    assert None is slow.value
