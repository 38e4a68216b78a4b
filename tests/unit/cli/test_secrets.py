"""No secret is in anything that a real exporter process lets out, whether the secrets are right or wrong."""

from __future__ import annotations

import base64
import json
import re
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, quote_plus

import bcrypt
import pytest

from tests.pem import certificates
from tests.unit.cli.test_process import Process
from tests.unit.errors.servers import web
from tests.unit.kafka.fake_broker import broker, listener, server_context
from tests.unit.kafka.sasl_broker import sasl_answers

KAFKA, RABBITMQ, KEY, PAGE = "kafka-s3cret/+", "rabbit-s3cret @ü", "key-s3cret", "page-s3cret"
WRONG = ("kafka-wr0ng/+", "rabbit-wr0ng @ü")
HASH = bcrypt.hashpw(PAGE.encode(), bcrypt.gensalt(4)).decode()
USER = "monitor"
SECRETS = (KAFKA, RABBITMQ, KEY, PAGE, HASH, *WRONG)
FILE = """
kafka:
  - cluster: orders
    bootstrap_servers: ["localhost:{kafka}"]
    timeout: 10s
    interval: 1s
    client:
      security_protocol: SASL_SSL
      sasl_mechanism: PLAIN
      sasl_plain_username: monitor
      ssl_cafile: {folder}/ca.pem
      ssl_certfile: {folder}/cert.pem
      ssl_keyfile: {folder}/encrypted.key
    secrets:
      sasl_plain_password: {{env: KAFKA_PW}}
      ssl_password: {{file: {folder}/key-password}}
rabbitmq:
  - cluster: tasks
    urls: ["http://127.0.0.1:{rabbitmq}"]
    username: monitor
    password: {{file: {folder}/rabbitmq-password}}
    interval: 1s
    node_metrics: false
    cli: ["/bin/sh", "-c", "env > {folder}/environment; cat /proc/$$/cmdline >> {folder}/environment; exit 1"]
state_dir: {folder}/state
web:
  config_file: {folder}/web.yaml
  enable_lifecycle: true
log: {{level: {level}, format: {form}}}
"""


def forms(secret: str, user: str = USER) -> set[str]:
    """How a secret may be written: as it is, in URLs, in JSON, in base64 alone and as `user:password`."""
    found = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]}
    for text in (secret, f"{user}:{secret}", f"\0{user}\0{secret}"):
        found.add(base64.b64encode(text.encode()).decode().rstrip("="))
    return found


def leaks(text: str) -> list[str]:
    """Which secrets are in a text, in any form."""
    return [secret for secret in SECRETS if any(form in text for form in forms(secret))]


def test_a_leak_would_be_seen() -> None:
    for secret in SECRETS:
        assert all(secret in leaks(f"... {form}&...") for form in forms(secret))
    assert [] == leaks("monitor kafka rabbit key page s3cret")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("secrets")
    certificates(made)
    command = ["openssl", "pkcs8", "-topk8", "-in", "cert.key", "-out", "encrypted.key", "-passout", f"pass:{KEY}"]
    subprocess.run(command, cwd=made, check=True, capture_output=True)
    (made / "key-password").write_text(KEY)
    tls = f"{{cert_file: {made}/cert.pem, key_file: {made}/cert.key}}"
    (made / "web.yaml").write_text(f"tls_server_config: {tls}\nbasic_auth_users: {{{USER}: '{HASH}'}}\n")
    return made


@contextmanager
def systems(folder: Path) -> Iterator[dict[str, int]]:
    """A broker that lets in who has the password and our certificate, and a management API that refuses everybody."""
    context = server_context(folder / "cert.pem", folder / "cert.key")
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with ExitStack() as stack:
        kafka = stack.enter_context(listener(broker(sasl_answers(["PLAIN"], USER, KAFKA)), context))
        refusal = b'{"error":"not_authorised","reason":"Login failed"}'
        yield {"kafka": kafka, "rabbitmq": stack.enter_context(listener(web(refusal, "401 Unauthorized")))}


def get(process: Process, folder: Path, path: str, method: str = "GET", password: str = PAGE) -> str:
    """Head and body of an answer, whatever its status."""
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    url = process.url.replace("http://127.0.0.1", "https://localhost") + path
    login = base64.b64encode(f"{USER}:{password}".encode()).decode()
    request = urllib.request.Request(url, method=method, headers={"Authorization": f"Basic {login}"})
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), Passing())
    with opener.open(request, timeout=60) as answer:
        return f"{answer.status}\n{answer.headers}\n{answer.read().decode()}"


