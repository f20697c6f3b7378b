"""Requests that come together are computed together, and each gets its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from ganboard.worker.serving import batches
from ganboard.worker.serving.batches import Batches, Busy, Floats


class Network:
    """Doubles; waits until it is let go, so that requests gather meanwhile."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.called, self.go = threading.Event(), threading.Event()

    def __call__(self, inputs: Floats) -> Floats:
        self.calls.append(len(inputs))
        self.called.set()
        assert self.go.wait(10)
        if inputs[0, 0] < 0:
            raise ValueError("negative")
        return 2 * inputs


@pytest.fixture
def network() -> Network:
    return Network()


@pytest.fixture
def running(network: Network) -> Iterator[Batches]:
    thread = Batches(network, together=8)
    thread.start()
    yield thread
    network.go.set()
    thread.end()


def rows(first: float, count: int) -> Floats:
    return np.arange(first, first + count, dtype=np.float32)[:, None]


def test_what_gathers_is_computed_in_one_call(network: Network, running: Batches) -> None:
    alone = running.ask(rows(100, 1))
    assert network.called.wait(10)
    asked = [running.ask(rows(10 * number, number)) for number in range(1, 5)]
    network.go.set()
    assert alone.result(10).tolist() == [[200]]
    for number, future in enumerate(asked, 1):
        np.testing.assert_array_equal(future.result(10), 2 * rows(10 * number, number))
    assert network.calls == [1, 10]  # 1 + 2 + 3 are fewer than 8


def test_a_call_that_fails_is_reported_to_all_its_requests_and_the_next_works(
    network: Network, running: Batches
) -> None:
    network.go.set()
    with pytest.raises(ValueError, match="negative"):
        running.ask(rows(-1, 1)).result(10)
    assert running.ask(rows(1, 1)).result(10).tolist() == [[2]]


def test_nobody_waits_for_what_was_given_up(network: Network, running: Batches) -> None:
    first = running.ask(rows(1, 1))
    assert network.called.wait(10)
    given_up = running.ask(rows(5, 3))
    assert given_up.cancel()
    network.go.set()
    assert first.result(10).tolist() == [[2]]
    assert running.ask(rows(7, 2)).result(10).tolist() == [[14], [16]]
    assert network.calls == [1, 2]


def test_too_many_waiting_examples_are_refused(
    network: Network, running: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MAX_WAITING", 4)
    first = running.ask(rows(1, 4))
    with pytest.raises(Busy):
        running.ask(rows(1, 1))
    network.go.set()
    first.result(10)
    assert running.ask(rows(1, 4)).result(10).shape == (4, 1)


def test_the_end_waits_for_what_was_asked(network: Network) -> None:
    thread = Batches(network, together=8)
    asked = [thread.ask(rows(number, 2)) for number in range(5)]
    network.go.set()
    thread.start()
    thread.end()
    assert all(future.done() for future in asked)
    assert not thread.is_alive()
