"""The page of studies."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ganboard.db import studies
from ganboard.db.models import Run, Study
from ganboard.db.runs import queries
from ganboard.gan.studies import FIGURES, NAMES, built_in
from ganboard.worker.context import Context
from tests.factories import HOSTILE_NAMES
from tests.ui.pages import button, checked, open_page, words
from tests.ui.pictures import figures

MakeRun = Callable[..., Run]


def stored(context: Context, runs: list[Run], title: str = "Mine") -> Study:
    study = Study(
        name="mine", title=title, definition={"purpose": f"Why {title}?", "figures": list(FIGURES)}
    )
    studies.store(context.engine, study, counted={"all": [run.id for run in runs]}, missing=[])
    return study


@pytest.mark.usefixtures("context")
def test_without_studies_it_says_what_one_is_and_offers_each() -> None:
    at = open_page("studies")
    assert "A study is a set of runs that answers a question" in words(at)
    for name in NAMES:
        assert built_in(name, "tiny").purpose in words(at)
    at = checked(at.button(key="study_scaling").click().run())
    assert at.selectbox(key="study_name").value == "scaling"


def test_figures_claims_and_verdicts(context: Context, make_run: MakeRun) -> None:
    runs = [make_run(f"run {batch}", epochs=3, batch_size=batch) for batch in (16, 32)]
    at = open_page("studies", study=stored(context, runs).id)
    said = words(at)
    assert "From batch 64 to 512 the training time on 8 TPU cores falls by 79 %" in said
    assert "from the fit" in said
    assert "cannot be tested here" in said
    # of Figs. 5, 6, 7 and 10
    assert said.count("needs 3 seeds, has 1; needs batch sizes 64 to 512, has 16, 32") == 2 * 4
    assert "reproduced" not in said.replace("not reproduced here", "")
    assert at.get("progress")[0].proto.text == "2 of 2 runs finished"
    # all but Table 1, XLA, quality, replicas and forecast, for which runs are lacking
    assert len(figures(at)) == 8
    assert len(at.get("download_button")) == 8
    # the numbers of each, what others published, and what is predicted for their machines
    predicted = [frame for frame in at.dataframe if "host_ms" in frame.value]
    assert (len(at.dataframe), len(predicted)) == (8 + 1 + 4, 3)
    for verdict in ("consistent", "not consistent", "no prediction"):
        assert f"predicted for TPU v3-8: {verdict}]" in said


def test_a_study_under_way(context: Context, make_run: MakeRun) -> None:
    runs = [
        make_run("done"),
        make_run("trains", status="running", epochs=1),
        make_run("broke", status="failed"),
    ]
    at = open_page("studies", study=stored(context, runs).id)
    assert at.get("progress")[0].proto.text.startswith("1 of 3 runs finished · 1 stopped or failed")
    assert "Finished so far: 1 (1" in words(at)
    assert "trains" in [link.proto.label for link in at.get("page_link")]


def test_an_unknown_study(context: Context, make_run: MakeRun) -> None:
    stored(context, [make_run()])
    for address in ("gone", "<b>", "a" * 500):
        checked(open_page("studies", study=address))
    assert "There is no study with this id" in words(open_page("studies", study="gone"))


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_titles_are_text(context: Context, make_run: MakeRun, name: str) -> None:
    at = open_page("studies", study=stored(context, [make_run(name)], title=name).id)
    assert not any(markdown.allow_html for markdown in at.markdown)


def test_launching_from_the_page(context: Context) -> None:
    at = open_page("studies")
    at.session_state["study_name"], at.session_state["study_budget"] = "batch-size", "tiny"
    button(at, "Launch a study").click()
    at = checked(at.run())
    assert "2 runs, 2 to train" in words(at)
    at = checked(at.get_by_key("study_launch").click().run())
    (study, _), *others = studies.listed(context.engine)
    assert (study.name, others) == ("batch-size", [])
    assert {run.config["batch_size"] for run in queries.list_runs(context.engine)} == {16, 32}
    assert at.query_params["study"] == study.id
    assert at.get("progress")[0].proto.text.startswith("0 of 2 runs finished")


def test_a_study_whose_data_are_absent_is_refused_with_a_sentence(context: Context) -> None:
    at = open_page("studies")
    button(at, "Launch a study").click()
    at = checked(at.run())
    assert "mnist is not on this machine" in words(at)
    assert studies.listed(context.engine) == []


def test_the_budgets_are_those_of_the_study(context: Context) -> None:
    at = open_page("studies")
    at.session_state["study_name"], at.session_state["study_budget"] = (
        "vortex_street",
        "paper-small",
    )
    button(at, "Launch a study").click()
    at = checked(at.run())
    assert "18 runs, 18 to train" in words(at)
    assert "paper-small: the same batches on 256 pairs" in words(at)
    assert studies.listed(context.engine) == []
