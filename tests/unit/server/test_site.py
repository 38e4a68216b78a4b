"""What each path answers."""

from __future__ import annotations

import json
from http import HTTPStatus

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from pydantic import SecretStr

from exporter.config.mistakes import ConfigError, Mistake
from exporter.config.model import Config, Kafka, RabbitMQ, Secret
from exporter.http_response import Request, Response
from exporter.http_site import ENDPOINTS, Site
from exporter.poll import Poller
from tests.unit.server.served import TIMEOUT, FakeReader, poller_of, site_of, snapshot


def body(response: Response) -> str:
    return b"".join(response.chunks).decode()


def polled(*names: str) -> Site:
    poller = poller_of({name: lambda name=name: snapshot(name) for name in names})  # type: ignore[misc]
    poller.poll_once()
    return site_of(poller)


def test_the_page_is_valid_in_both_formats() -> None:
    site = polled("a", "b")
    text = site(Request("GET", "/metrics"))
    openmetrics = site(Request("GET", "/metrics", {"accept": "application/openmetrics-text"}))
    assert "text/plain; version=0.0.4; charset=utf-8" == text.content_type
    assert "application/openmetrics-text; version=1.0.0; charset=utf-8" == openmetrics.content_type
    by_text = {sample.name for family in parse_text(body(text)) for sample in family.samples}
    by_openmetrics = {sample.name for family in parse_openmetrics(body(openmetrics)) for sample in family.samples}
    assert by_text == by_openmetrics
    assert "mq_dlq_unhandled_messages" in by_text


def test_the_page_is_compressed_on_request() -> None:
    site = polled("a")
    response = site(Request("GET", "/metrics", {"accept-encoding": "gzip"}))
    assert {"Vary": "Accept, Accept-Encoding", "Content-Encoding": "gzip"} == response.headers
    assert b"\x1f\x8b" == b"".join(response.chunks)[:2]


def test_the_query_is_ignored() -> None:
    assert HTTPStatus.OK == polled("a")(Request("GET", "/metrics?name[]=x")).status


def test_the_snapshot_holds_samples_and_problems() -> None:
    poller = poller_of({"a": lambda: snapshot("a", TIMEOUT)})
    poller.poll_once()
    found = json.loads(body(site_of(poller)(Request("GET", "/api/v1/snapshot"))))
    (cluster,) = found["clusters"]
    families = {family["name"]: family["samples"] for family in cluster["families"]}
    assert [{"labels": {"system": "kafka", "vhost": "/", "dlq": "q0"}, "value": 3}] == families["mq_dlq_depth_messages"]
    assert [{"kind": "timeout", "item": "broker 2", "detail": "no answer within 5 s"}] == cluster["collectors"][0][
        "problems"
    ]
    assert (True, "kafka", True) == (found["ready"], cluster["system"], cluster["fresh"])


def test_any_name_can_stand_in_the_snapshot() -> None:
    name = 'q"\\\n%s{}\u2028\udcff</script>'
    poller = poller_of({"a": lambda: snapshot("a", label=name)})
    poller.poll_once()
    (cluster,) = json.loads(body(site_of(poller)(Request("GET", "/api/v1/snapshot"))))["clusters"]
    assert {name + "0"} == {
        sample["labels"]["dlq"]
        for family in cluster["families"]
        for sample in family["samples"]
        if "dlq" in sample["labels"]
    }


def test_no_answer_holds_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    rabbit = RabbitMQ(urls=("http://h:1",), username="u", url_password=SecretStr("hunter2"))
    kafka = Kafka(bootstrap_servers=("h:1",), secrets={"sasl_password": Secret(env="MQ_TEST_SECRET")})
    monkeypatch.setenv("MQ_TEST_SECRET", "hunter2")
    poller = Poller(
        Config(kafka=(kafka,), rabbitmq=(rabbit,)), lambda section: FakeReader(lambda: snapshot(section.cluster))
    )
    poller.poll_once()
    site = site_of(poller)
    answers = [body(site(Request("GET", path))) for path in ENDPOINTS]
    assert len(ENDPOINTS) == len(answers)
    assert not [answer for answer in answers if "hunter2" in answer]


