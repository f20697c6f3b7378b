"""The page that launches runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from ganboard.app.launch import settings_form
from ganboard.db.models import Run
from ganboard.db.runs import commands, queries
from ganboard.gan.config import RunConfig
from ganboard.gan.costs import estimate
from ganboard.gan.presets import load
from ganboard.gan.settings.models import ignored
from ganboard.worker import formatting
from ganboard.worker.context import Context
from tests.factories import HARDWARE, HOSTILE_NAMES, make_worker
from tests.ui.pages import button, checked, open_page, words

MakeRun = Callable[..., Run]
EPOCHS = load("starter").epochs


def set_number(at: AppTest, name: str, value: float | str) -> AppTest:
    setting(at, name).set_value(str(value))
    return checked(at.run())


def metrics(at: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in at.metric}


def launch(context: Context, at: AppTest) -> Run:
    before = {run.id for run in queries.list_runs(context.engine)}
    at = checked(button(at, "Launch").click().run())
    new = [run for run in queries.list_runs(context.engine) if run.id not in before]
    assert len(new) == 1
    assert at.query_params["run"] == new[0].id
    return new[0]


def widgets(at: AppTest) -> dict[str, Any]:
    """The form's widgets by the name of their setting."""
    found = [*at.selectbox, *at.toggle, *at.text_input]
    return {
        match[1]: widget
        for widget in found
        if widget.key and (match := re.fullmatch(r"set_(\w+)_\d+", widget.key))
    }


def setting(at: AppTest, name: str) -> Any:
    """The widget of a setting."""
    return widgets(at)[name]


def value(at: AppTest, name: str) -> Any:
    """The value of a setting that its widget shows."""
    return settings_form.read(name, setting(at, name).value)


def explained(at: AppTest) -> set[str]:
    """The settings that have a widget, each checked for its reason."""
    shown = widgets(at)
    for name, widget in shown.items():
        help_text = widget.help.replace("\\", "").replace("\u2060", "")
        assert f"Setting: {name}" in help_text
        assert (RunConfig.model_fields[name].description or "")[:10].split(":")[0] in help_text
    return set(shown)


@pytest.mark.usefixtures("context")
def test_every_setting_has_a_widget_with_its_reason_where_it_means_something() -> None:
    at = set_number(open_page("launch"), "quality_every", 0)
    hidden = {
        "geometry",
        "images_path",
        "skip_unreadable",
        "gradient_penalty",
        "rho",
        "quality_images",
        "lr_base_batch",
    }
    hidden |= {"schedule_for", "schedule_period", "schedule_minimum", "schedule_depth"}
    assert explained(at) == set(RunConfig.model_fields) - hidden
    for name, value in {
        "dataset": "images",
        "loss": "wgan_gp",
        "optimizer": "rmsprop",
        "schedule": "cyclic",
        "lr_scaling": "sqrt",
    }.items():
        setting(at, name).set_value(value)
    at = set_number(at, "quality_every", 2)
    assert explained(at) == set(RunConfig.model_fields) - {
        "geometry",
        "label_smoothing",
        "beta_1",
        "beta_2",
    }
    setting(at, "schedule").set_value("cosine_restart")
    setting(at, "optimizer").set_value("sgd")
    setting(at, "model").set_value("gan3d")
    assert explained(checked(at.run())) & {
        "schedule_period",
        "schedule_minimum",
        "beta_1",
        "rho",
        "epsilon",
    } == {"schedule_period", "beta_1"}
    assert not explained(at) & set(ignored("gan3d"))
    assert "geometry" in explained(at)
    assert "model=gan3d does not learn from dataset=images: choose one of showers, hdf5." in words(
        at
    )


