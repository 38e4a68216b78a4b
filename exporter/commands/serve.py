"""`mq-exporter`: polls and serves until it is told to stop."""

from __future__ import annotations

import argparse
import logging
import os
import queue
import signal
import sys
import threading
from types import FrameType

from exporter import VERSION
from exporter.arenas import keep_little
from exporter.cli import FAILED, OK, USAGE, fail
from exporter.commands.configured import loader, readers
from exporter.config.mistakes import ConfigError
from exporter.http_guard import Guard, WebSecurity
from exporter.http_site import Site
from exporter.log import StateLog, setup
from exporter.poll import Poller
from exporter.reload import Reloader
from exporter.server import CannotListenError, Server
from exporter.status.units import counted

log = logging.getLogger(__name__)
LOOK = 1.0  # seconds between two looks at whether the data is still fresh
SWITCH = 0.001  # seconds (Python: 0.005) that a poll may compute on while a scrape waits for the interpreter
PATIENCE = 1.5  # seconds for running polls to end; a hanging request must not keep us from stopping


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT. 1 when the address cannot be listened on, 2 when the configuration is wrong."""
    keep_little()
    load = loader(arguments)
    states = StateLog()
    try:
        config = load()
        security = WebSecurity(config.web.config_file) if config.web.config_file is not None else None
        setup(config.log.level, config.log.format)
        poller = Poller(config, readers, states.observe)
    except (ConfigError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return USAGE
    reloader = Reloader(poller, load if arguments.config is not None else None, states)
    try:
        server = listen(config.web.listen_address, Site(poller, reloader), security)
    except CannotListenError as error:
        return fail(str(error), FAILED)
    signals = catch_signals()
    sys.setswitchinterval(SWITCH)
    poller.start()
    server.start()
    clusters = counted(len(poller.clusters), "cluster")
    log.info("mq-exporter %s watches %s and serves on %s", VERSION, clusters, server.url)
    wait(signals, poller, reloader, states)
    server.stop()
    if not stopped(poller):
        log.warning("a poll is still waiting for a broker; leaving without it")
        logging.shutdown()
        os._exit(OK)  # its thread would keep the interpreter until the request's deadline
    log.info("stopped")
    return OK


def listen(address: str, site: Site, security: WebSecurity | None) -> Server:
    """The server, behind TLS and basic authentication where they are configured. Raises CannotListenError."""
    if security is None:
        return Server(address, site)
    guard = Guard(site, security)
    return Server(address, guard, tls=lambda: security.current().context, welcomes=security.welcomes)


def catch_signals() -> queue.SimpleQueue[int]:
    """SIGTERM, SIGINT and SIGHUP as they come. A SimpleQueue may be filled by a handler that interrupts its reader."""
    caught: queue.SimpleQueue[int] = queue.SimpleQueue()

    def handle(number: int, _: FrameType | None) -> None:
        caught.put(number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, handle)
    return caught


def wait(signals: queue.SimpleQueue[int], poller: Poller, reloader: Reloader, states: StateLog) -> None:
    """Reload on SIGHUP and watch the data's freshness; returns when it is time to stop."""
    while True:
        try:
            number = signals.get(timeout=LOOK)
        except queue.Empty:
            fresh = poller.snapshots().keys()
            states.observe_freshness({name: name in fresh for name in poller.clusters})
            continue
        if number != signal.SIGHUP:
            log.info("%s: stopping", signal.Signals(number).name)
            return
        reloader.reload()


def stopped(poller: Poller) -> bool:
    """Stop polling; False when a poll did not end in time."""
    ending = threading.Thread(target=poller.stop, daemon=True)
    ending.start()
    ending.join(PATIENCE)
    return not ending.is_alive()
