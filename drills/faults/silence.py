"""An Alertmanager silence on the scope of a run: alerts whose vhost, topic, group or queue is the run's own."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, ClassVar

import requests

from drills.faults.change import Change
from drills.targets.target import Target, TargetError

SECONDS = 10.0  # for one answer
LONGEST = datetime.timedelta(hours=4)  # a silence ends by itself, whatever becomes of the run
SCOPES = ("vhost", "topic", "group")


@dataclass(frozen=True)
class Silence(Change):
    """One silence for each label by which an alert can belong to the run. `namespace`: how its names begin."""

    is_fault: ClassVar[bool] = False

    url: str
    run: str
    namespace: str

    def make(self, target: Target) -> None:  # noqa: ARG002 - Alertmanager's address is a field
        """Silences from now on."""
        now = datetime.datetime.now(datetime.UTC)
        for label in SCOPES:
            matcher = {"name": label, "value": f"{self.namespace}.*", "isRegex": True, "isEqual": True}
            body = {"matchers": [matcher], "startsAt": now.isoformat(), "endsAt": (now + LONGEST).isoformat()}
            self._ask("POST", "silences", {**body, "createdBy": "mq-drill", "comment": self._comment})

    def bite(self, target: Target) -> dict[str, Any] | None:  # noqa: ARG002
        """Alertmanager lists them as active."""
        mine = self._standing()
        return {"silences": mine} if len(mine) == len(SCOPES) else None

    def undo(self, target: Target) -> None:  # noqa: ARG002
        """Expires those of this run."""
        for silence in self._standing():
            self._ask("DELETE", f"silence/{silence}")

    def undone(self, target: Target) -> str | None:  # noqa: ARG002
        """None of this run is active."""
        mine = self._standing()
        return f"silences {', '.join(mine)} still stand" if mine else None

    def says(self) -> str:
        """Silence."""
        return f"silence alerts about {self.namespace}"

    def undo_says(self) -> str:
        """Lift it."""
        return f"lift the silences about {self.namespace}"

    @property
    def _comment(self) -> str:
        return f"mq-drill run {self.run}"

    def _standing(self) -> list[str]:
        found = self._ask("GET", "silences").json()
        mine = [one for one in found if one["comment"] == self._comment and one["status"]["state"] != "expired"]
        return sorted(one["id"] for one in mine)

    def _ask(self, method: str, path: str, body: object = None) -> requests.Response:
        try:
            with requests.Session() as session:
                session.trust_env = False
                answer = session.request(method, f"{self.url}/api/v2/{path}", json=body, timeout=SECONDS)
                answer.raise_for_status()
                return answer
        except requests.RequestException as error:
            raise TargetError(f"Alertmanager at {self.url} did not take {method} {path}: {error}") from error
