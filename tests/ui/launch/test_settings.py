"""The settings of the form: which have a widget, and what it says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from ganboard.db.models import Run
from ganboard.gan.config import parse
from ganboard.gan.settings import registry
from ganboard.worker.context import Context
from tests.factories import HARDWARE, make_worker
from tests.ui.launch.form import launch, set_number, setting, widgets
from tests.ui.pages import button, checked, open_page, words

MakeRun = Callable[..., Run]


def explained(at: AppTest) -> set[str]:
    """The settings that have a widget, each checked for its reason."""
    shown = widgets(at)
    for name, widget in shown.items():
        help_text = widget.help.replace("\\", "").replace("\u2060", "")
        assert f"Setting: {name}" in help_text
        described = [str(field.description)[:10] for field in registry.declared(name)]
        assert any(text.split(":")[0] in help_text for text in described)
    return set(shown)


@pytest.mark.usefixtures("context")
def test_every_setting_has_a_widget_with_its_reason_where_it_means_something() -> None:
    at = set_number(open_page("launch", preset="digits"), "quality_every", 0)
    hidden = {
        "images_path",
        "skip_unreadable",
        "gradient_penalty",
        "rho",
        "quality_images",
        "quality_features",
        "lr_base_batch",
        "steps_per_execution",
        "sync_batch_norm",
        "average_every",
        "on_lost_host",
        "scheduler_options",
    }
    hidden |= {"schedule_for", "schedule_period", "schedule_minimum", "schedule_depth"}
    assert explained(at) == set(parse({}).model_dump()) - hidden
    for name, value in {
        "dataset": "images",
        "loss": "wgan_gp",
        "optimizer": "rmsprop",
        "schedule": "cyclic",
        "lr_scaling": "sqrt",
    }.items():
        setting(at, name).set_value(value)
    at = set_number(at, "quality_every", 2)
    assert explained(at) == set(parse({}).model_dump()) - {
        "label_smoothing",
        "beta_1",
        "beta_2",
        "steps_per_execution",
        "sync_batch_norm",
        "average_every",
        "on_lost_host",
        "scheduler_options",
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
    assert explained(at) <= set(registry.get("gan3d").config.model_fields)
    assert "geometry" in explained(at)
    assert setting(at, "dataset").options == ["showers", "hdf5"]


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


@pytest.mark.usefixtures("offline")
def test_absent_weights_are_said_before_the_launch(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_HOME", str(context.settings.home / "keras"))
    at = open_page("launch", preset="starter")
    assert not button(at, "Launch").disabled
    setting(at, "quality_features").set_value("inception")
    at = checked(at.run())
    assert "needs the weights of Keras's InceptionV3" in words(at)
    assert button(at, "Launch").disabled


def test_unreadable_pictures_are_counted_before_the_launch(context: Context) -> None:
    folder = context.settings.data / "pictures"
    folder.mkdir(parents=True)
    for number in range(70):
        Image.new("L", (28, 28), number).save(folder / f"{number:02}.png")
    (folder / "broken.png").write_bytes(b"<html>")
    at = open_page("launch", preset="digits")
    setting(at, "dataset").set_value("images")
    at = set_number(checked(at.run()), "quality_every", 0)
    setting(at, "images_path").set_value("pictures")
    assert "unreadable headers" not in words(checked(at.run()))
    setting(at, "skip_unreadable").set_value(True)
    assert "1 of 71 pictures have unreadable headers" in words(checked(at.run()))


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


@pytest.mark.usefixtures("context")
def test_data_sets_of_other_models_are_not_missed() -> None:
    at = open_page("launch")
    absent = "folder or HDF5 file of showers"
    assert absent not in words(at)
    setting(at, "model").set_value("gan3d")
    at = checked(at.run())
    assert absent not in words(at)
    setting(at, "dataset").set_value("hdf5")
    said = words(checked(at.run()))
    assert absent in said
    assert "fashion_mnist is not in" not in said


def test_differences_are_counted_listed_and_explained(make_run: MakeRun) -> None:
    parent = make_run("parent")
    at = set_number(open_page("launch", clone=parent.id), "batch_size", 64)
    assert at.tabs[0].label.replace("\\", "") == "vs “parent” (1)"
    assert at.dataframe[0].value.to_numpy().tolist() == [["batch_size", "32", "64"]]
    said = words(at)
    assert "**limit**: all → 128" in said
    assert "an epoch is shorter than the study's" in said
    assert "**batch_size**" not in said  # 64 is the study's own


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
