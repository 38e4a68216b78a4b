"""Starts, checks and stops the demo."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from drills.demo import drill
from drills.demo.ledger import Ledger
from drills.demo.questions import alarm_row, health_rows, kafka_rows, rabbitmq_rows
from drills.demo.table import Answer, Row, ask, layout
from drills.lab import Lab, LabError, Report, lab_names, report_to, take_down
from drills.lab.probes import http_get
from drills.lab.processes import Process, spawn, tail
from drills.lab.waiting import wait_for

INTERVAL = 2.0  # seconds between two polls, and between two scrapes
DELAY = 3 * INTERVAL  # how old a value may be when it is read: a poll, a scrape and what they take
PATIENCE = 60.0
ALARMED = "rabbitmq-2"


def stop(name: str) -> int:
    """End the demo's lab with all that belongs to it."""
    take_down(name, report_to())
    return 0


def start(name: str, *, with_drill: bool = False) -> int:
    """Bring everything up, let the workload work, compare; then drill, where that is wanted.

    0: every value agrees and the drill passes; 1: one does not, or it fails or proves nothing; 2: the demo can't run.
    """
    report = report_to()
    try:
        if name in lab_names():
            report.say(f"an earlier {name} is still there: clearing it")
            take_down(name)
        lab = Lab.up(name, report=report)
        exporter = start_exporter(lab, report)
        ledger = start_workload(lab, report)
        answers = compare(lab, ledger, report)
    except LabError as error:
        print(f"\nThe demo can't run: {error}", file=sys.stderr)
        return 2
    print(f"\n{layout(answers)}\n")
    code = drill.play(lab, report) if with_drill else 0
    print(where_to_look(lab, exporter, with_drill))
    wrong = [answer for answer in answers if not answer.agrees]
    if wrong:
        print(f"\n{len(wrong)} of {len(answers)} values are not what was put in.", file=sys.stderr)
    if code:
        print(f"\nThe drill did not pass (exit code {code}): its last lines say why.", file=sys.stderr)
    return 1 if wrong or code else 0


def start_exporter(lab: Lab, report: Report) -> int:
    """Start `mq-exporter` on the lab and Prometheus on it; its port."""
    port = lab.ports.spare[0]
    config = lab.folder / "exporter.yml"
    config.write_text(json.dumps(exporter_config(lab, port), indent=1))  # JSON is YAML
    command = [sys.executable, "-m", "exporter", "--config", str(config)]
    process = start_process(lab, "exporter", command)
    await_it(
        f"mq-exporter on port {port}",
        lambda: http_get(port, "/-/ready")[0] == 200,
        process,
        log_of(lab, "exporter"),
        report,
    )
    lab.prometheus.scrape("mq-exporter", [f"127.0.0.1:{port}"], f"{INTERVAL:.0f}s")
    return port


def exporter_config(lab: Lab, port: int) -> dict[str, object]:
    """The exporter's configuration: both clusters, and RabbitMQ's command line for exact ages of quorum queues."""
    paces = {"interval": INTERVAL, "slow_interval": 3 * INTERVAL}
    rabbitmq = {
        "cluster": "demo-rabbitmq",
        "urls": [f"http://127.0.0.1:{lab.ports.management(node)}" for node in (1, 2, 3)],
        "cli": lab.rabbitmq.cli,
        "cli_env": lab.rabbitmq.cli_environment,
        "expected_nodes": 3,
    }
    kafka = {"cluster": "demo-kafka", "bootstrap_servers": lab.kafka.bootstrap.split(","), "expected_brokers": 3}
    return {
        "web": {"listen_address": f"127.0.0.1:{port}", "enable_lifecycle": True},
        "kafka": [kafka | paces],
        "rabbitmq": [rabbitmq | paces],
    }


def start_workload(lab: Lab, report: Report) -> Ledger:
    """Start the workload; its ledger, once all its work is confirmed."""
    book = lab.folder / "ledger.json"
    ports = ",".join(str(lab.ports.amqp(node)) for node in (1, 2, 3))
    arguments = [lab.kafka.bootstrap, "127.0.0.1", ports, str(book)]
    command = [sys.executable, "-m", "drills.demo.workload", *arguments]
    process = start_process(lab, "workload", command)
    await_it("the workload's ledger", book.exists, process, log_of(lab, "workload"), report)
    return Ledger.load(book)


def start_process(lab: Lab, name: str, command: Sequence[str]) -> Process:
    """Start a process that belongs to the lab and ends with it."""
    root = Path(__file__).parents[2]
    return spawn(command, environment=lab.site.environment(name), cwd=root, log=log_of(lab, name))


def log_of(lab: Lab, name: str) -> Path:
    """Where a process of the demo writes what it has to say."""
    return lab.folder / "logs" / f"{name}.log"


def await_it(what: str, there: Callable[[], bool], process: Process, log: Path, report: Report) -> None:
    """Wait until it is there. Raises LabError with the end of the log when its process ends or the time is up."""

    def lack() -> str | None:
        if not process.alive():
            raise LabError(f"{what}: its process ended.\n--- end of {log}\n{tail(log, 20)}")
        return None if there() else "not yet"

    wait_for(what, lack, PATIENCE)
    report.say(f"{what} is there")


def compare(lab: Lab, ledger: Ledger, report: Report) -> list[Answer]:
    """Ask until every value agrees or the time is up; then raise a disk alarm and lift it."""
    rows = [*kafka_rows(ledger, DELAY), *rabbitmq_rows(ledger, DELAY), *health_rows()]
    answers = ask_until_right(lab, rows, report)
    node = lab.rabbit_node(ALARMED)
    try:
        node.set_disk_limit(1 << 60)  # far more than any disk has free
        report.say(f"{ALARMED}: free-disk limit raised above what is free")
        answers += ask_until_right(lab, [alarm_row(node.erlang_name, raised=True)], report)
    finally:
        node.restore_disk_limit()
    report.say(f"{ALARMED}: free-disk limit restored")
    return answers + ask_until_right(lab, [alarm_row(node.erlang_name, raised=False)], report)


def ask_until_right(lab: Lab, rows: list[Row], report: Report) -> list[Answer]:
    """The answers: all right, or what was last seen when the time was up."""
    answers: list[Answer] = []
    deadline = time.monotonic() + PATIENCE

    def lack() -> str | None:
        answers[:] = [ask(lab.prometheus, row) for row in rows]
        wrong = [answer.row.title for answer in answers if not answer.agrees]
        return ", ".join(wrong) if wrong and time.monotonic() < deadline else None

    wait_for("Prometheus to know", lack, PATIENCE + 10)
    report.say(f"asked Prometheus {len(rows)} questions")
    return answers


def where_to_look(lab: Lab, exporter: int, with_drill: bool) -> str:
    """Addresses, and how to stop."""
    evidence = f"drill         {lab.folder / drill.RUNS}/*/report.html\n" if with_drill else ""
    return (
        f"status page   http://127.0.0.1:{exporter}/\n"
        f"metrics       http://127.0.0.1:{exporter}/metrics\n"
        f"Prometheus    {lab.prometheus.url}/graph?g0.expr=mq_kafka_group_topic_lag_offsets&g0.tab=0\n"
        f"RabbitMQ      http://127.0.0.1:{lab.ports.management(1)}/  (guest, guest)\n"
        f"Kafka         {lab.kafka.bootstrap}\n"
        f"ledger        {lab.folder / 'ledger.json'}\n"
        f"{evidence}"
        f"stop it all   make demo-stop"
    )