class Passing(urllib.request.HTTPErrorProcessor):
    """Takes every status for an answer."""

    def http_response(self, request: object, response: object) -> object:  # type: ignore[override]  # noqa: ARG002
        return response

    https_response = http_response  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("level", "form", "right", "logged"),
    [
        ("debug", "text", True, "first poll done"),
        ("debug", "json", False, "first poll done"),
        ("info", "text", False, "first poll done"),
        ("warning", "json", False, "PLAIN login refused"),
        ("error", "text", True, "not reloaded"),
    ],
)
def test_no_output_of_a_process_holds_a_secret(
    folder: Path, monkeypatch: pytest.MonkeyPatch, level: str, form: str, right: bool, logged: str
) -> None:
    seen = outputs(folder, monkeypatch, level, form, right)
    check(seen)
    assert logged in seen["log"]
    told = ("PLAIN login refused" in seen["snapshot"], "wrong user or password" in seen["snapshot"])
    assert (not right, True) == told


@pytest.mark.parametrize(("form", "right"), [("text", True), ("json", False)])
def test_no_traceback_shows_a_secret(folder: Path, monkeypatch: pytest.MonkeyPatch, form: str, right: bool) -> None:
    """Unexpected exceptions, with all that the readers of both systems have in hand after their logins."""
    seen = outputs(folder, monkeypatch, "error", form, right, "polls_end_in_faults")
    assert {"orders", "tasks"} == set(re.findall(r"(orders|tasks): the poll failed; this is a fault", seen["log"]))
    assert all(f"config: {name}(" in seen["log"] for name in ("Kafka", "RabbitMQ")), "they are shown"
    check(seen)


def test_a_secret_in_the_log_is_caught(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = outputs(folder, monkeypatch, "warning", "text", False, "logins_are_logged")
    with pytest.raises(AssertionError):
        check(seen)


def check(seen: dict[str, str]) -> None:
    assert "KAFKA_PW" not in seen["environment of children"]
    assert {} == {name: found for name, text in seen.items() if (found := leaks(text))}


def outputs(
    folder: Path, patch: pytest.MonkeyPatch, level: str, form: str, right: bool, mutation: str | None = None
) -> dict[str, str]:
    """All that comes out of a process, by where it comes out. `right`: whether its passwords are."""
    patch.setenv("KAFKA_PW", KAFKA if right else WRONG[0])
    (folder / "rabbitmq-password").write_text(RABBITMQ if right else WRONG[1])
    (folder / "environment").unlink(missing_ok=True)
    config = folder / "mq.yaml"
    with systems(folder) as ports:
        config.write_text(FILE.format(**ports, folder=folder, level=level, form=form))
        process = Process("--config", str(config), mutation=mutation)
        try:
            seen = provoked(process, folder, config)
        finally:
            process.process.kill()
            process.process.wait(60)
            process.close()
    return {**seen, "log": "".join(process.lines)}


def polled(process: Process, folder: Path) -> bool:
    """Whether both clusters have been polled, or failed to be."""
    with suppress(OSError):  # it does not listen yet
        if get(process, folder, "/-/ready").startswith("200"):
            return True
    return all(any(f"{name}: the poll failed" in line for line in process.lines) for name in ("orders", "tasks"))


def provoked(process: Process, folder: Path, config: Path) -> dict[str, str]:
    """What it shows after a poll of both, a refused login, a good reload and bad ones."""
    process.wait_until(lambda: (folder / "environment").exists(), "a call of the tool")
    process.wait_until(lambda: polled(process, folder), "the first poll of both")
    seen = {path: get(process, folder, path) for path in ("/", "/metrics", "/-/healthy", "/-/config", "/debug/vars")}
    seen["snapshot"] = get(process, folder, "/api/v1/snapshot")
    seen["refused"] = get(process, folder, "/metrics", password=WRONG[0])
    assert seen["refused"].startswith("401")
    seen["reload"] = get(process, folder, "/-/reload", "POST")
    good = config.read_text()
    for bad in (f"  password: {RABBITMQ}\n", f"kafka: [{{client: {{sasl_plain_password: {KAFKA}}}}}]\n"):
        config.write_text(good + bad)
        seen[f"reload with {bad[:9]}"] = get(process, folder, "/-/reload", "POST")
    config.write_text(good)
    proc = Path(f"/proc/{process.process.pid}")
    seen["ps"] = proc.joinpath("cmdline").read_text()
    seen["environment of children"] = (folder / "environment").read_text()
    seen["state"] = "".join(path.read_text() for path in (folder / "state").glob("*") if path.is_file())
    return seen


def test_what_check_config_says_of_plain_secrets_holds_none(tmp_path: Path) -> None:
    file = tmp_path / "mq.yaml"
    file.write_text(
        f"kafka:\n  - bootstrap_servers: ['{USER}:{KAFKA}@h:9092']\n    client: {{sasl_plain_password: '{KAFKA}'}}\n"
        f"rabbitmq:\n  - urls: ['http://{USER}:{RABBITMQ}@h:1']\n    password: '{RABBITMQ}'\n"
        f"    node_metrics_urls: {{n: 'http://{USER}:{RABBITMQ}@h:2'}}\n"
    )
    command = [sys.executable, "-m", "exporter", "check-config", str(file)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 2 == told.returncode
    assert "5 mistakes" in told.stdout
    assert [] == leaks(told.stdout + told.stderr)