def test_the_snapshot_follows_the_polls_and_is_made_once_for_each() -> None:
    depth = [1]
    poller = poller_of({"a": lambda: snapshot("a", queues=depth[0])})
    poller.poll_once()
    site = site_of(poller)
    first = site.snapshot.chunks(1.0)
    assert first[2] is site.snapshot.chunks(2.0)[2]
    assert '"dlq":"q1"' not in b"".join(first).decode()
    depth[0] = 2
    poller.poll_once()
    assert '"dlq":"q1"' in body(site(Request("GET", "/api/v1/snapshot")))


def test_the_process_is_healthy_and_the_page_ready_when_each_cluster_was_polled() -> None:
    poller = poller_of({"a": lambda: snapshot("a"), "b": lambda: snapshot("b")})
    site = site_of(poller)
    assert HTTPStatus.OK == site(Request("GET", "/-/healthy")).status
    waiting = site(Request("GET", "/-/ready"))
    assert (HTTPStatus.SERVICE_UNAVAILABLE, "not ready: waiting for the first poll of a, b\n") == (
        waiting.status,
        body(waiting),
    )
    poller.poll_once()
    assert HTTPStatus.OK == site(Request("GET", "/-/ready")).status


def test_readiness_is_not_broker_health() -> None:
    poller = poller_of({"a": lambda: snapshot("a", TIMEOUT)})
    poller.poll_once()
    assert HTTPStatus.OK == site_of(poller)(Request("GET", "/-/ready")).status


def test_an_unknown_path_lists_what_there_is() -> None:
    response = polled("a")(Request("GET", "/metric"))
    assert HTTPStatus.NOT_FOUND == response.status
    assert all(path in body(response) for path in ENDPOINTS)


@pytest.mark.parametrize(
    ("method", "path", "allow"), [("POST", "/metrics", "GET, HEAD"), ("GET", "/-/reload", "POST, PUT")]
)
def test_a_wrong_method_is_told_the_right_one(method: str, path: str, allow: str) -> None:
    response = polled("a")(Request(method, path))
    assert (HTTPStatus.METHOD_NOT_ALLOWED, {"Allow": allow}) == (response.status, response.headers)


def test_reload_is_off_until_it_is_allowed() -> None:
    response = polled("a")(Request("POST", "/-/reload"))
    assert HTTPStatus.FORBIDDEN == response.status
    assert "--web.enable-lifecycle" in body(response)


def test_reload_takes_the_whole_configuration_or_none() -> None:
    answers = {name: lambda name=name: snapshot(name) for name in "ab"}  # type: ignore[misc]
    poller = poller_of({"a": answers["a"]}, enable_lifecycle=True)
    poller._readers = poller_of(answers)._readers
    after = poller_of(answers, enable_lifecycle=True).config
    results: list[Config | ConfigError] = [ConfigError([Mistake("mq.yaml", 3, 5, "x", "unknown key")]), after]

    def load() -> Config:
        result = results.pop(0)
        if isinstance(result, ConfigError):
            raise result
        return result

    site = site_of(poller, load)
    poller.poll_once()
    refused = site(Request("POST", "/-/reload"))
    assert HTTPStatus.INTERNAL_SERVER_ERROR == refused.status
    assert "mq.yaml:3:5: x: unknown key" in body(refused)
    assert "mq_exporter_config_reload_success 0" in body(site(Request("GET", "/metrics")))
    assert ["a"] == list(poller.clusters)
    taken = site(Request("POST", "/-/reload"))
    assert (HTTPStatus.OK, "reloaded\nkafka/b: added\n") == (taken.status, body(taken))
    assert "mq_exporter_config_reload_success 1" in body(site(Request("GET", "/metrics")))
    assert ["a", "b"] == list(poller.clusters)


def test_the_status_page_loads_nothing_from_elsewhere() -> None:
    response = polled("a")(Request("GET", "/"))
    assert "text/html; charset=utf-8" == response.content_type
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none';")
    page = body(response)
    assert 0 == sum(
        page.count(loader) for loader in ("<script", '<link rel="stylesheet', "@import", "src=", 'href="http')
    )


def test_a_fault_costs_one_response(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    site = polled("a")
    monkeypatch.setattr(site.poller, "page", lambda *_: 1 / 0)
    response = site(Request("GET", "/metrics"))
    assert HTTPStatus.INTERNAL_SERVER_ERROR == response.status
    assert "fault of the exporter" in caplog.text
    assert HTTPStatus.OK == site(Request("GET", "/-/healthy")).status
