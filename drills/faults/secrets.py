"""Passwords of accounts that a run makes: computed when they are needed, so that no record has to hold them."""

from __future__ import annotations

import hashlib
import hmac

from drills.targets.target import Target, TargetError

KEY = "sasl.password"


def password(target: Target, system: str, user: str, generation: int) -> str:
    """The password of an account that a run made; each rotation is the next generation.

    Only who has the administrator's password of the system can compute it. Raises TargetError where nobody logs in.
    """
    root = target.rabbitmq.password if system == "rabbitmq" else str(target.kafka.client.get(KEY, ""))
    if not root:
        raise TargetError(f"{target.name}: its {system} asks for no password: accounts mean nothing there")
    return hmac.new(root.encode(), f"{system}/{user}/{generation}".encode(), hashlib.sha256).hexdigest()
