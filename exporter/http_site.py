"""The paths of the exporter and what each answers. Nothing here touches a broker or waits for a poll."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from http import HTTPStatus

from exporter import snapshot_json
from exporter.http_negotiation import page_format, wants_gzip
from exporter.http_response import HTML, JSON, PAGE_HEADERS, Request, Response, text
from exporter.page import Format
from exporter.poll import Poller
from exporter.reload import Reloader
from exporter.status.page import render
from exporter.status.view import view

log = logging.getLogger(__name__)
ENDPOINTS = {
    "/": "status page for people",
    "/metrics": "metrics for Prometheus (text 0.0.4 or OpenMetrics 1.0.0)",
    "/api/v1/snapshot": "the same samples and problems as JSON",
    "/-/healthy": "200 while the process runs, whatever the brokers do",
    "/-/ready": "200 once every cluster has been polled, 503 with the reason before",
    "/-/reload": "POST: read the configuration anew (needs --web.enable-lifecycle)",
}
READ = ("GET", "HEAD")
Answer = Callable[[Request], Response]


class Site:
    """Answers requests from what the poller has published."""

    def __init__(self, poller: Poller, reloader: Reloader, clock: Callable[[], float] = time.time) -> None:
        self.poller = poller
        self.reloader = reloader
        self.clock = clock
        self.snapshot = snapshot_json.Cached(poller)
        self.routes: dict[str, tuple[tuple[str, ...], Answer]] = {
            "/": (READ, self.status),
            "/metrics": (READ, self.metrics),
            "/api/v1/snapshot": (READ, self.snapshot_json),
            "/-/healthy": (READ, self.healthy),
            "/-/ready": (READ, self.ready),
            "/-/reload": (("POST", "PUT"), self.reload),
        }

    def __call__(self, request: Request) -> Response:
        """The response; a fault of ours costs this one response."""
        if request.path not in self.routes:
            listing = "\n".join(f"  {path:<18} {what}" for path, what in ENDPOINTS.items())
            return text(f"404: there is nothing here. What there is:\n\n{listing}\n", HTTPStatus.NOT_FOUND)
        methods, answer = self.routes[request.path]
        if request.method not in methods:
            allowed = ", ".join(methods)
            return text(f"405: use {allowed} here\n", HTTPStatus.METHOD_NOT_ALLOWED, Allow=allowed)
        try:
            return answer(request)
        except Exception:  # whatever it is, the other endpoints go on
            log.exception("%s could not be answered; this is a fault of the exporter", request.path)
            return text("500: a fault of the exporter; its log says more\n", HTTPStatus.INTERNAL_SERVER_ERROR)

    def status(self, _: Request) -> Response:
        """The page for people."""
        body = render(view(self.poller, self.clock()))
        return Response([body.encode("utf-8", "replace")], content_type=HTML, headers=PAGE_HEADERS, compressible=True)

    def metrics(self, request: Request) -> Response:
        """The page for Prometheus, as chunks that are already rendered and compressed."""
        form = page_format(request.headers.get("accept", ""))
        compressed = wants_gzip(request.headers.get("accept-encoding", ""))
        headers = {"Vary": "Accept, Accept-Encoding"} | ({"Content-Encoding": "gzip"} if compressed else {})
        chunks = self.poller.page(form is Format.OPENMETRICS, compressed)
        return Response(chunks, content_type=form.value, headers=headers)

    def snapshot_json(self, _: Request) -> Response:
        """Samples and problems of all clusters."""
        headers = {"Cache-Control": "no-store"}
        return Response(self.snapshot.chunks(self.clock()), content_type=JSON, headers=headers, compressible=True)

    def healthy(self, _: Request) -> Response:
        """The process runs: it answers."""
        return text("healthy: the process runs\n")

    def ready(self, _: Request) -> Response:
        """Whether the page is complete."""
        if self.poller.ready():
            return text("ready: every cluster has been polled\n")
        waiting = ", ".join(name for name, cluster in self.poller.clusters.items() if cluster.published is None)
        return text(f"not ready: waiting for the first poll of {waiting}\n", HTTPStatus.SERVICE_UNAVAILABLE)

    def reload(self, _: Request) -> Response:
        """Take over the whole new configuration, or say why not."""
        if not self.poller.config.web.enable_lifecycle:
            why = "403: reloading over HTTP is off; start with --web.enable-lifecycle, or send SIGHUP to the process\n"
            return text(why, HTTPStatus.FORBIDDEN)
        outcome = self.reloader.reload()
        return text(outcome.text + "\n", HTTPStatus.OK if outcome.succeeded else HTTPStatus.INTERNAL_SERVER_ERROR)
