"""Which steps a profiler trace is wanted of, and where it is. Free of TensorFlow."""

from __future__ import annotations

import re
from pathlib import Path

EVENT_FILES = "tensorboard"  # in the folder of a run: event files, and traces below them
TRACES = "plugins/profile"  # where TensorBoard's profiler looks, with a folder for each trace
MOST = 1000  # steps: a trace of ten has some megabytes
XPLANE = ".xplane.pb"
TIMELINE = ".trace.json.gz"  # Chrome's format, which Perfetto opens
_FORM = re.compile(r"(\d{1,12}):(\d{1,12})", re.ASCII)


class BadSteps(ValueError):
    """`profile_steps` names no steps; the message is one sentence with the remedy."""


def steps(text: str) -> range | None:
    """The steps of `A:B`, which are those after A steps of the run until B are taken; None for
    empty text. Raises BadSteps."""
    if not text:
        return None
    match = _FORM.fullmatch(text)
    if match is None:
        raise BadSteps(
            f"profile_steps={text[:40]!r} is not of the form A:B, such as 20:30 for the steps after"
            " step 20 up to step 30."
        )
    first, last = map(int, match.groups())
    if first >= last:
        raise BadSteps(
            f"profile_steps={text} has no steps: the second number must be larger than the first,"
            f" such as {first}:{first + 10}."
        )
    if last - first > MOST:
        raise BadSteps(
            f"profile_steps={text} has {last - first:,} steps; the limit is {MOST:,}. Use"
            f" {first}:{first + 10}, for instance."
        )
    return range(first, last)


def beyond(text: str, total: int) -> str | None:
    """Why a run of `total` steps cannot record these; None if it can."""
    wanted = steps(text)
    if wanted is None or wanted.stop <= total:
        return None
    return (
        f"profile_steps={text} is beyond the run's end: it has {total:,} steps. Use numbers up to"
        f" {total}, or more epochs."
    )


def folder(run_dir: Path) -> Path:
    """What a profiler and `tensorboard --logdir` are given."""
    return run_dir / EVENT_FILES


def found(run_dir: Path) -> list[Path]:
    """The files of the traces of a run, by name; what TensorBoard caches beside them is left
    out."""
    files = (folder(run_dir) / TRACES).glob("*/*")
    return sorted(path for path in files if path.name.endswith((XPLANE, TIMELINE)))