def test_what_is_hidden_counts_as_its_default(context: Context) -> None:
    at = set_number(open_page("launch"), "label_smoothing", 0.1)
    setting(at, "loss").set_value("wgan_gp")
    at = set_number(checked(at.run()), "gradient_penalty", 5.0)
    assert "label_smoothing" not in words(at)  # which no one could mend: its widget is gone
    setting(at, "loss").set_value("hinge")
    at = checked(at.run())
    assert any("Training" in box.label and "1 changed" in box.label for box in at.expander)
    run = launch(context, at)
    assert (run.config["loss"], run.config["label_smoothing"], run.config["gradient_penalty"]) == (
        "hinge",
        0.0,
        10.0,
    )


def test_what_was_hidden_comes_back_with_its_value(context: Context) -> None:
    at = set_number(open_page("launch"), "label_smoothing", 0.1)
    for loss in ("hinge", "saturating"):
        setting(at, "loss").set_value(loss)
        at = checked(at.run())
    assert launch(context, at).config["label_smoothing"] == 0.1


@pytest.mark.usefixtures("context")
def test_the_image_folder_is_asked_for_when_it_is_needed() -> None:
    at = open_page("launch")
    assert "images_path" not in widgets(at)
    setting(at, "dataset").set_value("images")
    at = checked(at.run())
    assert "images_path" in widgets(at)
    assert "dataset=images needs images_path" in words(at)
    assert button(at, "Launch").disabled


def test_unreadable_pictures_are_counted_before_the_launch(context: Context) -> None:
    folder = context.settings.data / "pictures"
    folder.mkdir(parents=True)
    for number in range(70):
        Image.new("L", (28, 28), number).save(folder / f"{number:02}.png")
    (folder / "broken.png").write_bytes(b"<html>")
    at = open_page("launch")
    setting(at, "dataset").set_value("images")
    at = set_number(checked(at.run()), "quality_every", 0)
    setting(at, "images_path").set_value("pictures")
    assert "unreadable headers" not in words(checked(at.run()))
    setting(at, "skip_unreadable").set_value(True)
    assert "1 of 71 pictures have unreadable headers" in words(checked(at.run()))


def test_launching_stores_the_run_and_opens_it(context: Context) -> None:
    run = launch(context, open_page("launch"))
    assert (run.status, run.preset, run.name) == ("queued", "starter", "starter")
    assert RunConfig.model_validate(run.config).epochs == EPOCHS


def test_name_and_settings_are_kept(context: Context) -> None:
    at = open_page("launch")
    at.text_input(key="launch_name").set_value("  my **run**  ")
    setting(at, "xla").set_value(True)
    setting(at, "g_learning_rate").set_value("3e-4")
    run = launch(context, set_number(at, "batch_size", 128))
    assert run.name == "my **run**"
    assert (run.config["batch_size"], run.config["xla"], run.config["g_learning_rate"]) == (
        128,
        True,
        3e-4,
    )


def test_a_double_click_launches_one_run(context: Context, make_run: MakeRun) -> None:
    first = make_run("made by the first click", status="queued")
    at = open_page("launch")
    at.session_state["launch_last"] = {"run": first.id}
    at = checked(button(at, "Launch").click().run())
    assert at.query_params["run"] == first.id
    assert queries.count_runs(context.engine) == 1


def test_a_visit_between_two_clicks_means_two_runs(context: Context) -> None:
    at = open_page("launch")
    launch(context, at)
    at.switch_page("pages/launch.py")
    launch(context, checked(at.run()))
    assert queries.count_runs(context.engine) == 2


@pytest.mark.usefixtures("context")
def test_presets_fill_the_form() -> None:
    at = open_page("launch")
    assert (value(at, "epochs"), value(at, "dataset")) == (EPOCHS, "digits")
    at = checked(button(at, "Use paper").click().run())
    assert (value(at, "epochs"), value(at, "dataset")) == (30, "mnist")
    assert "The published study exactly" in words(at)
    assert "mnist · batch 64 · 30 epochs" in words(at)
    assert at.query_params["preset"] == "paper"
    assert [line for line in words(at).splitlines() if "In use" in line] == [
        "**paper** :green-badge[:material/check: In use]"
    ]


