"""A real server: a scrape is never kept waiting, whatever brokers and other clients do."""

from __future__ import annotations

import gzip
import http.client
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics

from exporter.http_connections import Connections
from exporter.http_sending import ONE_WRITE, batches
from exporter.server import CannotListenError, Limits, Server
from tests.mutations import fails_under, mutation
from tests.unit.server.served import connect, ends, poller_of, served, snapshot, wait_for

SCRAPE = {"Accept": "application/openmetrics-text", "Accept-Encoding": "gzip"}


def get(
    server: Server, path: str = "/metrics", method: str = "GET", **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def test_200_scrapes_at_once_get_whole_pages_while_polls_work_and_hang() -> None:
    hang, done = threading.Event(), threading.Event()
    poller = poller_of(
        {"busy": lambda: snapshot("busy", queues=500), "hanging": lambda: hang.wait(60) and snapshot("hanging")},  # type: ignore[dict-item]
        interval=60,
    )

    def keep_polling() -> None:
        while not done.wait(0.05):
            poller.clusters["busy"].poll()

    polling = threading.Thread(target=keep_polling)
    poller.start()
    polling.start()
    try:
        with served(poller) as server, ThreadPoolExecutor(200) as pool:
            wait_for(lambda: "busy" in poller.snapshots(), "the first poll")
            pages = list(pool.map(lambda _: get(server, **SCRAPE)[1], range(200)))
        texts = [gzip.decompress(page).decode() for page in pages]
        assert {500} == {text.count('mq_dlq_unhandled_messages{cluster="busy"') for text in texts}
        assert all(text.endswith("# EOF\n") for text in texts)
        assert "mq_dlq_unhandled_messages" in [family.name for family in parse_openmetrics(texts[0])]
    finally:
        done.set()
        hang.set()
        polling.join()
        poller.stop()


def test_a_hanging_poll_never_keeps_a_scrape_waiting() -> None:
    hang = threading.Event()
    poller = poller_of({"a": lambda: hang.wait(60) and snapshot("a")})  # type: ignore[dict-item]
    poller.start()
    try:
        with served(poller) as server:
            began = time.monotonic()
            assert 200 == get(server)[0].status
            assert 200 == get(server, "/")[0].status
            assert 200 == get(server, "/-/healthy")[0].status
            assert 503 == get(server, "/-/ready")[0].status
            assert time.monotonic() - began < 10
    finally:
        hang.set()
        poller.stop()


@mutation
def slow_clients_keep_their_place(patch: pytest.MonkeyPatch) -> None:
    """At the limit nobody makes room: who never finishes a request shuts everybody else out."""
    admit = Connections.admit

    def first_come(connections: Connections, connection: socket.socket) -> bool:
        return len(connections) < connections.limit and admit(connections, connection)

    patch.setattr(Connections, "admit", first_come)


def test_slow_clients_make_room_for_a_scrape() -> None:
    check_slow_clients_make_room()
    fails_under("slow_clients_keep_their_place", check_slow_clients_make_room)


def check_slow_clients_make_room() -> None:
    """Slow loris: connections that never finish a request are as many as the limit allows."""
    poller = poller_of({"a": lambda: snapshot("a")})
    with served(poller, Limits(connections=20, first_request=60, request=60)) as server:
        slow = [connect(server) for _ in range(20)]
        for connection in slow:
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
        wait_for(lambda: len(server.connections) == 20, "all slow ones are in")
        for _ in range(30):
            assert 200 == get(server, "/-/healthy")[0].status
        assert any(ends(connection, 5) for connection in slow)
        assert len(server.connections) <= 20
        for connection in slow:
            connection.close()


def test_a_request_has_a_deadline_however_slowly_it_drips() -> None:
    with served(poller_of({"a": lambda: snapshot("a")}), Limits(first_request=5, request=0.5)) as server:
        connection = connect(server)
        stop = threading.Event()

        def drip() -> None:
            while not stop.wait(0.05):
                try:
                    connection.sendall(b"x")
                except OSError:
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            assert ends(connection, 15)
        finally:
            stop.set()
            dripping.join()
            connection.close()
        wait_for(lambda: len(server.connections) == 0, "its place is free again")


def test_a_silent_connection_ends() -> None:
    limits = Limits(first_request=0.2)
    with served(poller_of({"a": lambda: snapshot("a")}), limits) as server, connect(server) as connection:
        assert ends(connection, 15)


def test_a_client_that_does_not_read_ends() -> None:
    poller = poller_of({"a": lambda: snapshot("a", queues=60_000)})
    poller.poll_once()
    with served(poller, Limits(answer=0.5)) as server, connect(server) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_for(lambda: len(server.connections) == 1, "it is being answered")
        wait_for(lambda: len(server.connections) == 0, "it was given up")


def test_a_client_that_reads_a_little_now_and_then_ends() -> None:
    """Each sip makes room for some bytes: the deadline is for the whole answer."""
    poller = poller_of({"a": lambda: snapshot("a", queues=60_000)})
    poller.poll_once()
    with served(poller, Limits(answer=0.5)) as server, connect(server) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_for(lambda: len(server.connections) == 1, "it is being answered")

        def given_up() -> bool:
            connection.recv(10_000)
            return len(server.connections) == 0

        wait_for(given_up, "it was given up", 5)


def test_when_all_are_being_answered_the_next_is_told_so() -> None:
    connections = Connections(1)
    one, other = socket.socketpair()
    assert connections.admit(one)
    assert connections.begin(one)
    assert not connections.admit(other)
    connections.wait(one)
    assert connections.admit(other)
    assert not connections.begin(one)
    one.close()
    other.close()


def test_connections_are_kept_for_the_next_scrape() -> None:
    with served(poller_of({"a": lambda: snapshot("a")})) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
        connection.connect()
        kept = connection.sock
        for path in ("/metrics", "/", "/-/healthy", "/nowhere", "/-/ready"):
            connection.request("GET", path)
            connection.getresponse().read()
            assert kept is connection.sock
        connection.request("POST", "/-/reload", body=b"x" * 1000)
        response = connection.getresponse()
        response.read()
        assert 403 == response.status
        assert kept is connection.sock
        connection.close()


def test_two_requests_at_once_get_two_answers_in_order() -> None:
    with served(poller_of({"a": lambda: snapshot("a")})) as server, connect(server) as connection:
        connection.sendall(
            b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\nGET /-/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
        told = b"".join(iter(lambda: connection.recv(65536), b""))
        assert told.index(b"200 OK") < told.index(b"503 Service Unavailable")


def test_head_tells_the_size_without_the_page() -> None:
    poller = poller_of({"a": lambda: snapshot("a")})
    poller.poll_once()
    with served(poller) as server:
        whole, page = get(server)
        head, nothing = get(server, method="HEAD")
        assert (b"", whole.getheader("Content-Type")) == (nothing, head.getheader("Content-Type"))
        assert abs(len(page) - int(head.getheader("Content-Length") or 0)) < 100  # the exporter's own numbers move


def test_the_status_page_is_compressed_and_shielded() -> None:
    with served(poller_of({"a": lambda: snapshot("a")})) as server:
        response, page = get(server, "/", **{"Accept-Encoding": "gzip"})
        assert b"<!doctype html>" in gzip.decompress(page)
        assert "nosniff" == response.getheader("X-Content-Type-Options")
        assert "no-referrer" == response.getheader("Referrer-Policy")


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"505"),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"431"),
        (b"POST /-/reload HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
        (b"POST /-/reload HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"411"),
        (b"POST /-/reload HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", b"413"),
        (b"BREW / HTTP/1.1\r\nConnection: close\r\n\r\n", b"405"),
        (b"GET //[ HTTP/1.1\r\nConnection: close\r\n\r\n", b"404"),
    ],
)
def test_bad_requests_get_their_status_and_hurt_nobody(request_bytes: bytes, status: bytes) -> None:
    with served(poller_of({"a": lambda: snapshot("a")})) as server:
        with connect(server) as connection:
            connection.sendall(request_bytes)
            told = b""
            while b"\r\n" not in told and (more := connection.recv(65536)):
                told += more
        assert status == told.split()[1]
        assert 200 == get(server, "/-/healthy")[0].status


