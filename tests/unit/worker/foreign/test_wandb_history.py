"""Exported histories of W&B runs, read in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ganboard.db.curves import logged
from ganboard.worker.context import Context
from ganboard.worker.foreign import storing, wandb_history
from ganboard.worker.foreign.wandb_history import BadHistory
from tests.cli import ganboard

NOON = 1_700_000_000.0
CONFIG = """
wandb_version: 1
lr:
  desc: null
  value: 0.1
batch_size:
  value: 64
_wandb:
  value: {cli_version: 0.19}
nested:
  value: {a: 1}
"""


@pytest.fixture
def history() -> pd.DataFrame:
    """As `run.history()` returns it: metrics of other steps are NaN, media are dicts."""
    return pd.DataFrame(
        {
            "_step": [0, 1, 2],
            "_timestamp": [NOON, NOON + 1, NOON + 2.5],
            "_runtime": [0.0, 1, 2],
            "g_loss": [1.0, np.nan, 3.0],
            "ok": [True, False, True],
            "images": [{"_type": "images/separated"}, None, None],
        }
    )


def write(frame: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.drop(columns="images").to_parquet(path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_every_form_gives_the_same_run(
    context: Context, tmp_path: Path, history: pd.DataFrame, suffix: str
) -> None:
    path = write(history, tmp_path / f"mine{suffix}")
    (tmp_path / "config.yaml").write_text(CONFIG)
    for place in (path, tmp_path):
        name, record = wandb_history.run(place)
        assert name == "mine"
    run = storing.store(context, name, "W&B", record).run
    assert run.config == {"lr": 0.1, "batch_size": 64, "wandb_version": 1}
    rows = list(logged.rows(context.engine, run.id))
    assert [row for row in rows if row[0] == "g_loss"] == [
        ("g_loss", 0, NOON, 1.0),
        ("g_loss", 2, NOON + 2.5, 3.0),
    ]
    assert logged.names(context.engine, run.id) == ["g_loss", "ok"]
    assert run.g_loss == 3.0
    assert (record.problems != []) == (suffix != ".parquet")


def test_what_is_no_history_is_refused(tmp_path: Path, history: pd.DataFrame) -> None:
    for text, complaint in (
        ("a,b\n1,2\n", "has no column _step"),
        ("_step,_timestamp\nx,y\n", "does not hold numbers"),
        ("_step,_timestamp\n", "does not hold numbers|has no rows"),
    ):
        path = tmp_path / "bad.csv"
        path.write_text(text)
        with pytest.raises(BadHistory, match=complaint):
            wandb_history.run(path)
    (tmp_path / "x.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(BadHistory, match="cannot be read"):
        wandb_history.run(tmp_path / "x.parquet")
    with pytest.raises(BadHistory, match="no exported history of one run"):
        wandb_history.run(tmp_path)
    (tmp_path / "config.yaml").write_text("a: [")
    with pytest.raises(BadHistory, match="cannot be read as YAML"):
        wandb_history.run(write(history, tmp_path / "mine.csv"))


def test_the_command(context: Context, tmp_path: Path, history: pd.DataFrame) -> None:
    path = write(history, tmp_path / "mine.csv")
    done = ganboard("import", "wandb", str(path))
    assert "(mine): finished after 2 steps" in done.stdout
    assert "images" in done.stderr
