"""How a candidate answers whoever measures it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from ganboard.gan.bench.protocol import WARM_UP_STEPS, Task

COUNTING = """
taken = []

def make(task):
    def take(count):
        taken.append(count)
        return float(len(taken)), float(sum(taken))
    return take, f"made for a batch of {task.batch}"
"""


def serve(module: str, folder: Path, *turns: int) -> list[dict[str, object]]:
    """The answers of the candidate `module` in `folder` that is asked for turns of so many
    steps."""
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r});"
        " from ganboard.gan.bench.protocol import serve;"
        f" serve({module!r}, {Task(8, 'float32', '').encode()!r})"
    )
    asked = "".join(f"{steps}\n" for steps in turns)
    done = subprocess.run(
        [sys.executable, "-c", code], input=asked, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_turn_begins_with_a_step_that_is_not_timed(tmp_path: Path) -> None:
    (tmp_path / "counting.py").write_text(COUNTING)
    first, warm, *turns = serve("counting", tmp_path, 5, 7)
    assert first == {"first_step": True}
    assert warm == {"version": "made for a batch of 8"}
    # the losses are numbers of calls and of steps so far
    before = 1 + WARM_UP_STEPS
    assert [(turn["g_loss"], turn["d_loss"]) for turn in turns] == [
        (4, before + 1 + 5),
        (6, before + 1 + 5 + 1 + 7),
    ]
    assert all(turn["seconds"] >= 0 and turn["memory_bytes"] > 0 for turn in turns)


def test_a_candidate_that_is_not_installed_says_so(tmp_path: Path) -> None:
    (answer,) = serve("absent_framework", tmp_path, 5)
    assert answer == {"unavailable": "not installed: pip install absent_framework"}