def test_a_port_in_use_is_told_with_what_to_do() -> None:
    with served(poller_of({"a": lambda: snapshot("a")})) as server:
        address = f"127.0.0.1:{server.server_port}"
        with pytest.raises(CannotListenError) as caught:
            Server(address, lambda _: None)  # type: ignore[arg-type, return-value]
    why = "the port is in use (by another mq-exporter?); choose another with --web.listen-address"
    assert f"cannot listen on {address}: {why}" == str(caught.value)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("192.0.2.1:9977", "this machine has no such address; `:PORT` listens on every one it has"),
        ("no-such-host.invalid:9977", "the host name is not known"),
    ],
)
def test_an_impossible_address_is_told(address: str, text: str) -> None:
    with pytest.raises(CannotListenError, match=f"^cannot listen on {address}: {text}"):
        Server(address, lambda _: None)  # type: ignore[arg-type, return-value]


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize(("address", "url"), [("[::1]:0", "http://[::1]:"), (":0", "http://[::1]:")])
def test_ipv6_is_served(address: str, url: str) -> None:
    with served(poller_of({"a": lambda: snapshot("a")}), address=address) as server:
        assert server.url.startswith(url)
        with socket.create_connection(("::1", server.server_port), timeout=20) as connection:
            connection.sendall(b"GET /-/healthy HTTP/1.0\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200 OK")


def test_every_interface_means_ipv4_too() -> None:
    with served(poller_of({"a": lambda: snapshot("a")}), address=":0") as server:
        assert 200 == get(server, "/-/healthy")[0].status


def test_stopping_ends_connections_at_once() -> None:
    with served(poller_of({"a": lambda: snapshot("a")})) as server, connect(server) as connection:
        wait_for(lambda: len(server.connections) == 1, "it is in")
        began = time.monotonic()
        server.stop()
        assert ends(connection, 5)
        assert time.monotonic() - began < 2


def test_large_chunks_are_written_uncopied_and_small_ones_together() -> None:
    large = b"x" * (ONE_WRITE + 1)
    found = list(batches([b"a", b"b", large, b"c", b"d"]))
    assert [b"ab", large, b"cd"] == found
    assert found[1] is large
