"""The history of a Weights & Biases run, as its API exports it: `run.history()` written as CSV or
JSON Lines, or the Parquet file of the artifact `wandb-history`; beside it `config.yaml`.

What a run writes offline (`run-ID.wandb`) has no documented format: W&B's own `wandb sync` uploads
it, and the API exports it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ganboard.worker.errors import WorkerError
from ganboard.worker.foreign.record import Record

if TYPE_CHECKING:
    import pandas as pd

STEP, TIME = "_step", "_timestamp"
READERS = {".csv": "read_csv", ".jsonl": "read_json", ".parquet": "read_parquet"}
CONFIG = ("config.yaml", "files/config.yaml")
MAX_FILE = 2 << 30  # bytes


class BadHistory(WorkerError):
    """A file that is no history; the message is one sentence."""


def run(path: Path) -> tuple[str, Record]:
    """The run whose history a file holds, or the only such file in a folder, and its name. Raises
    BadHistory."""
    file = _file(path)
    frame = _frame(file)
    for column in (STEP, TIME):
        if column not in frame.columns:
            raise BadHistory(
                f"{file} has no column {column}: export the history with"
                " `run.history(pandas=True).to_csv(...)` of wandb.Api()."
            )
    frame = frame[np.isfinite(frame[[STEP, TIME]].to_numpy(np.float64)).all(axis=1)]
    if frame.empty:
        raise BadHistory(f"{file} has no rows.")
    steps = frame[STEP].to_numpy(np.int64).tolist()
    times = frame[TIME].to_numpy(np.float64).tolist()
    record = Record(identity=f"wandb {hashlib.sha256(file.read_bytes()).hexdigest()}".encode())
    record.mark(min(times))
    record.mark(max(times))
    left_out = []
    for name in frame.columns:
        if str(name).startswith("_"):
            continue
        values = frame[name]
        if values.dtype.kind not in "fiub":  # pictures, tables and the like
            left_out.append(str(name))
            continue
        points = record.scalars.setdefault(str(name), {})
        for step, at, value in zip(steps, times, values.to_numpy(np.float64).tolist(), strict=True):
            if step >= 0 and value == value:  # a cell is empty where nothing was logged
                points[step] = (at, value)
    record.settings = _config(file.parent)
    if left_out:
        record.problems.append(f"Not numbers, and left out: {', '.join(left_out)[:200]}.")
    return file.stem, record


def _file(path: Path) -> Path:
    found = sorted(path.iterdir()) if path.is_dir() else [path]
    files = [one for one in found if one.is_file() and one.suffix in READERS]
    if len(files) != 1:
        raise BadHistory(
            f"{path} is no exported history of one run: specify a .csv, .jsonl or .parquet file."
        )
    if files[0].stat().st_size > MAX_FILE:
        raise BadHistory(f"{files[0]} has more than {MAX_FILE >> 30} GiB.")
    return files[0]


def _frame(file: Path) -> pd.DataFrame:
    import pandas as pd

    options: dict[str, Any] = {"lines": True} if file.suffix == ".jsonl" else {}
    try:
        read = getattr(pd, READERS[file.suffix])(file, **options)
    except Exception as error:  # pandas and pyarrow raise many undocumented exceptions
        raise BadHistory(f"{file} cannot be read ({type(error).__name__}).") from None
    for column in (STEP, TIME):
        if column in read.columns and read[column].dtype.kind not in "fiu":
            raise BadHistory(f"{file}: {column} does not hold numbers.")
    return read  # type: ignore[no-any-return]


def _config(folder: Path) -> dict[str, str | float | bool]:
    """Settings that are plain values; W&B keeps each as `name: {value: ...}`."""
    import yaml

    path = next((folder / name for name in CONFIG if (folder / name).is_file()), None)
    if path is None:
        return {}
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, OSError):
        raise BadHistory(f"{path} cannot be read as YAML.") from None
    if not isinstance(given, dict):
        return {}
    values = {
        str(name): one.get("value") if isinstance(one, dict) else one for name, one in given.items()
    }
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, str | int | float | bool) and not name.startswith("_")
    }
