"""What a client of `ganboard serve` may hold of it: connections, time, memory. Real sockets, on
this machine only."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import httpx
import pytest

from ganboard.worker.context import open_context
from ganboard.worker.serving import bodies, connections
from ganboard.worker.serving.application import Service
from tests.polling import wait_until
from tests.unit.worker.serving.services import client, registered, service

ENDS = 20  # seconds within which a refusal with a short limit must have come


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GANBOARD_HOME", str(tmp_path_factory.mktemp("limits")))
        context = open_context()
        registered(context)
        yield service(context)
        context.engine.dispose()


@pytest.fixture(scope="module")
def digits(made: Service) -> Iterator[httpx.Client]:
    with client(made) as opened:
        yield opened


def connected(digits: httpx.Client) -> socket.socket:
    return socket.create_connection((digits.base_url.host, digits.base_url.port), timeout=ENDS)


def answer(connection: socket.socket) -> tuple[int, dict[str, str], dict[str, str]]:
    """Status, headers and JSON of all that a server says until it closes the connection."""
    said = b""
    with suppress(ConnectionResetError):  # after an answer to what was not read to its end
        while part := connection.recv(1 << 16):
            said += part
    head, _, body = said.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, json.loads(body)


def head(length: int, *more: str) -> bytes:
    lines = [
        "POST /generate HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        *more,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.mark.parametrize(
    ("limit", "sent", "words"),
    [
        ("HEADER_SECONDS", b"", "headers"),
        ("HEADER_SECONDS", b"POST /generate HTTP/1.1\r\nHost: 127", "headers"),
        ("BODY_SECONDS", head(1000) + b'{"seed":', "body"),
    ],
    ids=["silent", "slow headers", "slow body"],
)
def test_a_request_that_does_not_arrive_is_refused_and_keeps_nobody_waiting(
    made: Service,
    limit: str,
    sent: bytes,
    words: str,
    digits: httpx.Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(connections, limit, 0.5)
    with connected(digits) as slow:
        slow.sendall(sent)
        assert digits.post("/generate", json={"seed": 1}).status_code == 200
        status, headers, document = answer(slow)
    assert (status, headers["connection"]) == (408, "close")
    assert words in document["error"]
    assert "0.5 s" in document["error"]
    assert 'ganboard_serve_refused_total{status="408"}' in digits.get("/metrics").text
    assert made.bodies.held == 0
    assert not [record for record in caplog.records if record.exc_info]


def test_a_request_in_small_parts_is_answered(digits: httpx.Client) -> None:
    with connected(digits) as slow:
        for byte in head(11, "Connection: close") + b'{"seed": 1}':
            slow.sendall(bytes([byte]))
        status, _, document = answer(slow)
    assert status == 200
    assert document["model"] == "some:1"


def test_a_body_that_goes_on_after_the_refusal_is_not_read_for_ever(
    digits: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.5)
    with connected(digits) as endless:
        endless.sendall(head(1 << 30).replace(b"/generate", b"/nothing"))

        def cut() -> bool:
            try:
                endless.sendall(bytes(1000))
            except OSError:
                return True
            return False

        wait_until(cut, seconds=ENDS, every=0.01, what="the end of the connection")


def test_the_bytes_of_all_bodies_stay_below_their_limit(
    made: Service, digits: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    big, room, clients = 200_000, 1_000_000, 20
    monkeypatch.setattr(bodies, "HELD_BYTES", room)
    document = json.dumps({"seed": 1, "count": 1}).encode()
    document += b" " * (big - len(document))
    with ExitStack() as stack:
        opened = [stack.enter_context(connected(digits)) for _ in range(clients)]
        for connection in opened:
            # all but the last byte: held, not answered
            connection.sendall(head(big, "Connection: close") + document[:-1])
        peaks = []

        def full() -> bool:
            refused = 'ganboard_serve_refused_total{status="503"}' in digits.get("/metrics").text
            peaks.append(made.bodies.held)
            return refused

        wait_until(full, seconds=ENDS, every=0.001, what="a refusal")
        assert room - 2 * big < max(peaks) <= room

        def ended(connection: socket.socket) -> tuple[int, dict[str, str], dict[str, str]]:
            with suppress(OSError):  # the connection of a body that was refused may be closed
                connection.sendall(document[-1:])
            return answer(connection)

        with ThreadPoolExecutor(clients) as pool:
            said = list(pool.map(ended, opened))
    statuses = [status for status, _, _ in said]
    assert set(statuses) == {200, 503}
    refused = next(one for one in said if one[0] == 503)
    assert refused[1]["retry-after"] == "1"
    assert "Try again later" in refused[2]["error"]
    wait_until(lambda: made.bodies.held == 0, seconds=ENDS, what="nothing held")
    assert digits.post("/generate", json={"seed": 1}).status_code == 200


def test_a_body_that_is_announced_as_too_big_is_refused_before_it_is_sent(
    digits: httpx.Client,
) -> None:
    with connected(digits) as connection:
        connection.sendall(head(bodies.MAX_BYTES + 1, "Connection: close"))
        status, _, document = answer(connection)
    assert status == 413
    assert f"{bodies.MAX_BYTES + 1:,}" in document["error"]


def test_who_leaves_in_the_middle_leaves_nothing_behind(
    made: Service, digits: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for sent in (b"POST /gen", head(1000), head(1000) + b"{" * 500):
        with connected(digits) as connection:
            connection.sendall(sent)
            held = sent.count(b"{")
            wait_until(
                lambda held=held: made.bodies.held == held, seconds=ENDS, what="what was sent"
            )  # type: ignore[misc]
        wait_until(lambda: made.bodies.held == 0, seconds=ENDS, what="nothing held")
    assert digits.get("/healthz").status_code == 200
    assert not [
        record for record in caplog.records if record.exc_info or "Traceback" in record.getMessage()
    ]


def test_connections_beyond_the_limit_are_refused_in_a_sentence(
    digits: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 4)
    with ExitStack() as stack:
        idle = [stack.enter_context(connected(digits)) for _ in range(4)]

        def refused() -> httpx.Response | None:
            said = httpx.get(
                f"{digits.base_url}/version", headers={"Connection": "close"}, timeout=ENDS
            )
            return said if said.status_code == 503 else None

        said = wait_until(refused, seconds=ENDS, what="the refusal")
        assert said.headers["retry-after"] == "1"
        assert "4 connections" in said.json()["error"]
        for connection in idle:
            connection.close()
    wait_until(lambda: digits.get("/version").status_code == 200, seconds=ENDS, what="room again")


def test_connections_far_beyond_the_limit_are_closed_at_once(
    digits: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 1)
    with ExitStack() as stack:
        opened = [stack.enter_context(connected(digits)) for _ in range(3)]
        with suppress(ConnectionResetError):
            assert opened[-1].recv(1) == b""


def test_a_client_that_reads_no_answers_loses_its_connection(
    digits: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "READ_SECONDS", 0.5)
    body = json.dumps({"seed": 1, "count": 64}).encode()
    with connected(digits) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.sendall((head(len(body)) + body) * 20)  # answers of a megabyte each
        made = "ganboard_serve_answers_total"
        wait_until(lambda: made in digits.get("/metrics").text, seconds=ENDS, what="an answer")

        def gone() -> bool:
            try:
                deaf.send(b"x")
            except OSError:
                return True
            return False

        wait_until(gone, seconds=ENDS, what="the end of the connection")


def test_what_is_no_http_is_refused_as_json(digits: httpx.Client) -> None:
    for sent in (
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: " + b"x" * 20_000,
    ):
        with connected(digits) as connection:
            connection.sendall(sent)
            status, _, document = answer(connection)
        assert status == 400
        assert "HTTP" in document["error"]
