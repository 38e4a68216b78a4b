"""Client properties: every mistake is told, every usual spelling is understood."""

from __future__ import annotations

import pytest

from exporter.clients.kafka.properties import Client, check_client
from exporter.config.model import Secret


@pytest.mark.parametrize(
    ("properties", "secrets"),
    [
        ({}, ()),
        ({"security_protocol": "SSL", "ssl_cafile": "x"}, ()),
        ({"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN", "sasl.username": "u"}, ("sasl.password",)),
        ({"security.protocol": "SASL_SSL", "sasl.mechanisms": "SCRAM-SHA-512", "sasl_plain_username": "u"},
         ("sasl_plain_password",)),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"}, ("sasl_oauth_token",)),
        ({"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "GSSAPI"}, ()),
    ],
)  # fmt: skip
def test_sound_properties_have_no_mistakes(properties: dict[str, str], secrets: tuple[str, ...]) -> None:
    assert check_client(properties, secrets) == []


@pytest.mark.parametrize(
    ("properties", "mistakes"),
    [
        ({"ssl_cafil": "x"}, ["client property 'ssl_cafil' is not known: known ones are client_id, "]),
        (
            {"bootstrap.servers": "x"},
            ["client property 'bootstrap.servers' is not known: give it as `bootstrap_servers:`"],
        ),
        ({"ssl.truststore.location": "x"}, ["client property 'ssl.truststore.location' is not known: Java key stores"]),
        ({"security_protocol": "TLS"}, ["security_protocol 'TLS' is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"]),
        ({"sasl_mechanism": "GSSAPI"}, ["sasl_mechanism GSSAPI needs security_protocol SASL_SSL or SASL_PLAINTEXT"]),
        ({"security_protocol": "SASL_SSL"}, ["security_protocol SASL_SSL needs a sasl_mechanism: one of PLAIN, "]),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"},
            ["sasl_mechanism PLAIN needs sasl_plain_username", "sasl_mechanism PLAIN needs sasl_plain_password"],
        ),
        ({"sasl.username": "a", "sasl_plain_username": "b"}, ["client property sasl_plain_username is given twice"]),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"},
            ["sasl_mechanism OAUTHBEARER needs one of sasl_oauth_token, "],
        ),
    ],
)
def test_every_mistake_is_told(properties: dict[str, str], mistakes: list[str]) -> None:
    found = check_client(properties)
    assert len(found) == len(mistakes)
    assert all(told.startswith(start) for told, start in zip(found, mistakes, strict=True)), found


def test_no_secret_shows_in_a_repr() -> None:
    client = Client.of({"sasl_plain_password": "hunter2"}, {"ssl_password": Secret(env="X")})
    assert "hunter2" not in repr(client)
