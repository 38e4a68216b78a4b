"""Tries what an account may do, each time by a connection of its own, and says how it was answered.

Command: probe (system, action, login, and what the action needs). Event: probed (outcome, said). Outcomes: allowed,
tls, authentication, authorization, unclear: which of three locks it was that held is what a probe is there to tell.
"""

from __future__ import annotations

import ssl
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import pika
import requests
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType
from pika import exceptions as amqp

from drills.actors.hooks import Hooks
from drills.actors.protocol import Driver
from drills.ledger import Ledger

ALLOWED, TLS, AUTHENTICATION, AUTHORIZATION, UNCLEAR = "allowed", "tls", "authentication", "authorization", "unclear"
SECONDS = 10.0  # for one try
OF_TLS = {KafkaError._SSL}
OF_LOGIN = {KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED}
OF_RIGHTS = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}  # fmt: skip

Answer = tuple[str, str]
Asked = Mapping[str, Any]


def main(driver: Driver) -> int:
    """Tries until it is told to stop."""
    options = driver.options
    ledger = Ledger(options["ledger_url"], options["run"])
    driver.listen(Hooks(ledger, options["case"], options["name"], driver.say))
    driver.say("ready")
    while (asked := driver.commands.get())["do"] != "stop":
        outcome, said = ACTIONS[asked["system"], asked["action"]](asked)
        driver.say("probed", outcome=outcome, said=said)
    return 0


# Kafka


def _kafka(asked: Asked, act: Callable[[dict[str, Any]], None]) -> Answer:
    """What a connection says of itself (TLS, login) comes by the error callback; the act alone runs into its time."""
    heard: list[Any] = []
    settings = {**asked["login"], "error_cb": heard.append, "log_level": 0, "allow.auto.create.topics": False}
    try:
        act(settings)
    except KafkaException as failure:
        return _kafka_outcome([*heard, failure.args[0]])
    return ALLOWED, ""


def _kafka_outcome(errors: list[Any]) -> Answer:
    for codes, outcome in ((OF_TLS, TLS), (OF_LOGIN, AUTHENTICATION), (OF_RIGHTS, AUTHORIZATION)):
        for error in errors:
            if error.code() in codes:
                return outcome, f"{error.name()}: {error.str()}"
    return UNCLEAR, "; ".join(f"{error.name()}: {error.str()}" for error in errors)[:500]


def _produce(asked: Asked) -> Answer:
    told: list[Any] = []

    def act(settings: dict[str, Any]) -> None:
        def heard(error: Any) -> None:
            settings["error_cb"](error)
            if error.code() in OF_TLS | OF_LOGIN:  # it would try again until its time is over
                told.append(error)

        client = Producer({**settings, "message.timeout.ms": int(SECONDS * 1000), "error_cb": heard})
        client.produce(asked["topic"], b"probe", on_delivery=lambda error, _: told.append(error))
        end = time.monotonic() + SECONDS + 1
        while not told and time.monotonic() < end:
            client.poll(0.1)
        client.purge()
        error = told[0] if told else KafkaError(KafkaError._TIMED_OUT)
        if error is not None:
            raise KafkaException(error)

    return _kafka(asked, act)


