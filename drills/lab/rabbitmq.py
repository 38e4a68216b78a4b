"""RabbitMQ in a lab: a cluster of three nodes with an epmd of its own."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from ssl import SSLContext
from typing import Any

from drills.lab import locks, probes, processes, rabbitmq_config, rabbitmq_security, tmpfs, versions
from drills.lab.errors import LabError
from drills.lab.keys import ADMIN, MONITOR, Keys, keys_of, write_secret
from drills.lab.node import END, START, Node, Site
from drills.lab.ports import taken
from drills.lab.processes import Process, spawn
from drills.lab.rabbitmq_config import NODES, erlang_name
from drills.lab.record import write_whole
from drills.lab.waiting import wait_for

GUEST = "guest"  # RabbitMQ's own user and password, which it accepts on loopback only
CLI = 60.0  # seconds for one command
PEERS_HAVE_NOTED = "rpc:multicall(nodes(), sys, get_state, [rabbit_node_monitor, 20000], 25000), ok."
"""Returns when each peer's monitor has handled all that came before, the end of this node's last life included."""
# known and running members as `a,b,c|a,b`; 4.x may have no Mnesia, and before 3.13 there was nothing else
MEMBERS = """
{Known, Running} = case erlang:function_exported(rabbit_nodes, list_members, 0) of
  true -> Ms = rabbit_nodes:list_members(), {Ms, [N || N <- Ms, lists:member(N, [node() | nodes()])]};
  false -> {mnesia:system_info(db_nodes), mnesia:system_info(running_db_nodes)} end,
