"""The page that launches runs: what a click stores, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.config import parse
from ganboard.worker.context import Context
from tests.ui.launch.form import EPOCHS, launch, set_number, setting, value
from tests.ui.pages import button, checked, open_page, words

MakeRun = Callable[..., Run]


def test_launching_stores_the_run_and_opens_it(context: Context) -> None:
    run = launch(context, open_page("launch"))
    assert (run.status, run.preset, run.name) == ("queued", "starter", "starter")
    assert parse(run.config).epochs == EPOCHS


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
def test_a_group_goes_back_to_its_preset() -> None:
    at = set_number(set_number(open_page("launch"), "seed", 7), "beta_1", 0.9)
    at = checked(button(at, "Reset Training to starter").click().run())
    assert (value(at, "seed"), value(at, "beta_1")) == (0, 0.9)
    assert not any(box.label == "Reset Training to starter" for box in at.button)


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
    at = set_number(open_page("launch", preset="digits"), name, value)
    assert sentence in words(at)
    assert button(at, "Launch").disabled


@pytest.mark.usefixtures("context")
def test_a_name_with_hidden_characters_is_refused() -> None:
    at = open_page("launch")
    at.text_input(key="launch_name").set_value("abc\u202edef")
    at = checked(at.run())
    assert "invisible or control character U+202E" in words(at)
    assert button(at, "Launch").disabled


@pytest.mark.usefixtures("context")
def test_a_preset_in_the_address() -> None:
    assert value(open_page("launch", preset="tiny"), "epochs") == 2
    at = open_page("launch", preset="of long ago <b>")
    assert (
        "There is no preset 'of long ago <b>': choose one of starter, mnist, paper,"
        " digits, pictures, pictures_gpu, tiny, showers, showers_tiny, vortex_street,"
        " vortex_street_256, vortex_street_tiny." in words(at)
    )
    assert value(at, "epochs") == EPOCHS


@pytest.mark.usefixtures("context")
def test_going_back_brings_the_former_preset_and_a_late_click_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = open_page("launch", preset="paper")
    at = checked(at.button(key="use_tiny").click().run())
    at.query_params["preset"] = "paper"
    assert value(checked(at.run()), "epochs") == 2
    monkeypatch.setattr("ganboard.app.pages.launch.SETTLED", 0.0)
    at = checked(at.button(key="use_tiny").click().run())
    at.query_params["preset"] = "paper"
    assert value(checked(at.run()), "epochs") == 30


def test_a_model_that_cannot_be_read_is_named_and_the_others_are_offered(
    named: Callable[..., None], context: Context
) -> None:
    named(torn="def generator(config:\n")
    at = open_page("launch")
    assert "A model is not offered. " in words(at)
    assert "torn.py: line 1 is not valid Python" in words(at)
    assert "dcgan" in setting(at, "model").options
    assert "torn" not in setting(at, "model").options
