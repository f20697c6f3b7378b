"""The text beside an exported model is true: its lines load the model and draw the grid that the
trainer drew."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ganboard.db.runs import queries
from ganboard.gan.presets import load
from ganboard.worker.context import Context
from ganboard.worker.interchange.export import model_zip
from ganboard.worker.submission.submit import submit
from ganboard.worker.training.trainer import train_in_process
from tests.test_house import ROOT


@pytest.mark.thorough
def test_the_lines_of_the_readme_load_the_model(context: Context, tmp_path: Path) -> None:
    run = submit(context, load("tiny", {"epochs": 1, "ema": 0.9, "grid_size": 2}), here=True)
    train_in_process(context, run.id)
    model_zip(context, run, tmp_path / "model.zip")
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        archive.extractall(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text()) == run.config
    readme = (tmp_path / "README.txt").read_text()
    code = "\n".join(
        line.removeprefix("    ")
        for line in readme.splitlines()
        if line.startswith("    ") or not line
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    drawn = queries.grid(context.engine, run.id, 1)
    assert drawn is not None
    assert (tmp_path / "grid.png").read_bytes() == drawn.png
