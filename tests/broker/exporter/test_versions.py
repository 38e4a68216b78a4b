"""The lab has the versions that were asked for, as the servers themselves tell."""

from __future__ import annotations

import re
from collections.abc import Callable

import requests

from drills.lab import Lab
from drills.lab.versions import matches
from tests import versions
from tests.broker.conftest import Management


def told(lab: Lab, management: Management) -> dict[str, str]:
    """Product -> version: RabbitMQ's and Prometheus' API, and what Kafka logs when it starts (no request gives it)."""
    build = requests.get(f"{lab.prometheus.url}/api/v1/status/buildinfo", timeout=60).json()["data"]["version"]
    logged = re.findall(r"Kafka version: (\S+)", lab.node("kafka-1").log.read_text(errors="replace"))
    return {"kafka": logged[-1], "rabbitmq": management.get("overview")["rabbitmq_version"], "prometheus": build}


def test_the_servers_are_of_the_versions_that_were_asked_for(
    monitored_lab: Lab, management: Management, record_testsuite_property: Callable[[str, object], None]
) -> None:
    asked = versions.of_this_run()
    found = told(monitored_lab, management)
    for product, version in found.items():
        record_testsuite_property(product, version)
    assert dict.fromkeys(found, True) == {
        product: matches(getattr(asked, f"{product}_version"), version) for product, version in found.items()
    }