lists:flatten(io_lib:format('~s|~s', [string:join([atom_to_list(N) || N <- Ns], ",") || Ns <- [Known, Running]])).
"""


class RabbitNode(Node):
    """One node of the cluster."""

    system = "rabbitmq"
    program = "beam.smp"
    patience = 150.0  # on a busy machine it forms its cluster slowly, and should not be killed while it does

    @cached_property
    def keys(self) -> Keys | None:
        """The lab's secrets; None when it has none."""
        return keys_of(self.site)

    @cached_property
    def tls(self) -> SSLContext | None:
        """TLS for looking at it; None where it speaks plain text."""
        return self.keys.context() if self.keys else None

    @property
    def erlang_name(self) -> str:
        """Its name inside RabbitMQ."""
        return erlang_name(self.number)

    @property
    def listens(self) -> dict[str, int]:
        """AMQP, management, Prometheus, stream, Erlang distribution."""
        ports, n = self.site.ports, self.number
        return {
            "amqp": ports.amqp(n),
            "management": ports.management(n),
            "metrics": ports.rabbitmq_metrics(n),
            "stream": ports.stream(n),
            "distribution": ports.distribution(n),
        }

    def logs(self) -> list[Path]:
        """RabbitMQ's own log, then what it printed."""
        return [self._own_log, self.log]

    def answers(self) -> bool:
        """The AMQP greeting. That listener opens last, so a greeting means booted."""
        return probes.amqp_answers(self.site.ports.amqp(self.number), self.tls)

    def lack(self) -> str | None:
        """It serves when it greets, is one of three members, and sees every other running member that greets."""
        if not self.answers():
            return "does not answer yet"
        members = self.members()
        if len(members) != len(NODES):
            return f"is in a cluster of {len(members)}"
        others = [peer for peer in self.peers if isinstance(peer, RabbitNode) and peer.running() and peer.answers()]
        unseen = [peer.name for peer in others if not members.get(peer.erlang_name)]
        return f"does not see {', '.join(unseen)} running" if unseen else None

    def start(self, seconds: float = START) -> None:
        """Also sees that its listeners are known when its peers have noted its end; it is restarted once when not.

        On 3.x a peer that takes note late of the end of the node before deletes what the new one has registered: seen
        on a loaded machine. The list is not mended by itself.
        """
        super().start(seconds)
        frozen = any(peer.condition() == "frozen" for peer in self.peers)
        if frozen or not self.site.record.settings.rabbitmq_version.startswith("3."):
            return
        self.evaluate(PEERS_HAVE_NOTED)
        if (lost := self._missing()) is not None:
            self.report.say(f"{self.name} is restarted: {lost}")
            self.stop()
            super().start(seconds)

    def _missing(self) -> str | None:
        """Which of the web listeners the cluster's list has not; None when it has all, or can't be asked."""
        found = self._api("/api/overview?columns=listeners")
        if not found or "listeners" not in found:
            return None
        known = {(one["node"], one["port"]) for one in found["listeners"]}
        lost = [name for name in ("management", "metrics") if (self.erlang_name, self.listens[name]) not in known]
        return f"the cluster does not know its listeners for {', '.join(lost)}" if lost else None

    def _api(self, path: str) -> Any:
        """The JSON of the node's own management API; None when it gives none."""
        user = f"{ADMIN}:{self.keys.password('rabbitmq', ADMIN)}" if self.keys else f"{GUEST}:{GUEST}"
        return probes.http_json(self.site.ports.management(self.number), path, user=user, tls=self.tls)

    def thaw_lack(self) -> str | None:
        """It greets. After a long freeze its peers may stay partitioned from it; that is theirs to show."""
        return None if self.answers() else "does not answer yet"

    def members(self) -> dict[str, bool]:
        """Members of its cluster in its own eyes -> whether they run. Empty when it can't say.

        Asked from the node's own database when the HTTP API hangs, as it does while a peer is frozen.
        """
        found = self._api("/api/nodes?columns=name,running")
        if found is not None:
            return {node["name"]: node["running"] for node in found}
        if not any(peer.condition() == "frozen" for peer in self.peers):
            return {}
        answer = self.evaluate(MEMBERS)
        known, _, running = answer.strip('"').partition("|")
        return {name: name in running.split(",") for name in known.split(",") if name}

    def prepare(self) -> None:
        """Writes the configuration, mounts the tmpfs that was asked for, and makes sure of the port mapper."""
        record = self.site.record
        for folder in (self.folder / "data", self.folder / "generated", self._own_log.parent):
            folder.mkdir(parents=True, exist_ok=True)
        if self.name in record.tmpfs:
            tmpfs.mount(self.folder / "data", record.tmpfs[self.name])
        text = rabbitmq_config.configuration(self.site.ports, self.number, record.settings, self.keys)
        first = self.folder / "definitions.json"
        if self.keys and not formed(self.site).exists():
            write_secret(first, rabbitmq_security.definitions(self.keys))
            text += f"load_definitions = {first}\n"
        else:
            first.unlink(missing_ok=True)  # a later start would undo what was changed since
        write_whole(self.folder / "rabbitmq.conf", text)
        write_whole(self.folder / "advanced.config", rabbitmq_config.advanced(record.settings))
        plugins = self.folder / "enabled_plugins"
        if not plugins.exists():
            write_whole(plugins, f"[{','.join(rabbitmq_config.PLUGINS)}].\n")
        ensure_epmd(self.site)

    def spawn(self) -> Process:
        """Starts the Erlang VM."""
        node = rabbitmq_config.node_environment(self.site.ports, self.number, self.folder, self._own_log)
        environment = self.site.environment(self.name, {**cli_environment(self.site), **node})
        return spawn(tool(self.site, "rabbitmq-server"), environment=environment, cwd=self.folder, log=self.log)

    def ctl(self, *arguments: str, program: str = "rabbitmqctl") -> str:
        """What `rabbitmqctl -n NODE ARGUMENTS` prints. Raises LabError with its message when it fails."""
        command = [*tool(self.site, program), "-q", "-n", self.erlang_name, *arguments]
        environment = self.site.environment("cli", cli_environment(self.site))
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=CLI, check=False)
        except subprocess.TimeoutExpired:
            raise LabError(
                f"{program} {' '.join(arguments)} on {self.name} did not end within {CLI:.0f} s; is the node frozen?"
            ) from None
        if done.returncode != 0:
            raise LabError(
                f"{program} {' '.join(arguments)} on {self.name} failed ({done.returncode}): "
                f"{(done.stderr or done.stdout).strip()}"
            )
        return done.stdout.strip()

    def evaluate(self, expression: str) -> str:
        """What an Erlang expression gives on the node, as printed."""
        return self.ctl("eval", expression)

    def disk_limit(self) -> int:
        """The free-disk limit in force on the node, in bytes (the configuration keeps showing the first one)."""
        return int(self.evaluate("rabbit_disk_monitor:get_disk_free_limit()."))

    def set_disk_limit(self, limit: int) -> None:
        """Sets the free-disk limit (bytes); above what is free it raises the alarm. Returns when the node says so."""
        now = self.evaluate(
            f"ok = rabbit_disk_monitor:set_disk_free_limit({limit}), rabbit_disk_monitor:get_disk_free_limit()."
        )
        if now != str(limit):
            raise LabError(f"{self.name}: the disk limit is {now} after it was set to {limit}")

    def restore_disk_limit(self) -> None:
        """Sets the free-disk limit back to what the lab began with."""
        self.set_disk_limit(rabbitmq_config.DISK_LIMIT)

    @property
    def _own_log(self) -> Path:
        return self.site.folder / "logs" / self.name / "rabbit.log"


