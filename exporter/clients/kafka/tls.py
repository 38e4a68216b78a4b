"""TLS to a broker, and what its errors mean. Files are read at each connection, so that renewed ones count."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from exporter.clients.kafka.failures import Failure, UnusableError
from exporter.clients.kafka.properties import Value, truth
from exporter.model.common import Kind

EXPIRED, NOT_YET_VALID, HOSTNAME, IP_ADDRESS = 10, 9, 62, 64  # X509_V_ERR_*
PLAINTEXT_REASONS = frozenset(
    {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"}
)


def context(values: Mapping[str, Value]) -> ssl.SSLContext:
    """The TLS settings of these properties. Raises UnusableError, naming the file, when one can't be used."""
    verify = truth(values.get("ssl_verify", True), True)
    cafile = values.get("ssl_cafile")
    try:
        made = ssl.create_default_context(cafile=str(cafile) if cafile else None)
    except (OSError, ssl.SSLError) as error:
        raise _bad_file("ssl_cafile", cafile, error) from None
    made.check_hostname = verify and truth(values.get("ssl_check_hostname", True), True)
    if not verify:
        made.verify_mode = ssl.CERT_NONE
    if values.get("ssl_ciphers"):
        made.set_ciphers(str(values["ssl_ciphers"]))
    _load_revocations(made, values)
    _load_certificate(made, values)
    return made


def _load_revocations(made: ssl.SSLContext, values: Mapping[str, Value]) -> None:
    if "ssl_crlfile" not in values:
        return
    try:
        made.load_verify_locations(str(values["ssl_crlfile"]))
    except (OSError, ssl.SSLError) as error:
        raise _bad_file("ssl_crlfile", values["ssl_crlfile"], error) from None
    made.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF


def _load_certificate(made: ssl.SSLContext, values: Mapping[str, Value]) -> None:
    if "ssl_certfile" not in values:
        return
    key = values.get("ssl_keyfile")
    # an empty password rather than None: with None, OpenSSL would ask the terminal for the password of an encrypted key
    password = str(values.get("ssl_password", ""))
    try:
        made.load_cert_chain(str(values["ssl_certfile"]), str(key) if key else None, password)
    except (OSError, ssl.SSLError) as error:
        name = f"ssl_certfile {values['ssl_certfile']} with ssl_keyfile" if key else "ssl_certfile"
        raise _bad_file(name, key or values["ssl_certfile"], error) from None


def _bad_file(name: str, path: object, error: OSError) -> UnusableError:
    why = getattr(error, "reason", None) or error.strerror or "not usable"
    if "PEM lib" in why:  # all that Python says of a key that is not there, or encrypted
        why = "no certificate with its key, or a key whose password is another one"
    return UnusableError(Failure(Kind.TLS, f"{name} {path} can't be used: {why}; it must be PEM and readable"))


def failure(address: str, error: ssl.SSLError) -> Failure:
    """What a TLS error means for the person who set it up."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return Failure(Kind.TLS, f"{address}: {_verification(error)}")
    reason = error.reason or ""
    if reason in PLAINTEXT_REASONS:
        words = "does not speak TLS: use its TLS port, or security_protocol PLAINTEXT or SASL_PLAINTEXT"
    elif "CERTIFICATE_REQUIRED" in reason or reason in {"SSLV3_ALERT_BAD_CERTIFICATE", "TLSV1_ALERT_UNKNOWN_CA"}:
        words = f"refuses our client certificate ({reason}): set ssl_certfile and ssl_keyfile to one that it trusts"
    elif "CERTIFICATE_EXPIRED" in reason:
        words = "says that our client certificate has expired: renew the one that ssl_certfile names"
    elif isinstance(error, ssl.SSLEOFError) or "EOF" in reason:
        words = "closed the connection in the TLS handshake: is it a plaintext port? See security_protocol"
    else:
        words = f"TLS failed: {reason or error.strerror}: compare the broker's TLS versions and ciphers with ours"
    return Failure(Kind.TLS, f"{address}: {words}")


def _verification(error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code == EXPIRED:
        return "the broker's certificate has expired: renew it"
    if error.verify_code == NOT_YET_VALID:
        return "the broker's certificate is not valid yet: compare the clocks of both machines"
    if error.verify_code in {HOSTNAME, IP_ADDRESS}:
        what = error.verify_message.rstrip(".")
        return f"{what}: connect by a name that the certificate has, or set ssl_check_hostname to false"
    return f"the broker's certificate is not trusted ({error.verify_message}): is ssl_cafile the CA that signed it?"
