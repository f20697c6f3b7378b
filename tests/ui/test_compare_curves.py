"""The curves of the comparison: groups, differences, and those that lie on each other; the baseline
and the verdict beside them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ganboard.db.models import Run
from ganboard.gan.presets import load
from tests.ui.pages import open_page, words
from tests.ui.pictures import figures, numbers
from tests.ui.test_compare import ids

MakeRun = Callable[..., Run]


def test_groups_are_means_with_bands(make_run: MakeRun) -> None:
    runs = [
        make_run(f"{size} {seed}", epochs=3, quality_every=1, seed=seed, batch_size=size)
        for size in (32, 64)
        for seed in range(3)
    ]
    at = open_page("compare", runs=ids(runs), group="batch_size")
    g = {trace["uid"]: trace for trace in figures(at)[0]["data"]}
    assert [g[f"group-{place}"]["name"] for place in (0, 1)] == [
        "batch_size 32 (3 runs)",
        "batch_size 64 (3 runs)",
    ]
    low, middle, high = (numbers(g[f"group-0{edge}"]["y"]) for edge in ("-low", "", "-high"))
    assert len(middle) == 3
    assert all(a < b < c for a, b, c in zip(low, middle, high, strict=True))
    narrow = open_page("compare", runs=ids(runs), group="batch_size", band="Standard error")
    edges = {trace["uid"]: trace for trace in figures(narrow)[0]["data"]}
    assert numbers(edges["group-0-low"]["y"])[0] > low[0]
    at = open_page(
        "compare", runs=ids(runs), group="everything but the seed", part="Quality", over="Epoch"
    )
    (plot,) = figures(at)
    fids = {trace["uid"]: trace for trace in plot["data"]}
    expected = [sum(40 / (epoch + seed) + 2 for seed in range(3)) / 3 for epoch in (1, 2, 3)]
    assert numbers(fids["group-1"]["y"]) == pytest.approx(expected)
    at = open_page("compare", runs=ids(runs), group="batch_size", by="Time (UTC)")
    assert "Runs have no mean over the wall clock" in words(at)
    assert len(figures(at)[0]["data"]) == 6


def test_differences_to_the_baseline(make_run: MakeRun) -> None:
    runs = [make_run("a", epochs=3), make_run("b", epochs=3, seed=1)]
    plain = [
        numbers(trace["y"]) for trace in figures(open_page("compare", runs=ids(runs)))[0]["data"]
    ]
    at = open_page("compare", runs=ids(runs), diff="true")
    assert figures(at)[0]["layout"]["yaxis"]["title"]["text"] == "Generator loss − baseline"
    base, other = (numbers(trace["y"]) for trace in figures(at)[0]["data"])
    assert base == [0, 0, 0]
    assert other == pytest.approx([b - a for a, b in zip(*plain, strict=True)])


def test_coinciding_curves_are_dashed_and_named(make_run: MakeRun) -> None:
    runs = [make_run("a", epochs=3), make_run("same", epochs=3, xla=True)]
    at = open_page("compare", runs=ids(runs))
    assert [trace["line"]["dash"] for trace in figures(at)[0]["data"]] == ["solid", "dash"]
    assert "“same” coincides with “a” and is drawn over it in dashes." in words(at)


def test_the_baseline_is_the_oldest_run_or_has_the_settings_of_a_preset(make_run: MakeRun) -> None:
    runs = [make_run(name, batch_size=64) for name in "abc"]
    at = open_page("compare", runs=ids(runs[::-1]))
    assert at.get_by_key("base").value == runs[0].id
    own = load("tiny").model_dump(mode="json")
    runs.append(make_run("preset", preset="tiny", **own))
    at = open_page("compare", runs=ids(runs[1:]))
    assert at.get_by_key("base").value == runs[3].id
    assert at.dataframe[0].value.set_index("Run").loc["preset", "Baseline"] == "●"


def test_the_verdict_has_two_lines_and_more_is_folded(make_run: MakeRun) -> None:
    runs = [make_run("a", epochs=2), make_run("b", epochs=2, seed=1, dataset="mnist", loss="hinge")]
    at = open_page("compare", runs=ids(runs))
    (folded,) = [one for one in at.expander if "caveat" in one.label]
    shown = [one.value for one in at.caption if one.value not in [c.value for c in folded.caption]]
    assert sum(text.startswith(":material/info:") for text in shown) == 1
    assert len(folded.caption) >= 2
    assert folded.label == f"{len(folded.caption)} more caveats"
