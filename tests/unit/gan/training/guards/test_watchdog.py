"""Stalls are real but short: 10 ms without a heartbeat. Nothing here depends on how long anything
takes."""

from __future__ import annotations

import threading

import pytest

from ganboard.gan.events import Event, Note
from ganboard.gan.training.guards.watchdog import Watchdog
from tests.polling import wait_until
from tests.recorder import Recorder

SOON, LATE = 0.01, 3600.0


def watchers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "watchdog"]


def notes(recorder: Recorder, count: int) -> list[Note]:
    """The first `count` notes, as soon as they are there."""
    wait_until(
        lambda: len(recorder.of(Note)) >= count, seconds=30, every=0.005, what=f"note {count}"
    )
    return recorder.of(Note)[:count]


def test_a_stall_is_reported_once_with_every_thread_in_the_log(
    capfd: pytest.CaptureFixture[str],
) -> None:
    recorder, release, held = Recorder(), threading.Event(), threading.Event()

    def stuck_in_the_input() -> None:
        held.set()
        release.wait()

    other = threading.Thread(target=stuck_in_the_input)
    other.start()
    held.wait()
    try:
        # long enough for the thread to start while the loop waits below
        with Watchdog(0.5, recorder):
            [note] = notes(recorder, 1)
    finally:
        release.set()
        other.join()
    assert note.level == "warning"
    assert note.text.startswith("No step has finished for 0.5 s (stall_seconds)")
    assert "The loop is in " in note.text
    assert "wait_until (polling.py:" in note.text
    assert recorder.of(Note) == [note]  # leaving is not moving again
    log = capfd.readouterr().err
    assert "in stuck_in_the_input" in log
    assert "in test_a_stall_is_reported_once" in log
    assert not watchers()


def test_each_stall_is_reported_and_so_is_its_end() -> None:
    recorder = Recorder()
    with Watchdog(SOON, recorder) as watchdog:
        for count in (1, 3, 5):
            notes(recorder, count)
            watchdog.heartbeat()
            moves = notes(recorder, count + 1)[-1]
            assert moves.level == "info"
            assert moves.text.startswith("Training continues after ")
    assert [note.level for note in notes(recorder, 6)] == ["warning", "info"] * 3


def test_silent_while_paused_and_awake_afterwards() -> None:
    recorder = Recorder()
    watchdog = Watchdog(SOON, recorder)
    looked: list[bool] = []
    waits = watchdog._moved.wait

    def wait(timeout: float | None = None) -> bool:
        looked.append(moved := waits(timeout))
        return moved

    watchdog._moved.wait = wait  # type: ignore[method-assign]
    with watchdog.paused(), watchdog:
        wait_until(
            lambda: looked.count(False) >= 3, seconds=30, every=0.005, what="the third wait in vain"
        )
        assert not recorder.events
        assert watchers()
    assert not recorder.events
    with Watchdog(SOON, recorder) as watchdog:
        with watchdog.paused():
            pass
        assert notes(recorder, 1)[0].level == "warning"


def test_off_starts_nothing_and_heartbeats_keep_it_quiet() -> None:
    recorder = Recorder()
    with Watchdog(0, recorder) as watchdog:
        assert not watchers()
        with watchdog.paused():
            watchdog.heartbeat()
    with Watchdog(LATE, recorder) as watchdog:
        assert watchers()
        for _ in range(100):
            watchdog.heartbeat()
    assert not recorder.events
    assert not watchers()


def test_what_hangs_is_ended_and_what_was_slow_before_has_more_time() -> None:
    hung = threading.Event()
    with Watchdog(SOON, Recorder(), hung.set):
        assert hung.wait(30)
    slow = threading.Event()
    recorder = Recorder()
    with Watchdog(SOON, recorder, slow.set) as watchdog:
        watchdog._waits.extend([SOON, LATE, LATE])
        notes(recorder, 1)
        assert not slow.wait(10 * SOON)


def test_it_ends_with_a_loop_that_fails() -> None:
    with pytest.raises(ZeroDivisionError), Watchdog(LATE, Recorder()):
        1 / 0  # noqa: B018
    assert not watchers()


def test_a_sink_that_fails_is_logged_and_the_watch_continues(
    capfd: pytest.CaptureFixture[str],
) -> None:
    recorder = Recorder()

    def sink(event: Event) -> None:
        recorder(event)
        raise ConnectionError("the database is away")

    with Watchdog(SOON, sink) as watchdog:
        notes(recorder, 1)
        watchdog.heartbeat()
        notes(recorder, 3)
    assert "the database is away" in capfd.readouterr().err
