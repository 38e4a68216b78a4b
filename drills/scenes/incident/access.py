"""What the application's account may do, and what it may not: on RabbitMQ and on Kafka, before and after a rotation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from requests.utils import DEFAULT_CA_BUNDLE_PATH

from drills.actors.worker import Worker
from drills.engine.drill import Case
from drills.engine.stage import Stage
from drills.faults.kafka_user import KafkaUser, harmless
from drills.faults.queue import Queue
from drills.faults.rabbitmq_user import RabbitmqUser
from drills.faults.rotation import Rotation
from drills.faults.secrets import password
from drills.faults.topic import Topic
from drills.faults.vhost import Vhost
from drills.lab.errors import LabTimeoutError
from drills.scenes import wrong as wrongs
from drills.scenes.scene import READY
from drills.scenes.wrong import Wrong
from drills.targets import kafka_accounts
from drills.targets.rabbitmq_api import Management, quoted

PROBE = "drills.actors.access_probe"
STRANGERS = DEFAULT_CA_BUNDLE_PATH  # authorities that did not sign the brokers' certificates
ALLOWED, TLS, AUTHENTICATION, AUTHORIZATION = "allowed", "tls", "authentication", "authorization"
WORK, OTHER = "work", "other"


class AccessCase(Case):
    """Facts: `offers` (has the target TLS and logins), `account` (its rights by the admin's word), `probes`."""

    system = ""
    makes: tuple[str, ...] = ()

    def __init__(self, name: str, title: str, wrong: Wrong) -> None:
        self.name, self.title = name, title  # type: ignore[misc]
        self.wrong = wrong
        self.probes: dict[str, dict[str, Any]] = {}

    def plan(self, parameters: Mapping[str, Any]) -> Iterable[str]:  # noqa: ARG002
        """The places, and the account."""
        yield from (f"make {one.format(where=f'drill-<run>-{self.name}')} (removed at the end)" for one in self.makes)
        yield f"make an account of {self.system}, drill-<run>-{self.name}-app, with least rights (removed at the end)"
        yield "try TLS, login and rights with it, each by a connection of its own; change its password once"

    def offers(self, stage: Stage) -> str | None:
        """What the target lacks for this to mean anything; None when it has TLS and logins."""
        raise NotImplementedError

    def place(self, stage: Stage) -> None:
        """The account, and what it may and may not touch."""
        raise NotImplementedError

    def account(self, stage: Stage) -> dict[str, Any]:
        """Its rights, as the administrator reads them."""
        raise NotImplementedError

    def tries(self, stage: Stage) -> dict[str, tuple[str, dict[str, Any]]]:
        """Name -> the outcome that is right, and the probe."""
        raise NotImplementedError

    def login(self, stage: Stage, generation: int = 1) -> dict[str, Any]:
        """How the account logs in with this generation of its password."""
        raise NotImplementedError

    def works(self, login: Mapping[str, Any]) -> dict[str, Any]:
        """What the account is there for."""
        raise NotImplementedError

    def user(self, stage: Stage) -> str:
        """The account's name."""
        return harmless(f"{stage.namespace}-app")

    def fixture(self, stage: Stage) -> None:
        """The account."""
        self.lack = self.offers(stage)
        stage.fact("offers", {"lack": self.lack}, "the target")
        if self.lack is not None:
            stage.note(f"{self.system}: {self.lack}", "observation")
            return
        self.place(stage)
        self.worker: Worker = stage.start_worker(PROBE, "probe", {})
        self.worker.await_event("ready", READY)

    def steady(self, stage: Stage) -> None:
        """It works, and has no right beyond."""
        if self.lack is None:
            self.probe(stage, "works", ALLOWED, self.works(self.login(stage)))
            stage.fact("account", self.account(stage), f"the administrator's list of {self.system}")

    def observe(self, stage: Stage) -> None:
        """Everything that must not be; then the password is changed."""
        if self.lack is not None:
            return
        for name, (wanted, probe) in self.tries(stage).items():
            self.probe(stage, name, wanted, probe)
        if self.wrong.environment != wrongs.ROTATES_NOTHING:
            stage.make(Rotation(self.system, self.user(stage), tags=self._tags))
        self.probe(stage, "new_password", ALLOWED, self.works(self.login(stage, 2)))
        self.probe(stage, "old_password", AUTHENTICATION, self.works(self.login(stage, 1)))
        self.worker.stop()

    @property
    def _tags(self) -> str:
        return "administrator" if self._is_admin and self.system == "rabbitmq" else ""

    @property
    def _is_admin(self) -> bool:
        return self.wrong.environment == wrongs.ACCOUNT_IS_ADMIN

    def probe(self, stage: Stage, name: str, wanted: str, asked: Mapping[str, Any]) -> None:
        """Tries until it is answered as it should be, or time is up: brokers learn of an account a moment later."""
        seconds = stage.parameters["probe_seconds"]
        found: dict[str, Any] = {"outcome": None, "said": "", "tries": 0}

        def lack() -> str | None:
            self.worker.send("probe", system=self.system, **asked)
            answer = self.worker.await_event("probed", 60.0)
            found.update(outcome=answer["outcome"], said=answer["said"], tries=found["tries"] + 1)
            return None if answer["outcome"] == wanted else f"{answer['outcome']}: {answer['said'][:200]}"

        try:
            stage.wait(f"{name} is answered with {wanted}", lack, seconds)
        except LabTimeoutError as late:
            stage.note(str(late), "observation")
        self.probes[name] = found
        stage.fact("probes", self.probes, f"connections of the account to {self.system}")
        stage.note(f"{name}: {found['outcome']}", "observation")


class RabbitmqAccess(AccessCase):
    """One virtual host, one queue to read and write, nothing to declare."""

    system = "rabbitmq"
    makes = ("the virtual hosts {where} and {where}-other", "the quorum queues work and other in {where}")

    def offers(self, stage: Stage) -> str | None:
        """TLS; logins RabbitMQ has always."""
        return None if stage.target.rabbitmq.ca_file else "its listeners have no TLS"

    def place(self, stage: Stage) -> None:
        """Two virtual hosts, two queues; the account has one of each."""
        here = stage.namespace
        stage.make(Vhost(here))
        stage.make(Vhost(f"{here}-{OTHER}"))
        for queue in (WORK, OTHER):
            stage.make(Queue(here, queue))
        rights = ("^$", f"^(amq\\.default|{WORK})$", f"^{WORK}$") if not self._is_admin else (".*", ".*", ".*")
        stage.make(RabbitmqUser(self.user(stage), here, *rights, tags=self._tags))

    def account(self, stage: Stage) -> dict[str, Any]:
        """Tags and permissions."""
        api, user = Management(stage.target.rabbitmq), quoted(self.user(stage))
        about = api.get(f"users/{user}") or {}
        tags = about.get("tags", [])
        rights = api.get(f"users/{user}/permissions") or []
        told = [[row["vhost"], row["configure"], row["write"], row["read"]] for row in rights]
        wanted = [[stage.namespace, "^$", f"^(amq\\.default|{WORK})$", f"^{WORK}$"]]
        return {"tags": tags if isinstance(tags, list) else tags.split(), "rights": sorted(told), "wanted": wanted}

    def login(self, stage: Stage, generation: int = 1) -> dict[str, Any]:
        """Any node will do: all know the same accounts."""
        addresses, user = stage.target.rabbitmq, self.user(stage)
        node = addresses.nodes[0]
        secret = password(stage.target, self.system, user, generation)
        where = {"amqp": f"amqps://{node.host}:{node.amqp_port}", "url": node.url, "ca_file": addresses.ca_file}
        self.here = stage.namespace
        return {**where, "user": user, "password": secret}

    def works(self, login: Mapping[str, Any]) -> dict[str, Any]:
        """A message to its queue."""
        return self._asked("publish", login, exchange="", key=WORK)

    def tries(self, stage: Stage) -> dict[str, tuple[str, dict[str, Any]]]:
        """Each lock by itself."""
        login = self.login(stage)
        return {
            "reads_its_queue": (ALLOWED, self._asked("get", login, queue=WORK)),
            "foreign_authority": (TLS, self.works({**login, "ca_file": STRANGERS})),
            "wrong_password": (AUTHENTICATION, self.works({**login, "password": "not-" + login["user"]})),
            "other_vhost": (AUTHORIZATION, {**self.works(login), "vhost": f"{stage.namespace}-{OTHER}"}),
            "other_queue": (AUTHORIZATION, self._asked("get", login, queue=OTHER)),
            "other_exchange": (AUTHORIZATION, self._asked("publish", login, exchange="amq.topic", key=WORK)),
            "declares_a_queue": (AUTHORIZATION, self._asked("declare", login, queue="its-own")),
            "is_no_admin": (AUTHORIZATION, self._asked("management", login)),
        }

    def _asked(self, action: str, login: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        return {"action": action, "login": dict(login), "vhost": self.here, **more}


class KafkaAccess(AccessCase):
    """One topic, one group, one transactional ID."""

    system = "kafka"
    makes = ("the topics {where}-work and {where}-other, 1 partition",)

    def offers(self, stage: Stage) -> str | None:
        """TLS and passwords."""
        protocol = str(stage.target.kafka.client.get("security.protocol", "PLAINTEXT"))
        return None if protocol == "SASL_SSL" else f"its listeners are {protocol}, and not SASL_SSL"

    def place(self, stage: Stage) -> None:
        """Two topics; the account has one."""
        here = stage.namespace
        for name in (WORK, OTHER):
            stage.make(Topic(f"{here}-{name}", 1))
        more = [["ALTER", "CLUSTER", "kafka-cluster"], ["ALL", "TOPIC", "*"]] if self._is_admin else []
        stage.make(KafkaUser(self.user(stage), [*self._rights(stage), *more]))

    def _rights(self, stage: Stage) -> list[list[str]]:
        topic = f"{stage.namespace}-{WORK}"
        return [
            ["READ", "TOPIC", topic], ["WRITE", "TOPIC", topic], ["READ", "GROUP", f"{topic}-group"],
            ["WRITE", "TRANSACTIONAL_ID", f"{topic}-tx"],
        ]  # fmt: skip

    def account(self, stage: Stage) -> dict[str, Any]:
        """Every rule that names it."""
        wanted = sorted(["ALLOW", op, kind, "LITERAL", name] for op, kind, name in self._rights(stage))
        found = kafka_accounts.rights_of(stage.target.kafka, self.user(stage))
        return {"tags": [], "rights": found, "wanted": wanted}

    def login(self, stage: Stage, generation: int = 1) -> dict[str, Any]:
        """As the administrator's, with the account's name and password."""
        user = self.user(stage)
        own = {"sasl.username": user, "sasl.password": password(stage.target, self.system, user, generation)}
        self.here = stage.namespace
        return {**stage.target.kafka.client, **own}

    def works(self, login: Mapping[str, Any]) -> dict[str, Any]:
        """A record to its topic."""
        return self._asked("produce", login)

    def tries(self, stage: Stage) -> dict[str, tuple[str, dict[str, Any]]]:
        """Each lock by itself."""
        login = self.login(stage)
        topic, other = f"{self.here}-{WORK}", f"{self.here}-{OTHER}"
        return {
            "reads_its_topic": (ALLOWED, self._asked("consume", login)),
            "its_transactional_id": (ALLOWED, self._asked("transact", login, transactional_id=f"{topic}-tx")),
            "foreign_authority": (TLS, self.works({**login, "ssl.ca.location": STRANGERS})),
            "wrong_password": (AUTHENTICATION, self.works({**login, "sasl.password": "not-" + self.user(stage)})),
            "other_topic_written": (AUTHORIZATION, self._asked("produce", login, topic=other)),
            "other_topic_read": (AUTHORIZATION, self._asked("consume", login, topic=other)),
            "other_group": (AUTHORIZATION, self._asked("consume", login, group=f"{other}-group")),
            "other_transactional_id": (AUTHORIZATION, self._asked("transact", login, transactional_id=f"{other}-tx")),
            "creates_a_topic": (AUTHORIZATION, self._asked("create_topic", login, topic=f"{self.here}-its-own")),
            "is_no_admin": (AUTHORIZATION, self._asked("broker_settings", login)),
        }

    def _asked(self, action: str, login: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        topic = f"{self.here}-{WORK}"
        return {"action": action, "login": dict(login), "topic": topic, "group": f"{topic}-group", **more}
