"""A run is forked from its page, by way of the form."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ganboard.db.models import Run
from ganboard.db.runs import forks, queries
from ganboard.gan.config import parse
from ganboard.worker.context import Context
from tests import stored
from tests.ui.launch.form import launch, set_number
from tests.ui.pages import button, checked, open_page, words

MakeRun = Callable[..., Run]
STEP = 12  # of the checkpoint, after three epochs


@pytest.fixture
def parent(context: Context, make_run: MakeRun) -> Run:
    """A run of which one checkpoint is on disk."""
    run = make_run("the parent", status="stopped", epochs=3)
    stored.store(parse(run.config), context.settings.run_dir(run.id) / "checkpoints", step=STEP)
    return run


def test_a_fork_continues_with_the_settings_of_the_form(context: Context, parent: Run) -> None:
    at = open_page("run", run=parent.id)
    assert at.selectbox(key="fork_step").options == [f"Epoch 3, step {STEP}"]
    assert button(at, "Fork here").disabled is False
    at = open_page("launch", clone=parent.id, step=str(STEP))
    assert f"Continues “the parent” ({parent.id}) after step {STEP}, epoch 3" in words(at)
    child = launch(context, set_number(at, "epochs", 20))
    assert (child.status, child.epoch, child.step) == ("queued", 3, STEP)
    assert child.config == {**parent.config, "epochs": 20}
    assert child.facts[forks.FORKED] == f"step {STEP} of run {parent.id}"
    at = open_page("run", run=parent.id)
    assert button(at, "Compare 2 branches")


def test_the_form_says_which_change_a_fork_cannot_take(context: Context, parent: Run) -> None:
    at = open_page("launch", clone=parent.id, step=str(STEP))
    at = set_number(at, "batch_size", 16)
    assert "A fork cannot change batch_size" in words(at)
    assert button(at, "Launch").disabled
    at = checked(set_number(at, "batch_size", parent.config["batch_size"]))
    assert not button(at, "Launch").disabled


def test_a_checkpoint_that_is_gone_leaves_a_clone(context: Context, parent: Run) -> None:
    at = open_page("launch", clone=parent.id, step="99")
    assert f"Run {parent.id} has no checkpoint of step 99 any more" in words(at)
    child = launch(context, at)
    assert (child.epoch, forks.FORKED in child.facts) == (0, False)
    assert queries.count_runs(context.engine) == 2
