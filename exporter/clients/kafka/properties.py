"""Client properties: which are known, under which spellings, and their values with secrets read at this moment.

kafka-python's names are the standard ones, with `.` or `_`; librdkafka's and Java's are taken where they mean the same.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from exporter.clients.kafka.failures import Failure, UnusableError
from exporter.config.model import Secret
from exporter.model.common import Kind

Value = str | int | float | bool

KNOWN = frozenset(
    {
        "client_id",
        "receive_message_max_bytes",
        "sasl_kerberos_domain_name",
        "sasl_kerberos_name",
        "sasl_kerberos_service_name",
        "sasl_mechanism",
        "sasl_oauth_token",
        "sasl_oauth_token_provider",
        "sasl_oauthbearer_client_id",
        "sasl_oauthbearer_client_secret",
        "sasl_oauthbearer_scope",
        "sasl_oauthbearer_token_endpoint_url",
        "sasl_plain_password",
        "sasl_plain_username",
        "security_protocol",
        "ssl_cafile",
        "ssl_certfile",
        "ssl_check_hostname",
        "ssl_ciphers",
        "ssl_crlfile",
        "ssl_keyfile",
        "ssl_password",
        "ssl_verify",
    }
)
ALIASES = {
    "enable_ssl_certificate_verification": "ssl_verify",
    "sasl_mechanisms": "sasl_mechanism",
    "sasl_oauthbearer_client_credentials_client_id": "sasl_oauthbearer_client_id",
    "sasl_oauthbearer_client_credentials_client_secret": "sasl_oauthbearer_client_secret",
    "sasl_password": "sasl_plain_password",
    "sasl_username": "sasl_plain_username",
    "ssl_ca_location": "ssl_cafile",
    "ssl_certificate_location": "ssl_certfile",
    "ssl_cipher_suites": "ssl_ciphers",
    "ssl_crl_location": "ssl_crlfile",
    "ssl_key_location": "ssl_keyfile",
    "ssl_key_password": "ssl_password",
}
INSTEAD = {
    "bootstrap_servers": "give it as `bootstrap_servers:` of the cluster",
    "request_timeout_ms": "give it as `timeout:` of the cluster",
    "sasl_jaas_config": "give sasl.username, and sasl.password under `secrets:`",
    "ssl_endpoint_identification_algorithm": "use ssl_check_hostname: true or false",
    "ssl_keystore_location": "Java key stores are not read; export PEM files for ssl_certfile and ssl_keyfile",
    "ssl_truststore_location": "Java key stores are not read; export a PEM file and name it in ssl_cafile",
}
TOKEN_URL = "sasl_oauthbearer_token_endpoint_url"  # noqa: S105 - a property's name
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM")
MAX_ANSWER_BYTES = 256 * 1024 * 1024


def standard_name(name: str) -> str:
    """The standard name of a property, whichever spelling was used; an unknown one only has its dots replaced."""
    flat = name.strip().replace(".", "_").replace("-", "_").lower()
    return ALIASES.get(flat, flat)


def _check_name(name: str) -> list[str]:
    standard = standard_name(name)
    if standard in KNOWN:
        return []
    hint = INSTEAD.get(standard, f"known ones are {', '.join(sorted(KNOWN))}")
    return [f"client property {name!r} is not known: {hint}"]


def _check_choices(given: Mapping[str, Value]) -> list[str]:
    protocol = str(given.get("security_protocol", "PLAINTEXT")).upper()
    mechanism = str(given.get("sasl_mechanism", "")).upper()
    mistakes = []
    if protocol not in PROTOCOLS:
        mistakes.append(f"security_protocol {protocol!r} is none of {', '.join(PROTOCOLS)}")
    elif protocol.startswith("SASL") and not mechanism:
        mistakes.append(f"security_protocol {protocol} needs a sasl_mechanism: one of {', '.join(MECHANISMS)}")
    elif mechanism and not protocol.startswith("SASL"):
        mistakes.append(
            f"sasl_mechanism {mechanism} needs security_protocol SASL_SSL or SASL_PLAINTEXT, not {protocol}"
        )
    if mechanism and mechanism not in MECHANISMS:
        mistakes.append(f"sasl_mechanism {mechanism!r} is none of {', '.join(MECHANISMS)}")
    if mechanism == "PLAIN" or mechanism.startswith("SCRAM"):
        needed = [name for name in ("sasl_plain_username", "sasl_plain_password") if name not in given]
        mistakes += [f"sasl_mechanism {mechanism} needs {name}" for name in needed]
    oauth = ("sasl_oauth_token", "sasl_oauth_token_provider", "sasl_oauthbearer_token_endpoint_url")
    if mechanism == "OAUTHBEARER" and not any(name in given for name in oauth):
        mistakes.append(f"sasl_mechanism OAUTHBEARER needs one of {', '.join(oauth)}")
    return mistakes


def check_client(properties: Mapping[str, Value], secrets: Collection[str] = ()) -> list[str]:
    """Every mistake in the properties (and in the names under `secrets:`), one sentence each; empty when none."""
    mistakes = [mistake for name in (*properties, *secrets) for mistake in _check_name(name)]
    given: dict[str, Value] = {standard_name(name): value for name, value in properties.items()}
    names = [standard_name(name) for name in (*properties, *secrets)]
    mistakes += [f"client property {name} is given twice" for name in sorted({n for n in names if names.count(n) > 1})]
    endpoint = str({standard_name(name): value for name, value in properties.items()}.get(TOKEN_URL, ""))
    if "@" in endpoint:
        mistakes.append(f"{TOKEN_URL}: leave user and password out of the URL; write sasl_oauthbearer_client_id and, "
                        "under `secrets:`, sasl_oauthbearer_client_secret")  # fmt: skip
    return mistakes + _check_choices({**dict.fromkeys(map(standard_name, secrets), "secret"), **given})


def read_secret(name: str, secret: Secret) -> str:
    """The secret's value now. Raises UnusableError, naming the file or variable, when it can't be read."""
    try:
        if secret.file is not None:
            return secret.file.read_text(encoding="utf-8").rstrip("\r\n")
        return os.environ[secret.env or ""]
    except (OSError, UnicodeDecodeError, KeyError) as error:
        where = f"file {secret.file}" if secret.file else f"environment variable {secret.env}"
        why = getattr(error, "strerror", None) or ("not set" if isinstance(error, KeyError) else "not text")
        detail = f"the secret {name} can't be read from {where}: {why}"
        raise UnusableError(Failure(Kind.AUTHENTICATION, detail)) from None


@dataclass(frozen=True)
class Client:
    """The properties of one cluster, without the values of its secrets."""

    given: Mapping[str, Value] = field(repr=False)
    secrets: Mapping[str, Secret] = field(repr=False)

    @classmethod
    def of(cls, properties: Mapping[str, Value], secrets: Mapping[str, Secret]) -> Client:
        """Properties and secrets under their standard names."""
        standard = {standard_name(name): value for name, value in properties.items()}
        return cls(standard, {standard_name(name): secret for name, secret in secrets.items()})

    def values(self) -> dict[str, Value]:
        """All properties, secrets read anew, so that a changed one counts from the next login. Raises UnusableError."""
        return {**self.given, **{name: read_secret(name, secret) for name, secret in self.secrets.items()}}

    @property
    def protocol(self) -> str:
        """PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
        return str(self.given.get("security_protocol", "PLAINTEXT")).upper()

    @property
    def client_id(self) -> str:
        """The name under which brokers log and meter the exporter."""
        return str(self.given.get("client_id", "mq-exporter"))

    @property
    def max_answer_bytes(self) -> int:
        """An answer that claims to be larger is not one."""
        return int(self.given.get("receive_message_max_bytes", MAX_ANSWER_BYTES))


def truth(value: Value, default: bool) -> bool:
    """A property that is a switch, however it was written."""
    if isinstance(value, str):
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(
            value.strip().lower(), default
        )
    return bool(value)
