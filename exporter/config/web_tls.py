"""Versions, cipher suites and curves of TLS: Go's names, which the web configuration uses, and OpenSSL's."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator

VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
CURVES = {"CurveP256": "prime256v1", "CurveP384": "secp384r1", "CurveP521": "secp521r1", "X25519": "X25519"}
CIPHERS = {
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
}
"""Source: crypto/tls of Go, cipher_suites.go; without RC4, 3DES and CBC with SHA-256, which are broken."""
OF_TLS13 = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})


def check_cipher(value: str) -> str:
    """A suite of TLS 1.2 that is not broken. Raises ValueError."""
    if value in OF_TLS13:
        raise ValueError("is of TLS 1.3, whose cipher suites can't be chosen (nor can they in Go); delete it")
    if value not in CIPHERS:
        raise ValueError(f"{value!r} is none of {', '.join(CIPHERS)}")
    return value


def check_curve(value: str) -> str:
    """A curve by Go's name. Raises ValueError."""
    if value not in CURVES:
        raise ValueError(f"{value!r} is none of {', '.join(CURVES)}")
    return value


Cipher = Annotated[str, AfterValidator(check_cipher)]
Curve = Annotated[str, AfterValidator(check_curve)]


def apply(context: ssl.SSLContext, lowest: str, highest: str, ciphers: Sequence[str], ours_first: bool) -> None:
    """Set versions and cipher suites, and who chooses among them."""
    context.minimum_version, context.maximum_version = VERSIONS[lowest], VERSIONS[highest]
    if ciphers:
        context.set_ciphers(":".join(CIPHERS[name] for name in ciphers))
    if ours_first:
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    else:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE


def admits(connection: ssl.SSLSocket, names: Sequence[str]) -> bool:
    """Whether the client's certificate has one of these subject alternative names; any does where none is given."""
    if not names:
        return True
    certificate: dict[str, Any] = dict(connection.getpeercert() or {})
    return any(name in names for _, name in certificate.get("subjectAltName", ()))
