"""What the terminal shows of a state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ganboard.worker.terminal.run_view import Live, PhaseColumn, State


def test_a_terminal_shows_for_how_long_it_has_been_compiling() -> None:
    live = Live()
    state = State(
        phase="compiling", phase_since=datetime.now(UTC) - timedelta(seconds=41), epochs=3
    )
    live.show(state)
    [task] = live._progress.tasks
    assert PhaseColumn().render(task).plain == "compiling 41 s"
    live.show(State(phase="loading", phase_progress="decoding 40 %, 2 min left"))
    assert PhaseColumn().render(task).plain == "loading: decoding 40 %, 2 min left"
    live.show(State(phase="training", phase_since=datetime.now(UTC), epochs=3))
    assert PhaseColumn().render(task).plain == "training"
