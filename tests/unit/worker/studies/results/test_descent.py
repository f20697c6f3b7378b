"""Descent paths over one loss surface."""

from __future__ import annotations

from ganboard.gan.landscape import geometry
from ganboard.worker.context import Context
from ganboard.worker.studies import results
from ganboard.worker.studies.results.study_data import REPRODUCED, TOO_LITTLE
from tests.surfaces import arrays, make_surface
from tests.unit.worker.studies.results.study_runs import MakeRun, data, made, study_run


def test_fig11_lays_the_paths_over_one_surface(context: Context, make_run: MakeRun) -> None:
    radii = (3.0, 1.0)
    ids = [study_run(make_run, batch, 10.0).id for batch in (64, 512)]
    study_run(make_run, 64, 10.0, seed=1)  # of each batch the first seed alone
    found = made(context, "fig11")
    assert (found.verdict, found.figure) == (TOO_LITTLE, None)
    assert f"ganboard surface {ids[0]} {ids[1]} computes it." in found.finding
    make_surface(context, ids, result=None, facts={}, error="Run 2 of 2 kept no snapshots.")
    assert "Run 2 of 2 kept no snapshots." in made(context, "fig11").finding
    make_surface(context, ids, result=geometry.pack(arrays(2, radii=radii)))
    found = made(context, "fig11")
    assert (found.verdict, found.missing) == (TOO_LITTLE, "needs 3 seeds, has 1")
    assert results.MAKERS["fig11"](data(context)).verdict == REPRODUCED
    assert (
        f"{radii[0]:.3g} and {radii[0]:.3g} at 64 (576 steps), {radii[1]:.3g} and {radii[1]:.3g} at"
        " 512 (72 steps)" in found.finding
    )
    assert "explains 91% of the variance of G's paths and 82% of D's" in found.finding
    assert list(found.table.columns) == ["batch_size", "net", "epoch", "x", "y", "loss", "radius"]
    assert len(found.table) == 16
