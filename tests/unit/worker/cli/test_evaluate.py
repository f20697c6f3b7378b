"""`ganboard evaluate`: which runs, what it prints, and what it exits with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ganboard.db.engine import writing
from ganboard.db.models import Run
from ganboard.gan.checkpoint import store
from ganboard.gan.progress import Progress
from ganboard.worker.context import Context
from tests.cli import document, ganboard, refused

MakeRun = Callable[..., Run]


def evaluated(context: Context, make_run: MakeRun, name: str) -> Run:
    """A run that training has evaluated, with its last checkpoint."""
    run = make_run(name, quality_every=3)
    directory = context.settings.run_dir(run.id) / "checkpoints"
    arrays = {"x": np.zeros(1, np.float32)}
    store.save(directory, arrays, Progress(12, 3), digest="", attempt=1)
    return run


def test_runs_or_a_sweep_must_be_named(context: Context, make_run: MakeRun) -> None:
    run = make_run()
    assert "Name the runs to evaluate, or a sweep" in refused("evaluate")
    assert "Name the runs to evaluate, or a sweep" in refused("evaluate", run.id, "--sweep", "x")
    assert "There is no sweep 'x'" in refused("evaluate", "--sweep", "x")
    assert "There is no run 'zzz'" in refused("evaluate", "zzz")


def test_what_is_evaluated_already_is_told(context: Context, make_run: MakeRun) -> None:
    run = evaluated(context, make_run, "done")
    said = ganboard("evaluate", "latest").stdout
    assert said.startswith(f"Run {run.id} is evaluated already. Epoch 3: FID 15.33,")
    [found] = document("evaluate", run.id)["runs"]
    assert (found["id"], found["name"], found["evaluated"]) == (run.id, "done", [])
    assert found["error"] is None
    assert [(one["epoch"], round(one["fid"], 2)) for one in found["quality"]] == [(3, 15.33)]


def test_of_a_sweep_each_run_is_answered_and_one_refusal_is_a_failure(
    context: Context, make_run: MakeRun
) -> None:
    runs = [evaluated(context, make_run, "done"), make_run("without")]
    with writing(context.engine) as session:
        for run in runs:
            session.get_one(Run, run.id).sweep = "grid1"
    done, without = document("evaluate", "--sweep", "grid1", code=1)["runs"]
    assert (done["id"], done["error"]) == (runs[0].id, None)
    assert (without["id"], without["quality"]) == (runs[1].id, [])
    assert "no longer exist. Train a clone" in without["error"]
    result = ganboard("evaluate", "--sweep", "grid1", code=1)
    assert f"Run {runs[0].id} is evaluated already." in result.stdout
    assert result.stderr.startswith(f"ganboard: run {runs[1].id}: The checkpoints of run")
