"""What is hidden, and what is not a secret and stays."""

from __future__ import annotations

import pytest

from drills.evidence.secrets import Redaction


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("it is *** here", "it is p@ss:word here"),
        ("it is *** here", "it is p%40ss%3Aword here"),
        ("amqp://drill:***@h:5672/%2F", "amqp://drill:other@h:5672/%2F"),
        ("http://h:15672/api", "http://h:15672/api"),
        ("mail me@example.org: now", "mail me@example.org: now"),
        ("password=*** next", "password=abc next"),
        ('{"password": "***", "user": "a"}', '{"password": "abc", "user": "a"}'),
        ("SASL_PASSWORD: ***", "SASL_PASSWORD: abc"),
        ("Authorization: Basic ***", "Authorization: Basic ZHJpbGw6YWJj"),
        ("RABBITMQ_ERLANG_COOKIE=***", "RABBITMQ_ERLANG_COOKIE=ABCDEF"),
        ("E001 is lost; the queue has 3 messages", "E001 is lost; the queue has 3 messages"),
    ],
)
def test_text(expected: str, text: str) -> None:
    assert expected == Redaction(["p@ss:word"]).text(text)


def test_json_keys_and_values() -> None:
    value = {"password": "abc", "tokens_seen": 3, "list": ["known!", {"api_key": "k", "port": 5672}], "none": None}
    expected = {"password": "***", "tokens_seen": 3, "list": ["***", {"api_key": "***", "port": 5672}], "none": None}
    assert expected == Redaction(["known!"]).json(value)


def test_a_known_value_that_is_a_common_word_does_not_blot_out_the_report() -> None:
    assert "dev: 3 events" == Redaction(["dev", ""]).text("dev: 3 events")


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert "***" == Redaction(["secret", "secret-long"]).text("secret-long")
