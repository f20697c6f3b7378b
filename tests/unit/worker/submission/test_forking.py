"""Forks: runs that continue another one from a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ganboard.db.curves import timeline
from ganboard.db.errors import NotAllowed
from ganboard.db.models import Run
from ganboard.db.runs import forks, past_runs, queries
from ganboard.gan.checkpoint import fork as checkpoints
from ganboard.gan.checkpoint import reader
from ganboard.gan.config import ConfigError, parse
from ganboard.gan.presets import load
from ganboard.worker import diagnosis
from ganboard.worker.context import Context
from ganboard.worker.submission import forking, submit
from ganboard.worker.training.trainer import train_in_process
from tests.factories import lose_model

MakeRun = Callable[..., Run]


def trained(context: Context, **changes: object) -> Run:
    """A run of three epochs, trained here, that keeps all checkpoints."""
    config = load("tiny", {"epochs": 3, "keep_checkpoints": 9, "limit": 128, **changes})
    run = submit.submit(context, config, here=True)
    assert train_in_process(context, run.id) == "finished"
    return run


def weights(context: Context, run_id: str) -> reader.Arrays:
    arrays = reader.newest_arrays(context.settings.run_dir(run_id) / "checkpoints")
    return {name: array for name, array in arrays.items() if "seconds" not in name}


def test_a_fork_without_changes_repeats_the_run_and_with_changes_leaves_it(
    context: Context,
) -> None:
    parent = trained(context)
    first, *_ = forking.steps(context, parent.id)
    same = forking.fork(replace(context, user="anna"), parent.id, {}, step=first)
    assert same.owner == "anna"
    assert (same.status, same.epoch, same.step) == ("queued", 1, first)
    assert [one.epoch for one in queries.epochs(context.engine, same.id)] == [1]
    assert queries.grid_epochs(context.engine, same.id) == [0, 1]
    assert train_in_process(context, same.id) == "finished"
    ours, theirs = (timeline.all_losses(context.engine, one.id) for one in (same, parent))
    for net in ("g", "d"):
        assert np.array_equal(ours[net], theirs[net])
    expected = weights(context, parent.id)
    for name, array in weights(context, same.id).items():
        assert np.array_equal(array, expected[name]), name

    other = forking.fork(
        context, same.id, {"g_learning_rate": 1e-3, "epochs": 4}, step=2 * first, name="faster"
    )
    assert train_in_process(context, other.id) == "finished"
    branch = timeline.all_losses(context.engine, other.id)["g"]
    assert len(branch) == 4 * first
    assert np.array_equal(branch[: 2 * first], theirs["g"][: 2 * first])
    assert not np.array_equal(branch[2 * first : 3 * first], theirs["g"][2 * first :])
    stored = queries.find_run(context.engine, other.id)
    assert stored.facts[forks.FORKED] == f"step {2 * first} of run {same.id}"
    assert stored.seconds > 0
    # its settings did not train all of its epochs, nor did it take all of its seconds
    known = [run_id for run_id, _, _ in past_runs.finished_configs(context.engine)]
    assert known == [parent.id]
    assert len(past_runs.measured_runs(context.engine)) == 1
    # the copied epochs are no restart
    kinds = {one.kind for one in diagnosis.explained(context.engine, stored).findings}
    assert "restarts" not in kinds
    family = [run.id for run in forks.branches(context.engine, same)]
    assert family == [parent.id, same.id, other.id]


def test_what_a_fork_cannot_do_is_refused_before_anything_is_stored(
    context: Context, make_run: MakeRun
) -> None:
    parent = trained(context, epochs=1)
    (step,) = forking.steps(context, parent.id)
    for changes, wrong in (
        ({"batch_size": 8}, "batch_size"),
        ({"optimizer": "sgd", "latent_dim": 7}, "latent_dim, optimizer|latent_dim"),
        ({"ema": 0.9, "epochs": 2}, "cannot change ema"),
        ({"precision": "mixed_float16", "epochs": 2}, "cannot change precision"),
        ({}, "leaves nothing to train after epoch 1"),
    ):
        with pytest.raises(ConfigError, match=wrong):
            forking.fork(context, parent.id, changes)
    with pytest.raises(NotAllowed, match=f"no checkpoint of step 7 here; it has {step}"):
        forking.fork(context, parent.id, {"epochs": 2}, step=7)
    without = make_run("without files")
    with pytest.raises(NotAllowed):
        forking.fork(context, without.id, {"epochs": 9})
    lose_model(context, without)
    with pytest.raises(NotAllowed, match="model=gone"):
        forking.fork(context, without.id, {"epochs": 9})
    assert queries.count_runs(context.engine) == 2
    folders = [path.name for path in context.settings.run_dir(parent.id).parent.iterdir()]
    assert folders == [parent.id]


def test_a_checkpoint_of_other_settings_is_not_taken_over(context: Context) -> None:
    parent = trained(context, epochs=1)
    (step,) = forking.steps(context, parent.id)
    config = parse(queries.find_run(context.engine, parent.id).config)
    source, target = (context.settings.run_dir(name) for name in (parent.id, "another"))
    changed = config.model_copy(update={"seed": 5})
    with pytest.raises(reader.CheckpointError, match="other settings or data"):
        checkpoints.adopt(source, target, step, changed, changed, 128)
    assert not target.exists()


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"g_learning_rate": 1e-3, "loss": "hinge", "epochs": 9, "xla": True}, []),
        ({"precision": "mixed_bfloat16", "quality_every": 1}, []),
        ({"seed": 1, "limit": 64, "batch_size": 8}, ["batch_size", "limit", "seed"]),
        ({"ema": 0.9}, ["ema"]),
    ],
)
def test_settings_that_a_fork_may_change(changes: dict[str, object], found: list[str]) -> None:
    base = load("tiny").model_dump()
    assert checkpoints.fixed(parse(base), parse({**base, **changes})) == found