@pytest.mark.usefixtures("context")
def test_the_plan_follows_the_settings() -> None:
    at = set_number(open_page("launch"), "batch_size", 100)
    assert metrics(at) == {
        "Steps per epoch": "17",
        "Total steps": str(17 * EPOCHS),
        "Replicas": "1",
        "Batch per replica": "100",
        "Dropped per epoch": "97",
        "Training time": "unknown",
        "Images at a time": "100",
        "Memory": formatting.size(estimate.estimate(load("starter", {"batch_size": 100}), 1797)),
        "Largest batch": "unknown",
    }
    at = set_number(at, "replicas", 2)
    assert metrics(at)["Batch per replica"] == "50"
    assert metrics(set_number(at, "accumulate", 5))["Images at a time"] == "10"


def test_memory_is_that_of_the_machine_that_would_train(context: Context) -> None:
    make_worker(context)
    at = open_page("launch")
    config = load("starter")
    assert (
        metrics(at)["Largest batch"]
        == f"{estimate.largest_batch(config, HARDWARE['memory_bytes'], 1797):,}"
    )
    make_worker(context, devices={**HARDWARE, "gpus": [{"name": "H200", "memory_bytes": 1 << 37}]})
    assert metrics(checked(at.run()))["Memory"] == formatting.size(
        estimate.estimate(config, 1797, on_gpu=True)
    )


def test_the_time_is_measured_on_a_run_like_this(make_run: MakeRun) -> None:
    # 0.01 s an image
    make_run(
        "before",
        batch_size=32,
        limit=None,
        precision="mixed_bfloat16",
        steps_per_epoch=10,
        seconds_per_epoch=3.2,
    )
    # 30 epochs of 56 steps of 32
    assert metrics(open_page("launch"))["Training time"] == "8 min 58 s"


def test_the_time_says_what_it_comes_from(make_run: MakeRun) -> None:
    for batch, seconds in ((64, 6.4), (128, 10.24)):  # 0.010 and 0.008 s an image
        make_run(
            batch_size=batch,
            limit=None,
            precision="mixed_bfloat16",
            steps_per_epoch=10,
            seconds_per_epoch=seconds,
        )
    at = open_page("launch")
    assert " to " in metrics(at)["Training time"]
    assert "Time from 2 runs with batch 64 and 128, on testbox." in words(at)
    setting(at, "xla").set_value(True)
    assert metrics(checked(at.run()))["Training time"] == "unknown"


def test_the_queue_says_when_a_run_would_begin(context: Context, make_run: MakeRun) -> None:
    make_worker(context)
    at = open_page("launch")
    assert "0 in training, 0 waiting: a run launched now starts immediately." in words(at)
    run = make_run("now", status="running", epochs=3)  # 2 s an epoch, ten more
    make_worker(context, run_id=run.id)
    make_run("next", status="queued", epochs=2)
    at = checked(at.run())
    assert "1 in training, 1 waiting: a run launched now would start in about" in words(at)
    make_run("unlike any", status="queued", loop="fit")
    assert "is unknown" in words(checked(at.run()))


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (
            "replicas",
            3,
            (
                "batch_size=32 does not divide among replicas=3: use a multiple of 3, such as 30"
                " or 33."
            ),
        ),
        (
            "g_learning_rate",
            0.0,
            "g_learning_rate=0.0 is not allowed: it must be more than 0.0 (default 0.0001).",
        ),
        ("batch_size", 0, "batch_size=0 is not allowed: it must be at least 1"),
        ("batch_size", 12.5, "batch_size=12.5 is not allowed: it must be a whole number"),
        ("batch_size", "1e", "batch_size=1e is not allowed: it must be a whole number"),
        ("epochs", "", "epochs= is not allowed: it must be a whole number"),
        ("beta_1", "half", "beta_1=half is not allowed: it must be a number"),
        ("limit", 10, "batch_size=32 is larger than limit=10: lower batch_size or raise limit."),
        (
            "batch_size",
            60_000,
            (
                "batch_size=60000 is larger than the data set (1797 images of digits): use 1797 or"
                " less."
            ),
        ),
    ],
)
def test_bad_values_give_one_sentence_and_no_launch(name: str, value: float, sentence: str) -> None:
    at = set_number(open_page("launch"), name, value)
    assert sentence in words(at)
    assert button(at, "Launch").disabled