@dataclass(frozen=True)
class RabbitMQ:
    """Addresses of the RabbitMQ cluster of a lab, and how to log in; all lists are in the order of the nodes."""

    site: Site

    @property
    def keys(self) -> Keys | None:
        """Secrets of a secure lab; None for another."""
        return keys_of(self.site)

    @property
    def tls(self) -> SSLContext | None:
        """TLS for clients; None where nodes speak plain text."""
        return self.keys.context() if self.keys else None

    @property
    def user(self) -> str:
        """A user who may do everything."""
        return ADMIN if self.keys else GUEST

    @property
    def password(self) -> str:
        """The password of that user."""
        return self.keys.password("rabbitmq", ADMIN) if self.keys else GUEST

    @property
    def urls(self) -> list[str]:
        """The management API of each node, with user and password."""
        return [self._with_login(url) for url in self.plain_urls]

    @property
    def plain_urls(self) -> list[str]:
        """The management API of each node, without user and password."""
        return [f"{self._scheme('http')}://127.0.0.1:{self.site.ports.management(n)}" for n in NODES]

    @property
    def amqp(self) -> list[str]:
        """AMQP URLs (virtual host `/`), with user and password."""
        return [self._with_login(url) for url in self._plain_amqp]

    @property
    def _plain_amqp(self) -> list[str]:
        return [f"{self._scheme('amqp')}://127.0.0.1:{self.site.ports.amqp(n)}/%2F" for n in NODES]

    @property
    def metrics(self) -> list[str]:
        """Each node's own Prometheus endpoint, without a path."""
        return [f"{self._scheme('http')}://127.0.0.1:{self.site.ports.rabbitmq_metrics(n)}" for n in NODES]

    @property
    def streams(self) -> list[str]:
        """HOST:PORT of the stream listeners."""
        return [f"127.0.0.1:{self.site.ports.stream(n)}" for n in NODES]

    @property
    def names(self) -> list[str]:
        """The nodes' names inside RabbitMQ."""
        return [erlang_name(n) for n in NODES]

    @property
    def cli_environment(self) -> dict[str, str]:
        """The environment for RabbitMQ's command line tools (see `cli`), with the lab's marks."""
        return self.site.environment("cli", cli_environment(self.site))

    @property
    def cli(self) -> list[str]:
        """The command that runs `rabbitmqctl` on the first node; it needs `cli_environment`."""
        return [*tool(self.site, "rabbitmqctl"), "-n", erlang_name(1)]

    def watched(self, user: str = MONITOR) -> dict[str, Any]:
        """What mq-exporter's configuration needs to know of the cluster: addresses, and the login of its user."""
        if self.keys is None:
            return {"urls": self.plain_urls}
        password = {"file": str(self.keys.password_file("rabbitmq", user))}
        return {"urls": self.plain_urls, "username": user, "password": password, "ca_file": str(self.keys.ca)}

    def addresses(self) -> dict[str, Any]:
        """What `mq-drill lab env` shows: passwords only where they are no secret."""
        lists = {"metrics": self.metrics, "streams": self.streams, "nodes": self.names}
        found = {**lists, "cli": self.cli, "cli_environment": self.cli_environment}
        if self.keys is None:
            return {"urls": self.urls, "amqp": self.amqp, **found}
        files = {f"{user}_password_file": str(self.keys.password_file("rabbitmq", user)) for user in (ADMIN, MONITOR)}
        users = {"ca": str(self.keys.ca), "admin_user": ADMIN, "monitor_user": MONITOR, **files}
        return {"urls": self.plain_urls, "amqp": self._plain_amqp, **found, **users}

    def _scheme(self, plain: str) -> str:
        return f"{plain}s" if self.keys else plain

    def _with_login(self, url: str) -> str:
        scheme, _, rest = url.partition("://")
        return f"{scheme}://{self.user}:{self.password}@{rest}"


