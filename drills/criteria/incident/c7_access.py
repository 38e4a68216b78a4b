"""Criterion 7: TLS, login and rights are three locks; the application has a key to each, and a rotation changes it."""

from __future__ import annotations

from drills.criteria.findings import Findings
from drills.model.seen import CaseSeen, Seen
from drills.model.verdict import Judgement

ALLOWED, TLS, AUTHENTICATION, AUTHORIZATION = "allowed", "tls", "authentication", "authorization"
BOTH = {
    "works": ALLOWED, "foreign_authority": TLS, "wrong_password": AUTHENTICATION, "is_no_admin": AUTHORIZATION,
    "new_password": ALLOWED, "old_password": AUTHENTICATION,
}  # fmt: skip
EXPECTED = {
    "access-rabbitmq": {
        **BOTH, "reads_its_queue": ALLOWED,
        **dict.fromkeys(("other_vhost", "other_queue", "other_exchange", "declares_a_queue"), AUTHORIZATION),
    },
    "access-kafka": {
        **BOTH, "reads_its_topic": ALLOWED, "its_transactional_id": ALLOWED,
        **dict.fromkeys(
            ("other_topic_written", "other_topic_read", "other_group", "other_transactional_id", "creates_a_topic"),
            AUTHORIZATION,
        ),
    },
}  # fmt: skip
"""Case -> probe -> how it has to be answered."""


def judge(seen: Seen) -> Judgement:
    """Told apart; no admin, one vhost and queue, one topic, group and transactional ID; the old password is out."""
    findings = Findings(seen, scaled=False)
    for name, probes in EXPECTED.items():
        case = findings.case(name)
        if case is None:
            continue
        lack = case.facts.get("offers", {}).get("lack")
        if lack is not None:
            findings.blocked(f"{name}: {lack}; a lab has both with `mq-drill lab up NAME --profile secure`")
            continue
        _account(findings, name, case)
        _probes(findings, name, case, probes)
    return findings.judgement(
        "TLS, login and rights held apart on both brokers; the account is no admin; only the new password works"
    )


def _account(findings: Findings, name: str, case: CaseSeen) -> None:
    found = case.facts.get("account")
    findings.note(**{f"{name}_account": found})
    if found is None:
        findings.unknown(f"{name}: the account's rights were not read")
        return
    if found["tags"]:
        findings.wrong(f"{name}: the application's account is {', '.join(found['tags'])}")
    beyond = [right for right in found["rights"] if right not in found["wanted"]]
    if beyond:
        findings.wrong(f"{name}: rights beyond what it needs: {'; '.join(' '.join(one) for one in beyond)}")
    if not found["rights"]:
        findings.unknown(f"{name}: the account was not seen to have any right")


def _probes(findings: Findings, name: str, case: CaseSeen, wanted: dict[str, str]) -> None:
    found = case.facts.get("probes", {})
    findings.note(**{name: found})
    for probe, outcome in wanted.items():
        told = found.get(probe, {}).get("outcome")
        if told is None:
            findings.unknown(f"{name}: {probe} was not tried")
        elif told == "unclear":
            findings.unknown(f"{name}: {probe}: the answer says nothing: {found[probe]['said'][:200]}")
        elif told != outcome:
            findings.wrong(f"{name}: {probe} was answered with {told}, not {outcome}")
