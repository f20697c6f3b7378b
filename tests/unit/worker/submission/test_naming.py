"""Names of runs are readable, within limits, and say what sets a run apart."""

from __future__ import annotations

import pytest

from ganboard.gan.config import parse
from ganboard.gan.presets import load
from ganboard.worker.errors import BadName
from ganboard.worker.submission.naming import NAME_LENGTH, check_name, default_name


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("x" * 10_000, "10000 characters; the limit is 80"),
        ("a\u202eb", "U+202E"),
        ("a\x00b", "U+0000"),
        ("a\nb", "U+000A"),
        ("a\u200bb", "U+200B"),
        ("\ud800", "U+D800"),
    ],
)
def test_names_that_hide_or_flood_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(BadName) as error:
        check_name(text)
    assert complaint in str(error.value)


def test_names_in_any_script_are_kept() -> None:
    assert check_name("  e\u0301tude 漢字 👩\u200d🔬 <b> ") == "étude 漢字 👩\u200d🔬 <b>"


def test_default_names_say_what_is_special() -> None:
    assert default_name(parse({}), "") == "mnist"
    assert default_name(load("starter"), "starter") == "starter"
    assert default_name(load("starter", {"xla": True}), "starter") == "starter, xla"
    assert (
        default_name(parse({"batch_size": 128, "xla": True, "replicas": 2}), "")
        == "mnist, batch 128, xla, replicas 2"
    )
    assert default_name(parse({"batch_size": 128}), "a preset of long ago") == "mnist, batch 128"
    other = parse({"model": "convgan", "dataset": "digits", "batch_size": 128})
    assert default_name(other, "starter") == "convgan, digits, batch 128"


def test_runs_that_differ_in_what_they_train_have_different_names() -> None:
    one, two = (load("mnist", {"ema": 0, "seed": seed}) for seed in (1, 2))
    assert default_name(one, "mnist") == "mnist, ema 0, seed 1"
    assert default_name(two, "mnist") == "mnist, ema 0, seed 2"
    recorded = {"grid_every": 3, "quality_every": 1, "keep_checkpoints": 9, "tensorboard": True}
    without_effect = {"quality_images": 500}
    assert default_name(load("mnist", {**recorded, "loop": "fit"}), "mnist") == "mnist, loop fit"
    assert default_name(parse(without_effect), "") == "mnist"


@pytest.mark.parametrize("path", ["a\u202eb", "a\nb"])
def test_a_default_name_is_valid_whatever_a_setting_holds(path: str) -> None:
    name = default_name(parse({"dataset": "images", "images_path": path}), "")
    assert check_name(name) == name


def test_a_default_name_keeps_the_limit() -> None:
    many = {"seed": 12, "g_learning_rate": 0.0123, "d_learning_rate": 0.0321, "epochs": 123}
    name = default_name(
        load("mnist", {**many, "limit": 12345, "batch_size": 128, "xla": True}), "mnist"
    )
    assert len(name) <= NAME_LENGTH
    assert name.endswith("…")
    assert check_name(name) == name
