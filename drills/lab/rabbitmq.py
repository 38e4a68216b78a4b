"""RabbitMQ in a lab: a cluster of three nodes with an epmd of its own."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from drills.lab import locks, probes, processes, rabbitmq_config, tmpfs, versions
from drills.lab.errors import LabError
from drills.lab.node import END, Node, Site
from drills.lab.ports import taken
from drills.lab.processes import Process, spawn
from drills.lab.rabbitmq_config import NODES, erlang_name
from drills.lab.record import write_whole
from drills.lab.waiting import wait_for

USER = "guest:guest"
CLI = 60.0  # seconds for one command
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
        return probes.amqp_answers(self.site.ports.amqp(self.number))

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

    def thaw_lack(self) -> str | None:
        """It greets. After a long freeze its peers may stay partitioned from it; that is theirs to show."""
        return None if self.answers() else "does not answer yet"

    def members(self) -> dict[str, bool]:
        """Members of its cluster in its own eyes -> whether they run. Empty when it can't say.

        Asked from the node's own database when the HTTP API hangs, as it does while a peer is frozen.
        """
        port = self.site.ports.management(self.number)
        found = probes.http_json(port, "/api/nodes?columns=name,running", user=USER)
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
        text = rabbitmq_config.configuration(self.site.ports, self.number, record.settings)
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
    """Addresses of the RabbitMQ cluster of a lab; all lists are in the order of the nodes."""

    site: Site
    user: str = "guest"
    password: str = "guest"  # noqa: S105  RabbitMQ's own default, which it accepts on loopback only

    @property
    def urls(self) -> list[str]:
        """The management API of each node, with user and password."""
        return [f"http://{self.user}:{self.password}@127.0.0.1:{self.site.ports.management(n)}" for n in NODES]

    @property
    def amqp(self) -> list[str]:
        """AMQP URLs (virtual host `/`)."""
        return [f"amqp://{self.user}:{self.password}@127.0.0.1:{self.site.ports.amqp(n)}/%2F" for n in NODES]

    @property
    def metrics(self) -> list[str]:
        """Each node's own Prometheus endpoint, without a path."""
        return [f"http://127.0.0.1:{self.site.ports.rabbitmq_metrics(n)}" for n in NODES]

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
