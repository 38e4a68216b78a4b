"""A vhost that the user may not see: told apart from one that is gone, on every version."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.clients.rabbitmq.failures import Failure, RequestError, judge
from exporter.clients.rabbitmq.questions import may_not_see

EXCHANGES = "exchanges/shop?columns=name"
BEFORE_4_3 = 401, b'{"error":"not_authorised","reason":"User not authorised to access virtual host"}'
FROM_4_3 = 404, b'{"error":"not_found","reason":"Not Found"}'
GONE = 404, b'{"error":"Object Not Found","reason":"Not Found"}'


class Answers:
    """A management API with these vhosts, that answers so for the exchanges of `shop`."""

    def __init__(self, vhosts: list[str], status: int, body: bytes) -> None:
        self.vhosts, self.status, self.body = vhosts, status, body

    def get(self, path: str, _: float = 0) -> Any:
        if path == "vhosts?columns=name":
            return [{"name": name} for name in self.vhosts]
        assert EXCHANGES == path
        failure = judge(self.status, self.body, "http://127.0.0.1:15672", path)
        if isinstance(failure, Failure):
            raise RequestError(failure)
        return [{"name": "amq.direct"}]


@pytest.mark.parametrize(
    ("hidden", "vhosts", "answer"),
    [
        (True, ["/", "shop"], BEFORE_4_3),
        (True, ["/", "shop"], FROM_4_3),
        (False, ["/"], FROM_4_3),
        (False, ["/"], GONE),
        (False, ["/", "shop"], (200, b"")),
    ],
)
def test_a_vhost_is_hidden_or_gone(hidden: bool, vhosts: list[str], answer: tuple[int, bytes]) -> None:
    assert hidden is may_not_see(Answers(vhosts, *answer), "shop")  # type: ignore[arg-type]
