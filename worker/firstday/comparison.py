"""The part that measures our trainer beside the TensorFlow tutorial and PyTorch."""

from __future__ import annotations

from typing import Any

from ganboard.worker.errors import ServiceFailed
from ganboard.worker.firstday.day import BATCH, Day, Result
from ganboard.worker.formatting import rate
from ganboard.worker.process.json_child import TimeLimit, ask

PROGRAM = "from ganboard.worker.cli.main import app; app(prog_name='ganboard')"
_ROUNDS = 2


def bench(day: Day) -> Result:
    """`ganboard bench` with few rounds, as a process of its own that can be ended."""
    if day.cores:
        return Result("not done", "The other candidates do not train on a TPU.")
    words = ["bench", "--only", "bare,tutorial,pytorch", "--batch", str(BATCH), "--json"]
    words += ["--rounds", str(_ROUNDS), "--precision", "float32"]
    if "mixed_bfloat16" in day.precisions():
        words += ["--precision", "mixed_bfloat16"]
    what = "our trainer beside the tutorial and PyTorch"
    home = {"GANBOARD_HOME": str(day.context.settings.state)}
    try:
        found = ask(
            ["-c", PROGRAM, *words],
            day.time_for(what),
            waiting=lambda: day.doing(what),
            environment=home,
        )
    except TimeLimit as error:
        return Result("not done", f"The benchmark was ended: {error}.")
    except ServiceFailed as error:
        return Result("fail", f"The benchmark failed: {error}")
    return summary(found)


def summary(found: dict[str, Any]) -> Result:
    """The result of a benchmark's document."""
    rows, missing = [], []
    for one in found["candidates"]:
        speed, ratio = one["images_per_second"], one["ratios"]["tutorial"]
        if speed:
            faster = f"{ratio:.2f}" if ratio else "-"
            rows.append((one["title"], one["precision"], rate(speed["median"]), faster))
        if one["problem"]:
            missing.append(f"{one['title']}, {one['precision']}: {one['problem']}")
    how = f"{found['data']} Batch {found['batch']}, median of {found['rounds']} rounds in turns; x"
    how += " tutorial: median of the ratios within each round, to the tutorial in float32."
    columns = ("candidate", "precision", "images/s", "x tutorial")
    text = f"{len(rows)} candidates measured in turns."
    return Result("ok" if rows else "not done", text, how, columns, rows, missing)