def _consume(asked: Asked) -> Answer:
    """Joins the group and reads the topic: each needs a right of its own."""

    def act(settings: dict[str, Any]) -> None:
        own = {"group.id": asked["group"], "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        client = Consumer({**settings, **own, "group.protocol": "classic", "enable.partition.eof": True})
        try:
            topic = client.list_topics(asked["topic"], timeout=SECONDS).topics[asked["topic"]]
            if topic.error is not None:  # a member of a group is not told: it just gets no partition
                raise KafkaException(topic.error)
            client.subscribe([asked["topic"]])
            record = client.poll(SECONDS)
            error = KafkaError(KafkaError._TIMED_OUT) if record is None else record.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
        finally:
            client.close()

    return _kafka(asked, act)


def _transact(asked: Asked) -> Answer:
    return _kafka(
        asked,
        lambda settings: Producer({**settings, "transactional.id": asked["transactional_id"]}).init_transactions(
            SECONDS
        ),
    )


def _create_topic(asked: Asked) -> Answer:
    """Only asks whether it could: what an admin asks so makes nothing."""

    def act(settings: dict[str, Any]) -> None:
        client, wanted = AdminClient(settings), NewTopic(asked["topic"], 1, 1)
        client.create_topics([wanted], request_timeout=SECONDS, validate_only=True)[wanted.topic].result(SECONDS + 1)

    return _kafka(asked, act)


def _broker_settings(asked: Asked) -> Answer:
    def act(settings: dict[str, Any]) -> None:
        client, broker = AdminClient(settings), ConfigResource(ResourceType.BROKER, "1")
        client.describe_configs([broker], request_timeout=SECONDS)[broker].result(SECONDS + 1)

    return _kafka(asked, act)


# RabbitMQ


def _rabbitmq(asked: Asked, act: Callable[[Any], None]) -> Answer:
    login = asked["login"]
    where = pika.URLParameters(f"{login['amqp']}/{quote(asked['vhost'], safe='')}")
    where.credentials = pika.PlainCredentials(login["user"], login["password"])
    where.socket_timeout, where.blocked_connection_timeout, where.connection_attempts = SECONDS, SECONDS, 1
    where.ssl_options = pika.SSLOptions(ssl.create_default_context(cafile=login["ca_file"]), where.host)
    try:
        connection = pika.BlockingConnection(where)
        try:
            act(connection.channel())
        finally:
            if connection.is_open:
                connection.close()
    except (amqp.AMQPError, OSError) as error:
        return _amqp_outcome(error)
    return ALLOWED, ""


def _amqp_outcome(error: BaseException) -> Answer:
    said = repr(error)
    if isinstance(error, ssl.SSLError) or "SSLError" in said or "CERTIFICATE_VERIFY_FAILED" in said:
        return TLS, said
    if isinstance(error, amqp.ProbableAuthenticationError):
        return AUTHENTICATION, said
    if isinstance(error, amqp.ProbableAccessDeniedError | amqp.ChannelClosedByBroker | amqp.ConnectionClosedByBroker):
        code = getattr(error, "reply_code", None)
        denied = isinstance(error, amqp.ProbableAccessDeniedError) or code in (403, 530)
        return (AUTHORIZATION if denied else UNCLEAR), said
    return UNCLEAR, said


def _publish(asked: Asked) -> Answer:
    def act(channel: Any) -> None:
        channel.confirm_delivery()
        channel.basic_publish(asked["exchange"], asked["key"], b"probe")

    return _rabbitmq(asked, act)


def _get(asked: Asked) -> Answer:
    return _rabbitmq(asked, lambda channel: channel.basic_get(asked["queue"], auto_ack=True))


def _declare(asked: Asked) -> Answer:
    quorum = {"x-queue-type": "quorum"}
    return _rabbitmq(asked, lambda channel: channel.queue_declare(asked["queue"], durable=True, arguments=quorum))


def _management(asked: Asked) -> Answer:
    """The API answers 401 to both: to whom it does not know, and to whom it does and who may not."""
    login = asked["login"]
    with requests.Session() as session:
        session.trust_env = False
        found = session.get(
            f"{login['url']}/api/users",
            auth=(login["user"], login["password"]),
            verify=login["ca_file"],
            timeout=SECONDS,
        )
    said = f"{found.status_code} {found.text[:200]}"
    if found.ok:
        return ALLOWED, said
    knows = found.status_code == 403 or "management user" in found.text.lower()
    return (AUTHORIZATION if knows else AUTHENTICATION if found.status_code == 401 else UNCLEAR), said


ACTIONS: dict[tuple[str, str], Callable[[Asked], Answer]] = {
    ("kafka", "produce"): _produce,
    ("kafka", "consume"): _consume,
    ("kafka", "transact"): _transact,
    ("kafka", "create_topic"): _create_topic,
    ("kafka", "broker_settings"): _broker_settings,
    ("rabbitmq", "publish"): _publish,
    ("rabbitmq", "get"): _get,
    ("rabbitmq", "declare"): _declare,
    ("rabbitmq", "management"): _management,
}

if __name__ == "__main__":
    sys.exit(main(Driver()))
