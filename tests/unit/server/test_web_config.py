"""Every key of Prometheus' web configuration is honoured, or refused with a reason."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import bcrypt
import pytest
import yaml

from exporter import cli
from exporter.commands.configured import loader
from exporter.config.mistakes import ConfigError
from exporter.config.web import load_web
from exporter.http_guard import Guard, WebSecurity
from exporter.http_response import Request
from exporter.server import Server
from tests.pem import self_signed
from tests.unit.server.served import Answer, connect, poller_of, site_of, snapshot

HASH = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
SUITE, OTHER = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
AT = "tls_server_config"
MUTUAL = {"client_auth_type": "RequireAndVerifyClientCert", "client_ca_file": "client.pem"}

REFUSALS: list[tuple[str, object, str]] = [
    (f"{AT}.cert", "inline", "certificates are not read from this file; write it to a file of its own: `cert_file`"),
    (f"{AT}.key", "inline", "keys are not read from this file; write it to a file of its own: `key_file`"),
    (f"{AT}.client_ca", "inline", "certificates are not read from this file; write it to its own: `client_ca_file`"),
    (
        f"{AT}.client_auth_type",
        "RequireAnyClientCert",
        (
            "RequireAnyClientCert is not offered: certificates are always verified here; "
            "write VerifyClientCertIfGiven or RequireAndVerifyClientCert, with `client_ca_file`"
        ),
    ),
    (
        f"{AT}.client_auth_type",
        "RequestClientCert",
        (
            "RequestClientCert is not offered: certificates are always verified here; write VerifyClientCertIfGiven or "
            "RequireAndVerifyClientCert, with `client_ca_file`"
        ),
    ),
    (
        f"{AT}.client_auth_type",
        "Maybe",
        "expected NoClientCert, VerifyClientCertIfGiven, RequireAndVerifyClientCert, got 'Maybe'",
    ),
    (
        f"{AT}.client_allowed_sans",
        ["a"],
        "has no effect without `client_auth_type: RequireAndVerifyClientCert`",
    ),
    (f"{AT}.min_version", "TLS10", "expected 'TLS12' or 'TLS13', got 'TLS10'; did you mean 'TLS13'?"),
    (f"{AT}.max_version", "TLS11", "expected 'TLS12' or 'TLS13', got 'TLS11'; did you mean 'TLS13'?"),
    (
        f"{AT}.cipher_suites[0]",
        ["TLS_AES_128_GCM_SHA256"],
        "is of TLS 1.3, whose cipher suites can't be chosen (nor can they in Go); delete it",
    ),
    (
        f"{AT}.curve_preferences",
        ["X25519", "CurveP256"],
        "Python's TLS takes one curve and no order of several; write the one that must be used, or delete it",
    ),
    (
        f"{AT}.curve_preferences[0]",
        ["P-256"],
        "'P-256' is none of CurveP256, CurveP384, CurveP521, X25519",
    ),
    (
        "http_server_config.http2",
        True,
        "HTTP/2 is not spoken here, and Prometheus does not need it; delete it, or write false",
    ),
    (
        "http_server_config.headers.X-Frame-Options",
        "allow",
        "expected 'deny' or 'sameorigin', got 'allow'",
    ),
    (
        "http_server_config.headers.X-XSS-Protection",
        "1\nSet-Cookie: x",
        "expected one line of printable ASCII",
    ),
    (
        "http_server_config.headers.Set-Cookie",
        "x",
        (
            "unknown key; known here: Content-Security-Policy, X-Frame-Options, X-Content-Type-Options, "
            "X-XSS-Protection, Strict-Transport-Security"
        ),
    ),
    (
        "rate_limit",
        {"interval": "1s", "burst": 5},
        "is not offered here: connections are bounded and a scrape costs next to nothing; delete it",
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """server.pem for localhost, client.pem for the names `scraper` and `prometheus`, each with its key."""
    made = tmp_path_factory.mktemp("pem")
    for name, names in (("server", "DNS:localhost"), ("client", "DNS:scraper,DNS:prometheus")):
        self_signed(made, name, names)
    return made


def nested(key: str, value: object) -> dict[str, object]:
    """A whole file in which this key has this value."""
    first, _, rest = key.partition("[")[0].partition(".")
    good = {"cert_file": "server.pem", "key_file": "server.key"} if first == AT else {}
    if not rest:
        return {first: value}
    below, _, last = rest.partition(".")
    return {first: {**good, below: {last: value} if last else value}}


@pytest.mark.parametrize(("key", "value", "text"), REFUSALS, ids=lambda value: str(value)[:60])
def test_what_is_not_honoured_is_refused_with_a_reason(folder: Path, key: str, value: object, text: str) -> None:
    web = folder / "web.yaml"
    web.write_text(yaml.safe_dump(nested(key, value)))
    with pytest.raises(ConfigError) as caught:
        load_web(web)
    assert [(key, text)] == [(mistake.key, mistake.text) for mistake in caught.value.mistakes]


def test_settings_that_cannot_all_be_true_are_refused(folder: Path) -> None:
    web = folder / "web.yaml"
    tls = {"cert_file": "server.pem", "key_file": "server.key", "min_version": "TLS13", "max_version": "TLS12"}
    web.write_text(yaml.safe_dump({AT: {**tls, "cipher_suites": [SUITE]}}, sort_keys=False))
    with pytest.raises(ConfigError) as caught:
        load_web(web)
    assert [
        ("min_version", "is above `max_version: TLS12`"),
        ("cipher_suites", "has no effect with `min_version: TLS13`: the cipher suites of TLS 1.3 can't be chosen"),
    ] == [(mistake.key.partition(".")[2], mistake.text) for mistake in caught.value.mistakes]


@pytest.fixture
def serving(folder: Path) -> Iterator[object]:
    """Starts a server with these TLS settings."""
    servers: list[Server] = []

    def serve(**tls: object) -> Server:
        web = folder / f"web-{len(servers)}.yaml"
        web.write_text(yaml.safe_dump({AT: {"cert_file": "server.pem", "key_file": "server.key", **tls}}))
        answer: Answer = lambda: snapshot("a")  # noqa: E731
        security = WebSecurity(web)
        guard = Guard(site_of(poller_of({"a": answer})), security)
        server = Server("127.0.0.1:0", guard, None, lambda: security.current().context, security.welcomes)
        server.start()
        servers.append(server)
        return server

    yield serve
    for server in servers:
        server.stop()


def client(folder: Path, **settings: object) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=folder / "server.pem")
    for name, value in settings.items():
        setattr(context, name, value)
    return context


def spoken(server: Server, context: ssl.SSLContext) -> tuple[str, str, bytes]:
    """Version, cipher suite and status line. Raises OSError when the server wants none of it."""
    raw = connect(server)
    with raw, context.wrap_socket(raw, server_hostname="localhost") as connection:
        connection.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = connection.recv(15)
        if not answer:
            raise OSError("ended without an answer")
        cipher = connection.cipher()
        return str(connection.version()), cipher[0] if cipher else "", answer


def test_versions_are_those_that_are_allowed(serving, folder: Path) -> None:  # type: ignore[no-untyped-def]
    assert "TLSv1.3" == spoken(serving(), client(folder))[0]
    assert "TLSv1.2" == spoken(serving(max_version="TLS12"), client(folder))[0]
    with pytest.raises(OSError, match=r"(?i)version|alert|eof"):
        spoken(serving(min_version="TLS13"), client(folder, maximum_version=ssl.TLSVersion.TLSv1_2))


def test_cipher_suites_are_those_that_are_named_and_ours_come_first(serving, folder: Path) -> None:  # type: ignore[no-untyped-def]
    theirs = client(folder, maximum_version=ssl.TLSVersion.TLSv1_2)
    theirs.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384")
    ours = {"cipher_suites": [SUITE, OTHER]}
    assert "ECDHE-ECDSA-AES256-GCM-SHA384" == spoken(serving(**ours), theirs)[1]
    assert "ECDHE-ECDSA-AES128-GCM-SHA256" == spoken(serving(**ours, prefer_server_cipher_suites=False), theirs)[1]
    theirs.set_ciphers("ECDHE-ECDSA-CHACHA20-POLY1305")
    with pytest.raises(OSError, match=r"(?i)handshake|alert|eof"):
        spoken(serving(**ours), theirs)


def test_the_curve_is_the_one_that_is_named(serving, folder: Path) -> None:  # type: ignore[no-untyped-def]
    server = serving(curve_preferences=["CurveP384"])
    for curve, fits in (("secp384r1", True), ("prime256v1", False)):
        theirs = client(folder)
        theirs.set_ecdh_curve(curve)
        if fits:
            assert b"HTTP/1.1 200 OK" == spoken(server, theirs)[2]
        else:
            with pytest.raises(OSError, match=r"(?i)handshake|alert|eof"):
                spoken(server, theirs)


def test_only_certificates_with_an_allowed_name_come_in(serving, folder: Path) -> None:  # type: ignore[no-untyped-def]
    theirs = client(folder)
    theirs.load_cert_chain(folder / "client.pem", folder / "client.key")
    for names in ([], ["prometheus"], ["x", "scraper"]):
        assert b"HTTP/1.1 200 OK" == spoken(serving(**MUTUAL, client_allowed_sans=names), theirs)[2]
    for names in (["other"], ["client"], ["prom"]):
        with pytest.raises(OSError, match=r"(?i)ended|reset|eof|closed"):
            spoken(serving(**MUTUAL, client_allowed_sans=names), theirs)


def test_headers_are_on_every_answer(tmp_path: Path) -> None:
    web = tmp_path / "web.yaml"
    headers = {
        "Content-Security-Policy": "default-src 'self'",
        "X-Frame-Options": "deny",
        "X-Content-Type-Options": "nosniff",
        "X-XSS-Protection": "0",
        "Strict-Transport-Security": "max-age=31536000",
    }
    web.write_text(
        yaml.safe_dump({"http_server_config": {"http2": False, "headers": headers}, "basic_auth_users": {"me": HASH}})
    )
    guard = Guard(site_of(poller_of({"a": lambda: snapshot("a")})), WebSecurity(web))
    refused = guard(Request("GET", "/"))
    assert (401, headers) == (refused.status.value, {name: refused.headers[name] for name in headers})
    allowed = guard(Request("GET", "/", {"authorization": "Basic bWU6c2VjcmV0"}))
    assert (200, headers) == (allowed.status.value, {name: allowed.headers[name] for name in headers})


def test_a_configuration_with_a_wrong_web_file_is_refused_whole(tmp_path: Path) -> None:
    """At the start and at each reload: the loader is what both call."""
    web, config = tmp_path / "web.yaml", tmp_path / "mq.yaml"
    config.write_text(f"kafka: [{{bootstrap_servers: ['h:1']}}]\nweb: {{config_file: {web}}}\n")
    web.write_text(f"basic_auth_users: {{me: '{HASH}'}}\n")
    load = loader(cli.parse(["--config", str(config)]))
    assert load().web.config_file == web
    web.write_text("basic_auth_users: {me: 12345}\n")
    with pytest.raises(ConfigError) as caught:
        load()
    assert [f"{web}:1:20: basic_auth_users.me: expected text, got something else; put it in quotes"] == str(
        caught.value
    ).splitlines()
