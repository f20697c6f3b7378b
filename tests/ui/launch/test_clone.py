"""The form filled with the settings of another run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ganboard.db.models import Run
from ganboard.db.runs import commands
from ganboard.gan.models.dcgan.config import Config
from ganboard.worker.context import Context
from tests.factories import HOSTILE_NAMES, lose_model
from tests.ui.launch.form import EPOCHS, launch, set_number, value
from tests.ui.pages import checked, open_page, words

MakeRun = Callable[..., Run]


def test_clone_starts_from_the_run(context: Context, make_run: MakeRun) -> None:
    parent = make_run("the **parent**", batch_size=16, seed=7, preset="tiny")
    at = open_page("launch", clone=parent.id)
    assert (value(at, "batch_size"), value(at, "seed")) == (16, 7)
    assert "Starts from the settings of “the **parent**”" in words(at)
    child = launch(context, set_number(at, "seed", 8))
    assert (child.parent_id, child.name, child.preset) == (
        parent.id,
        "the **parent** (clone)",
        "tiny",
    )
    assert child.config == {**parent.config, "seed": 8}


def test_a_run_of_a_model_that_is_not_here_is_read_but_not_cloned(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run("orphan", status="stopped")
    lose_model(context, run)
    at = open_page("launch", clone=run.id)
    assert "model=gone of this run is not here" in words(at)
    assert "GANBOARD_MODELS" in words(at)
    assert value(at, "epochs") == EPOCHS
    at = open_page("run", run=run.id)
    assert "the run can be read, but not resumed or cloned" in words(at)
    assert at.button(key="resume").disabled
    at = open_page("run", run=run.id, view="Config")
    frames = [frame.value for frame in at.dataframe if "Setting" in frame.value]
    # nothing is known of its groups and defaults
    assert [list(frame.columns) for frame in frames] == [["Setting", "Value"]]
    assert at.button(key="clone_run").disabled


@pytest.mark.usefixtures("context")
def test_a_clone_of_an_unknown_run_says_so() -> None:
    at = open_page("launch", clone="nosuchrun1")
    assert "There is no run nosuchrun1" in words(at)
    assert value(at, "epochs") == EPOCHS
    assert not open_page("launch", clone="../../etc").error


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_clones_of_hostile_names(make_run: MakeRun, name: str) -> None:
    parent = make_run(name)
    at = open_page("launch", clone=parent.id)
    assert at.text_input(key="launch_name").value == f"{name[:72]} (clone)"
    assert not any(markdown.allow_html for markdown in at.markdown)


def test_a_run_of_a_newer_version_can_be_cloned(context: Context) -> None:
    config = {
        **Config(dataset="digits").model_dump(mode="json"),
        "from_the_future": 1,
        "precision": "float8",
    }
    parent = commands.create_run(
        context.engine, name="new", config=config, preset="a preset of that version"
    )
    at = open_page("launch", clone=parent.id)
    assert "This version does not support " in words(at)
    assert "precision=float8" in words(at)
    run = launch(context, at)
    assert "from_the_future" not in run.config
    assert (run.config["precision"], run.preset) == ("float32", "a preset of that version")


def test_a_run_that_is_deleted_while_its_clone_is_edited_costs_nothing(
    context: Context, make_run: MakeRun
) -> None:
    parent = make_run("parent")
    at = set_number(open_page("launch", clone=parent.id), "seed", 7)
    commands.delete_run(context.engine, run_id=parent.id)
    at = checked(at.run())
    assert f"Run {parent.id} has been deleted" in words(at)
    assert value(at, "seed") == 7
