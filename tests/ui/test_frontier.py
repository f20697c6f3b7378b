"""The page on what quality costs: dots, front, target, and what may be compared."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from ganboard.db.models import Run
from ganboard.db.runs import annotations
from ganboard.gan.settings.features import FACT
from ganboard.worker.context import Context
from tests.factories import HOSTILE_NAMES
from tests.ui.pages import checked, open_page, words
from tests.ui.pictures import captions, figures, numbers

MakeRun = Callable[..., Run]


def dots(at: AppTest) -> dict[str, tuple[float, float]]:
    """Where the best evaluation of each run is, by run id."""
    found = {}
    for trace in figures(at)[0]["data"]:
        if trace["uid"].startswith("runs-"):
            places = zip(numbers(trace["x"]), numbers(trace["y"]), strict=True)
            ids = [run_id for run_id, *_ in trace["customdata"]]
            found |= dict(zip(ids, places, strict=True))
    return found


@pytest.fixture
def runs(make_run: MakeRun) -> list[Run]:
    """Three seeds of a quick configuration, FIDs 12, 10 and 8.67 after 4 epochs, and a slow one
    with 12."""
    quick = [
        make_run(f"quick {seed}", epochs=4, quality_every=1, seed=seed, seconds_per_epoch=1.0)
        for seed in range(3)
    ]
    return [
        *quick,
        make_run("slow", epochs=4, quality_every=1, batch_size=64, seconds_per_epoch=9.0),
        make_run("never evaluated"),
    ]


def test_best_evaluation_of_every_run(runs: list[Run]) -> None:
    at = open_page("frontier")
    expected = {runs[0].id: (4, 12), runs[1].id: (4, 10), runs[2].id: (4, 40 / 6 + 2)}
    expected[runs[3].id] = (36, 12)
    found = dots(at)
    assert found.keys() == expected.keys()
    assert all(found[run_id] == pytest.approx(place) for run_id, place in expected.items())
    (front,) = [trace for trace in figures(at)[0]["data"] if trace["uid"] == "front-runs"]
    assert numbers(front["x"]) == [1, 2, 3, 4]
    assert {run_id for run_id, *_ in front["customdata"]} == {runs[2].id}


def test_the_cheapest_configuration_that_reaches_a_target(runs: list[Run]) -> None:
    at = open_page("frontier", goal="10")
    assert (
        "The cheapest configuration that reaches **FID 10**: **batch_size 32**, median 4.0 s"
        " (2 of 3 runs)."
    ) in words(at)
    table = at.dataframe[0].value
    assert table["Configuration"].tolist() == ["batch_size 32"]
    assert table["Reached by"].tolist() == ["2 of 3"]
    at = checked(at.get_by_key("goal").set_value(12.0).run())
    assert "median 3.0 s (3 of 3 runs)" in words(at)
    assert at.dataframe[0].value["Configuration"].tolist() == ["batch_size 32", "batch_size 64"]
    at = checked(at.get_by_key("goal").set_value(9.0).run())
    assert "No configuration reaches **FID 9** in most of its runs." in words(at)
    assert "4.0 s (1 of 3 runs of this configuration)" in words(at)
    at = checked(at.get_by_key("goal").set_value(1.0).run())
    assert "No run has reached **FID 1** yet; the best value is **8.67**." in words(at)


def test_costs(runs: list[Run]) -> None:
    at = open_page("frontier", goal="12", cost="Images seen")
    found = dots(at)
    assert found[runs[0].id][0] == 4 * 4 * 32
    assert found[runs[3].id][0] == 4 * 4 * 64
    assert "median 384 images" in words(at)
    at = open_page("frontier", cost="Seconds from submission")
    assert all(0 < seconds < 600 for seconds, _ in dots(at).values())
    assert "Energy and money are not recorded" in words(at)


def test_a_dot_of_the_address_is_previewed(runs: list[Run]) -> None:
    at = open_page("frontier", dot=f"{runs[3].id}@2")
    assert "**FID 22.00** after 18 s, epoch 2" in words(at)
    assert captions(at) == ["After epoch 2"]
    (ring,) = [trace for trace in figures(at)[0]["data"] if trace["uid"] == "chosen"]
    assert (numbers(ring["x"]), numbers(ring["y"])) == ([18], [22])
    for forged in ("gone@2", f"{runs[3].id}@99", "<script>", f"{runs[3].id}@-1"):
        assert captions(open_page("frontier", dot=forged)) == ["After epoch 4"]


def test_a_higher_metric_is_better_upwards(runs: list[Run]) -> None:
    at = open_page("frontier", metric="Recall")
    assert dots(at)[runs[3].id] == pytest.approx((36, 0.54))
    at = checked(at.get_by_key("goal").set_value(0.53).run())
    assert "reaches **Recall 0.53**: **batch_size 32**, median 3.0 s (3 of 3 runs)" in words(at)


def test_another_metric_has_another_target(runs: list[Run]) -> None:
    at = open_page("frontier", goal="10")
    at = checked(at.get_by_key("metric").set_value("KID").run())
    assert at.get_by_key("goal").value == pytest.approx(0.0096)


def test_only_comparable_numbers_share_a_figure(make_run: MakeRun, context: Context) -> None:
    usual = [make_run(f"u{n}", epochs=2, quality_every=1, seed=n) for n in range(3)]
    encoder = make_run("e", epochs=2, quality_every=1, facts={FACT: f"encoder {'0' * 16}"})
    more = make_run("m", epochs=2, quality_every=1, quality_images=500)
    other = make_run("o", epochs=2, quality_every=1, dataset="mnist")
    archived = make_run("a", epochs=2, quality_every=1)
    annotations.archive(context.engine, run_ids=[archived.id])
    at = open_page("frontier")
    assert dots(at).keys() == {run.id for run in usual}
    offered = at.get_by_key("evaluated").options
    (by_encoder,) = [entry for entry in offered if entry.startswith("encoder features, ")]
    (of_more,) = [entry for entry in offered if entry == "classifier features, 500 samples"]
    assert len(offered) == 3
    at = checked(at.get_by_key("evaluated").set_value(by_encoder).run())
    assert dots(at).keys() == {encoder.id}
    assert dots(open_page("frontier", evaluated=of_more)).keys() == {more.id}
    assert dots(open_page("frontier", data="mnist")).keys() == {other.id}
    assert dots(open_page("frontier", data="<b>", evaluated="x", metric="y")).keys() == {
        run.id for run in usual
    }


def test_dots_by_a_setting_and_courses(runs: list[Run]) -> None:
    at = open_page("frontier", colour="batch_size", courses="true")
    found = {trace["uid"]: trace for trace in figures(at)[0]["data"]}
    assert len(numbers(found["runs-0"]["x"])) == 3
    assert len(numbers(found["runs-1"]["x"])) == 1
    assert len(numbers(found["courses"]["x"])) == 4 * 4 + 3


@pytest.mark.usefixtures("context")
def test_without_evaluations(make_run: MakeRun) -> None:
    assert "No run has been evaluated yet" in words(open_page("frontier"))
    make_run("not evaluated")
    assert "No run has been evaluated yet" in words(open_page("frontier"))


def test_other_models_have_metrics_of_their_own(make_run: MakeRun) -> None:
    make_run("flow", epochs=2, quality_every=1, model="pix2pix", dataset="vortex_street")
    at = open_page("frontier")
    assert at.get_by_key("metric").options[0] == "L1"
    assert "the model's own metrics" in at.get_by_key("evaluated").value


def test_forged_values_in_the_address(runs: list[Run]) -> None:
    for goal in ("nan", "inf", "-5", "1e308", "x", "0", ""):
        at = open_page("frontier", goal=goal, cost="<x>", colour="gone", courses="2", logcost="no")
        assert len(dots(at)) == 4
        assert "bug in ganboard" not in words(at)


@pytest.mark.thorough
def test_hostile_names_are_text(make_run: MakeRun) -> None:
    for seed, name in enumerate(HOSTILE_NAMES):
        make_run(name, epochs=1, quality_every=1, seed=seed, batch_size=16 + 16 * (seed % 2))
    at = open_page("frontier", colour="batch_size")
    texts = [text for trace in figures(at)[0]["data"] for text in trace.get("text", [])]
    assert any(text.startswith("&lt;script&gt;") for text in texts)
    assert not any("<script" in text or "<img" in text for text in texts)