def nodes(site: Site) -> list[Node]:
    """The three nodes."""
    return [RabbitNode(site, f"rabbitmq-{number}", number) for number in NODES]


def tool(site: Site, program: str) -> list[str]:
    """The command that runs a program of RabbitMQ, of the lab's version."""
    programs = versions.located("rabbitmq", site.record.settings.rabbitmq_version)
    return programs.command(str(versions.OWN_RABBITMQ / "bin" / program))


def cli_environment(site: Site) -> dict[str, str]:
    """Environment for nodes and tools, with the shared home (made when missing) that holds the cookie."""
    home = site.folder / "rabbitmq-home"
    cookie = home / ".erlang.cookie"
    if not cookie.exists():
        home.mkdir(parents=True, exist_ok=True)
        write_whole(home / "rabbitmq-env.conf", "")
        write_whole(cookie, secrets.token_hex(15))
        cookie.chmod(0o400)
    return rabbitmq_config.cli_environment(site.ports, home)


def ensure_epmd(site: Site) -> None:
    """Starts this lab's Erlang port mapper unless it runs; running nodes register again by themselves."""
    with locks.hold(site.folder / "processes" / "epmd.lock", "start epmd"):
        if epmd(site):
            return
        if taken(site.ports.epmd):
            raise LabError(
                f"port {site.ports.epmd} (epmd) is used by something else: end that, or take the lab down and up again"
            )
        programs = versions.located("rabbitmq", site.record.settings.rabbitmq_version)
        command = [*programs.command("epmd"), "-port", str(site.ports.epmd), "-address", "127.0.0.1"]
        environment = site.environment("epmd", cli_environment(site))
        spawn(command, environment=environment, cwd=site.folder, log=site.folder / "logs" / "epmd.log")
        wait_for("epmd listens", lambda: None if taken(site.ports.epmd) else "port closed", END)


def epmd(site: Site) -> list[Process]:
    """The port mappers that this lab started, a tool's left-over included."""
    return [found.process for found in processes.marked(site.folder) if found.command == "epmd"]


def formed(site: Site) -> Path:
    """A file that exists once the three nodes have been one cluster."""
    return site.folder / "rabbitmq-formed"


def broken(site: Site) -> str | None:
    """Why the data of the three nodes can't become, or be again, one cluster; None when it can."""
    begun = [node for node in nodes(site) if node.folder.exists()]
    if begun and not formed(site).exists():
        return "RabbitMQ had not formed its cluster when it was left"
    lost = [n.name for n in begun if n.name in site.record.tmpfs and not tmpfs.mounted(n.folder / "data")]
    return f"the tmpfs of {', '.join(lost)} is gone (was the machine started again?)" if lost else None


def clear(site: Site) -> None:
    """Ends the three nodes and throws away their data."""
    formed(site).unlink(missing_ok=True)
    for node in nodes(site):
        node.kill()
        tmpfs.unmount_under(node.folder)
        shutil.rmtree(node.folder, ignore_errors=True)
