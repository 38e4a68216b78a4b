"""Prometheus' own API as a witness: values of expressions, and the state of alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import requests

from drills.witness.rabbitmq import TIMEOUT, WitnessError


class Prometheus:
    """One Prometheus server."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def values(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Labels and value of each series that an expression gives now; empty when it gives none."""
        data = self._get("/api/v1/query", {"query": expression})
        if data["resultType"] == "scalar":
            return [({}, float(data["result"][1]))]
        return [(row["metric"], float(row["value"][1])) for row in data["result"]]

    def alerts(self, name: str) -> list[str]:
        """The state of each instance of an alert (pending, firing); empty while it is inactive. Raises WitnessError."""
        return [alert["state"] for alert in self.instances(name)]

    def instances(self, name: str, **labels: str) -> list[Mapping[str, Any]]:
        """The instances of an alert, of the rules with these labels: `state`, `activeAt`, `labels`, `value`.

        Raises WitnessError when no rule is so: an alert that can't fire is not one that is silent.
        """
        rules: Sequence[Mapping[str, Any]] = [
            rule for group in self._get("/api/v1/rules", {"type": "alert"})["groups"] for rule in group["rules"]
        ]
        mine = [rule for rule in rules if rule["name"] == name and labels.items() <= rule["labels"].items()]
        if not mine:
            raise WitnessError(f"Prometheus at {self.url} has no alert {name}")
        return [alert for rule in mine for alert in rule["alerts"]]

    def _get(self, path: str, parameters: Mapping[str, str]) -> Any:
        try:
            with requests.Session() as session:
                session.trust_env = False
                answer = session.get(self.url + path, params=dict(parameters), timeout=TIMEOUT)
            answer.raise_for_status()
            return answer.json()["data"]
        except (requests.RequestException, ValueError, KeyError) as error:
            raise WitnessError(f"Prometheus at {self.url} did not answer {path}: {error}") from None
