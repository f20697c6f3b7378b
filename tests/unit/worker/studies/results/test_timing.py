"""Times against batch size and XLA, from known seconds per epoch."""

from __future__ import annotations

import pytest

from ganboard.worker.context import Context
from ganboard.worker.studies.results.study_data import NOT_HERE, REPRODUCED, TOO_LITTLE
from tests.unit.worker.studies.results.study_runs import IMAGES, MakeRun, made, seeded, study_run


def test_fig5_finds_the_constants_of_known_times(context: Context, make_run: MakeRun) -> None:
    for seed, noise in enumerate((0.98, 1.0, 1.02)):
        for batch in (64, 128, 256, 512):
            study_run(make_run, batch, IMAGES * (0.001 + 0.595 / batch) * noise, seed=seed)
    found = made(context, "fig5")
    assert found.verdict == REPRODUCED
    assert "the time changes by -79 % (measured)" in found.finding
    assert "equals that of 595 images" in found.finding
    assert len(found.table) == 12
    assert found.figure is not None
    curve, points = found.figure.data
    assert points.y == pytest.approx(
        [6 * IMAGES * (0.001 + 0.595 / batch) for batch in (64, 128, 256, 512)]
    )
    assert points.error_y.array == pytest.approx([0.02 * high for high in points.y])
    assert curve.y[0] == pytest.approx(points.y[0], rel=0.02)


def test_fig5_without_the_papers_batches_goes_by_the_law(
    context: Context, make_run: MakeRun
) -> None:
    for batch in (32, 256):
        seeded(make_run, batch, IMAGES * 0.002)
    found = made(context, "fig5")
    assert (found.verdict, found.missing) == (
        TOO_LITTLE,
        "needs batch sizes 64 to 512, has 32, 256",
    )
    assert "from the fit, as not both batch sizes were run" in found.finding


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [
        ((20.0, 15.0, 12.0), REPRODUCED),
        ((12.0, 15.0, 20.0), NOT_HERE),
        ((12.0, 12.1, 12.0), NOT_HERE),
    ],
)
def test_fig6_asks_whether_larger_batches_take_less(
    context: Context, make_run: MakeRun, seconds: tuple[float, ...], verdict: str
) -> None:
    for batch, taken in zip((64, 128, 512), seconds, strict=True):
        seeded(make_run, batch, taken)
    found = made(context, "fig6")
    assert found.verdict == verdict
    assert f"{seconds[0]:.3g} s at 64" in found.finding
    assert set(found.table["batch_size"]) == {64, 128, 512}


def test_fig12_compares_pairs_and_shows_when_compiling_is_paid_back(
    context: Context, make_run: MakeRun
) -> None:
    for xla in (False, True):
        for precision in ("float32", "mixed_bfloat16"):
            seeded(make_run, 64, 12.0 / (1.15 if xla else 1), xla=xla, precision=precision)
    study_run(make_run, 64, 12.0, xla=False, epochs=12)  # too few for a comparison that counts
    study_run(make_run, 64, 24.0, xla=True, epochs=12)
    found = made(context, "fig12")
    assert found.verdict == REPRODUCED
    assert "1.15 times as fast (median of 2 comparisons)" in found.finding
    assert sorted(found.table["speedup"]) == pytest.approx([0.5, 1.15, 1.15])