@pytest.mark.usefixtures("context")
def test_a_name_with_hidden_characters_is_refused() -> None:
    at = open_page("launch")
    at.text_input(key="launch_name").set_value("abc\u202edef")
    at = checked(at.run())
    assert "invisible or control character U+202E" in words(at)
    assert button(at, "Launch").disabled


def test_what_no_worker_has_is_off_and_says_why(context: Context) -> None:
    make_worker(context)
    at = open_page("launch")
    assert "mixed_float16" not in setting(at, "precision").options
    assert "precision=mixed_float16 needs a GPU and none was found" in words(at)
    assert "tpu" not in setting(at, "strategy").options
    assert not at.warning


def test_a_gpu_worker_brings_its_precision(context: Context) -> None:
    make_worker(context, devices={**HARDWARE, "gpus": [{"name": "H200", "memory_bytes": 1 << 37}]})
    assert "mixed_float16" in setting(open_page("launch"), "precision").options


@pytest.mark.usefixtures("context")
def test_without_a_worker_it_says_so() -> None:
    at = open_page("launch")
    assert "No worker is running" in at.warning[0].value
    assert "mixed_float16" in setting(at, "precision").options
    assert "fashion_mnist is not in" in words(at)


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


def test_differences_are_counted_listed_and_explained(make_run: MakeRun) -> None:
    parent = make_run("parent")
    at = set_number(open_page("launch", clone=parent.id), "batch_size", 64)
    assert at.tabs[0].label.replace("\\", "") == "vs “parent” (1)"
    assert at.dataframe[0].value.to_numpy().tolist() == [["batch_size", "32", "64"]]
    said = words(at)
    assert "**limit**: all → 128" in said
    assert "an epoch is shorter than the study's" in said
    assert "**batch_size**" not in said  # 64 is the study's own


@pytest.mark.usefixtures("context")
def test_a_group_goes_back_to_its_preset() -> None:
    at = set_number(set_number(open_page("launch"), "seed", 7), "beta_1", 0.9)
    at = checked(button(at, "Reset Training to starter").click().run())
    assert (value(at, "seed"), value(at, "beta_1")) == (0, 0.9)
    assert not any(box.label == "Reset Training to starter" for box in at.button)


def test_a_setting_is_found_and_keeps_its_value(context: Context) -> None:
    at = set_number(open_page("launch"), "seed", 7)
    at.text_input(key="launch_search").set_value("smoothing")
    at = checked(at.run())
    assert set(widgets(at)) == {"label_smoothing"}
    at.text_input(key="launch_search").set_value("rmsprop's decay")
    assert "Hidden (no effect with the current settings): RMSprop's rho." in words(
        checked(at.run())
    )
    at.text_input(key="launch_search").set_value("nothing like this")
    assert "No matching settings" in words(checked(at.run()))
    assert launch(context, at).config["seed"] == 7


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
    assert at.text_input(key="launch_name").value == f"{name[:73]} (clone)"
    assert not any(markdown.allow_html for markdown in at.markdown)


def test_a_run_of_a_newer_version_can_be_cloned(context: Context) -> None:
    config = {
        **RunConfig(dataset="digits").model_dump(mode="json"),
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


@pytest.mark.usefixtures("context")
def test_a_preset_in_the_address() -> None:
    assert value(open_page("launch", preset="tiny"), "epochs") == 2
    at = open_page("launch", preset="of long ago <b>")
    assert (
        "There is no preset 'of long ago <b>': choose one of starter, paper, tiny, showers,"
        " showers_tiny, vortex_street, vortex_street_tiny." in words(at)
    )
    assert value(at, "epochs") == EPOCHS
