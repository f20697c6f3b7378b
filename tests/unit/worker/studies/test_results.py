"""The figures of a study: their numbers from known times, their verdicts, and what they say while
runs are lacking."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sqlalchemy import update
from sqlmodel import col

from ganboard.db import requests
from ganboard.db.engine import writing
from ganboard.db.models import Metric, Run
from ganboard.db.runs import commands, queries, reports
from ganboard.db.runs.imports import IMPORTED
from ganboard.worker.context import Context
from ganboard.worker.studies import results
from ganboard.worker.studies.results import devices, learning_rates, networks
from ganboard.worker.studies.results.claims import NEEDS, SEEDS, Needs, missing
from ganboard.worker.studies.results.study_data import (
    NOT_HERE,
    REPRODUCED,
    TOO_LITTLE,
    UNTESTED,
    StudyData,
    StudyResult,
)
from ganboard.worker.submission import sweep
from tests.factories import HARDWARE, validation
from tests.surfaces import arrays, make_surface
from tests.unit.db.stored_runs import in_status

MakeRun = Callable[..., Run]
PIX2PIX = {"model": "pix2pix", "dataset": "vortex_street", "geometry": "64x64"}
GAN3D = {"model": "gan3d", "dataset": "showers"}
IMAGES = 6144


def study_run(make_run: MakeRun, batch: int, seconds: float, **changes: Any) -> Run:
    """A finished run of 6 epochs that each took so many seconds."""
    steps = IMAGES // batch
    changes = {"dataset": "mnist", "limit": IMAGES, "epochs": 6, "batch_size": batch, **changes}
    return make_run(f"batch {batch}", steps_per_epoch=steps, seconds_per_epoch=seconds, **changes)


def data(context: Context) -> StudyData:
    return StudyData.of(context.engine, queries.list_runs(context.engine))


def made(context: Context, name: str) -> StudyResult:
    found = data(context)
    return results._claimed(found, name, results.MAKERS[name](found))


def seeded(make_run: MakeRun, batch: int, seconds: float, **changes: Any) -> list[Run]:
    """As many seeds of a `study_run` as a verdict needs."""
    return [study_run(make_run, batch, seconds, seed=seed, **changes) for seed in range(SEEDS)]


@pytest.mark.parametrize("name", results.MAKERS)
def test_without_runs_each_says_what_it_needs(context: Context, name: str) -> None:
    in_status(context.engine, "failed")
    found = made(context, name)
    claimed = name in NEEDS and NEEDS[name].model == "dcgan"
    assert (found.verdict, found.figure, len(found.table)) == (
        TOO_LITTLE if claimed else UNTESTED,
        None,
        0,
    )
    assert "Finished so far: 0 (1 failed)." in found.finding


def test_a_tiny_study_of_two_runs_has_too_little_data(context: Context, make_run: MakeRun) -> None:
    for batch, seconds in ((16, 20.0), (32, 5.0)):  # falling times, as claimed
        study_run(make_run, batch, seconds, quality_every=1)
    found = {one.key: one for one in results.make(data(context), list(results.MAKERS))}
    for name in ("fig5", "fig6", "fig7", "fig10", "quality"):
        assert found[name].verdict == TOO_LITTLE, name
        assert (
            found[name].missing == "needs 3 seeds, has 1; needs batch sizes 64 to 512, has 16, 32"
        )
        assert found[name].finding.endswith(
            f"Too little data for a verdict: {found[name].missing}."
        )
        assert found[name].figure is not None
    assert {one.verdict for one in found.values()} <= {TOO_LITTLE, UNTESTED}


def runs_of(**values: Any) -> Run:
    epochs = values.pop("epoch", 30)
    return Run(name="", epoch=epochs, config={"seed": 0, "batch_size": 64, **values})


@pytest.mark.parametrize(
    ("needs", "groups", "lacking"),
    [
        (NEEDS["fig5"], [], "needs 3 seeds, has 0; needs batch sizes 64 to 512, has none"),
        (
            NEEDS["fig5"],
            [[runs_of(seed=seed) for seed in range(3)]],
            "needs batch sizes 64 to 512, has 64",
        ),
        (
            NEEDS["fig5"],
            [[runs_of(), runs_of()], [runs_of(batch_size=512, seed=s) for s in range(3)]],
            "needs 3 seeds, has 1",
        ),
        (
            NEEDS["fig9"],
            [[runs_of(batch_size=512, seed=s, epoch=6) for s in range(3)]],
            "needs 30 epochs, has 6",
        ),
        (NEEDS["fig9"], [[runs_of(batch_size=512, seed=s) for s in range(3)]], ""),
        (
            NEEDS["fig12"],
            [[runs_of(xla=True, seed=s) for s in range(3)]],
            "needs XLA off and on, has on",
        ),
    ],
)
def test_what_a_verdict_lacks(needs: Needs, groups: list[list[Run]], lacking: str) -> None:
    assert missing(needs, groups) == lacking


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


def test_families_differ_in_one_setting_alone(context: Context, make_run: MakeRun) -> None:
    for batch in (32, 64):
        study_run(make_run, batch, 10.0)
    study_run(make_run, 128, 10.0, xla=True)
    study_run(make_run, 64, 10.0, dataset="digits", limit=512)
    family = data(context).family("batch_size")
    assert family is not None
    assert list(family.cells) == [32, 64]
    assert data(context).family("precision") is None


def test_a_study_of_another_setting_is_laid_out_by_that(
    context: Context, make_run: MakeRun
) -> None:
    for beta in (0.5, 0.9):
        study_run(make_run, 64, 10.0, beta_1=beta)
    asked = {"parts": [{"vary": {"beta_1": [0.5, 0.9]}}]}
    found = {
        one.key: one
        for one in results.make(
            StudyData.of(context.engine, queries.list_runs(context.engine), asked),
            list(results.MAKERS),
        )
    }
    for name in ("fig6", "fig7", "fig10"):
        assert found[name].verdict == UNTESTED
        assert " at 0.5" in found[name].finding
        assert found[name].figure is not None
        assert set(found[name].table["beta_1"]) == {0.5, 0.9}
    assert "differ only in batch size" in found["fig5"].finding


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


def test_fig13_prints_both_readings_and_names_what_is_absent(
    context: Context, make_run: MakeRun
) -> None:
    study_run(make_run, 32, 10.0)
    study_run(make_run, 32, 8.0, replicas=2)
    study_run(make_run, 64, 1.0)
    study_run(make_run, 32, 1.0, d_steps=2)  # another setting differs: not the same question
    found = made(context, "fig13")
    assert found.verdict == UNTESTED
    assert "Only CPU was available." in found.finding
    table = found.table.set_index("device")
    assert table.loc["CPU, float32, 2 replicas (mirrored)", "less_time"] == pytest.approx(0.2)
    assert table.loc["CPU, float32, 2 replicas (mirrored)", "times_as_fast"] == pytest.approx(1.25)
    assert len(table) == 2


def test_scaling_stands_beside_the_published_points(context: Context, make_run: MakeRun) -> None:
    for replicas, seconds in ((1, 10.0), (2, 7.5), (4, 6.25)):  # Amdahl's law with a serial half
        study_run(make_run, 64, seconds, replicas=replicas)
    found = made(context, "scaling")
    assert "1.33 on 2, 1.60 on 4. Serial share 50 %: at most 2 times as fast" in found.finding
    assert "fit 43 %" in found.finding
    table = found.table.set_index(["source", "replicas"])
    assert table.loc[("here", 4), ["efficiency", "karp_flatt"]].tolist() == pytest.approx(
        [0.4, 0.5]
    )
    assert len(table) == 3 + 4 + 7


def test_replicas_without_an_accelerator_each_are_said_to_share(
    context: Context, make_run: MakeRun
) -> None:
    runs = [study_run(make_run, 64, 10.0, replicas=replicas) for replicas in (1, 2)]
    for name in ("scaling", "approaches", "fig13"):
        assert "The replicas shared the processors of one machine" in made(context, name).finding
    for run in runs:
        with writing(context.engine) as session:
            gpus = {"gpus": [{"name": "Test GPU"}] * 2}
            session.execute(
                update(Run)
                .where(col(Run.id) == run.id)
                .values({"hardware": {**run.hardware, **gpus}})
            )  # type: ignore[dict-item]
    for name in ("scaling", "approaches", "fig13"):
        assert "shared" not in made(context, name).finding


@pytest.mark.thorough
def test_approaches_are_laid_beside_each_other_and_beside_theirs(
    context: Context, make_run: MakeRun
) -> None:
    for seed in range(SEEDS):
        for loop, seconds, two, processes in (
            ("custom", 10.0, 5.0, 8.0),
            ("fit", 11.0, 10.0, 22.0),
        ):
            study_run(make_run, 64, seconds, seed=seed, loop=loop, **GAN3D)
            study_run(make_run, 64, two, seed=seed, loop=loop, replicas=2, **GAN3D)
            study_run(
                make_run,
                64,
                processes,
                seed=seed,
                loop=loop,
                replicas=2,
                strategy="multi_worker",
                **GAN3D,
            )
    found = made(context, "approaches")
    assert (
        "Loop custom: 10 s an epoch on one replica, speed-up 2.00 on 2 (mirrored), 1.25 on 2"
        " (multi_worker)." in found.finding
    )
    assert (
        "Loop fit: 11 s an epoch on one replica, speed-up 1.10 on 2 (mirrored), 0.50 on 2"
        " (multi_worker)." in found.finding
    )
    assert found.verdict == UNTESTED  # the replicas share two cores
    table = found.table.set_index(["runs", "strategy", "replicas"])
    fit = table.loc[("loop fit", "multi_worker", 2)]
    assert fit[
        ["seconds_per_epoch", "speedup", "efficiency", "karp_flatt"]
    ].tolist() == pytest.approx([22.0, 0.5, 0.25, 3.0])
    assert fit["images_per_second"] == pytest.approx(IMAGES / 22.0)
    theirs = table.loc[("theirs: V100, over 2", "", 128)]
    assert theirs[["seconds_per_epoch", "speedup", "efficiency"]].tolist() == pytest.approx(
        [34.90, 51.13, 0.799], abs=0.01
    )
    with writing(context.engine) as session:
        session.execute(
            update(Run).values({"hardware": {**HARDWARE, "gpus": [{"name": "Test GPU"}] * 2}})
        )  # type: ignore[dict-item]
    assert made(context, "approaches").verdict == REPRODUCED


def test_the_training_table_has_their_seconds_beside_ours(
    context: Context, make_run: MakeRun
) -> None:
    for batch, seconds in ((8, 40.0), (16, 30.0), (64, 20.0)):
        seeded(make_run, batch, seconds, **PIX2PIX)
    found = made(context, "training-table")
    assert found.verdict == REPRODUCED
    assert (
        "An epoch takes 40 s at batch 8, 30 s at batch 16, 20 s at batch 64: -50 % from 8 to 64."
        in found.finding
    )
    assert "-19 % on RTX A6000, -49 % on TPU v4" in found.finding
    table = found.table.set_index("batch_size")
    assert table["theirs: TPU v3"].dropna().to_dict() == {8: 2383.0, 16: 1438.0}
    assert table.loc[64, ["seconds", "first_epoch", "whole_run", "gain"]].tolist() == pytest.approx(
        [20.0, 25.0, 120.0, 2.0]
    )
    assert np.isnan(table.loc[32, "seconds"])
    assert found.figure is not None
    here, *theirs = found.figure.data
    assert (here.name, list(here.x), list(here.y)) == (
        "Here",
        [8, 16, 64],
        pytest.approx([1, 0.75, 0.5]),
    )
    assert list(theirs[0].y) == pytest.approx([1, 3385 / 3451, 3133 / 3451, 2790 / 3451])


def test_overfitting_is_evaluated_once_the_flow_is_better_than_one_that_does_not_move(
    context: Context, make_run: MakeRun
) -> None:
    for batch in (8, 16):
        seeded(make_run, batch, 10.0, quality_every=1, **PIX2PIX)
    # the factory's L1 is above that of a flow that stands still
    found = made(context, "overfitting")
    assert found.verdict == UNTESTED
    assert "no network is better yet" in found.finding
    assert set(found.table["batch_size"]) == {8, 16}
    assert (found.table["gap"] == found.table["l1"] - found.table["l1_train"]).all()
    assert found.figure is not None
    assert len(found.figure.data) == 5
    for l1, verdict in ((0.012, REPRODUCED), (0.0102, NOT_HERE)):
        with writing(context.engine) as session:
            for name, value in {"l1": l1, "l1_train": 0.01, "l1_standing": 0.02}.items():
                session.execute(update(Metric).where(col(Metric.name) == name).values(value=value))
        assert made(context, "overfitting").verdict == verdict


def test_physics_draws_the_best_run_and_lists_all(context: Context, make_run: MakeRun) -> None:
    for seed in (0, 1):
        study_run(
            make_run,
            16,
            10.0,
            seed=seed,
            quality_every=6,
            facts={"validation": validation(250)},
            **GAN3D,
        )
    found = made(context, "physics")
    assert found.table["seed"].tolist() == [0, 1]
    assert found.table["objective"].is_monotonic_decreasing
    assert "all runs, seed 1, after epoch 6" in found.finding
    assert "of 250 showers are empty" in found.finding
    assert found.figure is not None
    assert len(found.figure.data) == 18


def test_the_bottleneck_of_each_configuration(context: Context, make_run: MakeRun) -> None:
    for replicas in (1, 2):
        study_run(make_run, 64, 10.0, replicas=replicas)
    found = made(context, "bottleneck")
    assert found.table["runs"].tolist() == ["1 replica", "2 replicas (mirrored)"]
    assert found.table["reduce"].tolist() == pytest.approx([0.0, 0.1])
    assert (
        "Forward, backward and update: the largest part of 2 configurations, up to 90 %."
        in found.finding
    )


def test_what_is_there_for_one_model_alone(context: Context, make_run: MakeRun) -> None:
    for batch in (8, 16):
        study_run(make_run, batch, 10.0, quality_every=1, **PIX2PIX)
    found = {one.key: one for one in results.make(data(context), list(results.MAKERS))}
    assert not {"table1", "fig11", "physics"} & found.keys()
    for name in ("fig5", "fig6", "fig7", "quality"):
        assert found[name].verdict == UNTESTED
        assert "Claimed for a DCGAN" in found[name].claim
        assert found[name].figure is not None
    assert "To L1 " in found["quality"].finding
    assert "l1" in found["quality"].table


def test_a_forecast_says_that_it_is_one_and_how_far_it_was_off(
    context: Context, make_run: MakeRun
) -> None:
    for batch in (32, 64):
        study_run(make_run, batch, IMAGES * (0.001 + 0.01 / batch))
        study_run(make_run, batch, IMAGES * 0.1, d_steps=2)  # other runs, which must not join
    study_run(make_run, 64, 0.6 * IMAGES * (0.001 + 0.01 / 64), replicas=2)
    found = made(context, "forecast")
    assert "A FORECAST, not a measurement." in found.how
    assert "the error of the forecast is at most" in found.finding
    assert found.table["replicas"].tolist() == [1, 2, 4, 8, 16, 32]
    assert found.table["milliseconds"][1] < found.table["milliseconds"][0]
    assert found.table["waiting"].is_monotonic_increasing
    assert found.table["milliseconds"][0] >= 64 * 1000 * (0.001 + 0.01 / 64) * 0.99


def test_seconds_to_the_best_quality_that_all_reached(context: Context, make_run: MakeRun) -> None:
    for batch, seconds in ((64, 20.0), (512, 0.1)):
        seeded(make_run, batch, seconds, quality_every=1)
    found = made(context, "quality")
    assert found.verdict == REPRODUCED
    assert "The fastest is batch 512." in found.finding
    assert set(found.table["batch_size"]) == {64, 512}
    assert (
        found.table.groupby("run_id")["fid"].min()
        <= float(found.finding.split()[2].rstrip(":")) * 1.01
    ).all()


def test_losses_and_what_they_reach(context: Context, make_run: MakeRun) -> None:
    for seed in (0, 1):
        for batch in (32, 64):
            study_run(make_run, batch, 10.0, seed=seed)
    for name in ("fig7", "fig8", "fig10"):
        found = made(context, name)
        assert found.figure is not None, name
        assert " at 32" in found.finding
        assert {32, 64} == set(found.table["batch_size"])
    best = made(context, "fig10").table
    assert (best.groupby("batch_size")["best"].diff().dropna() <= 0).all()


@pytest.mark.parametrize(
    ("values", "dips"),
    [
        ([3, 1, 3, 3, 1, 3], [2 / 6, 5 / 6]),
        ([1, 2, 3, 4], []),
        ([2, 2, 2], []),
        ([1.0], []),
        ([], []),
    ],
)
def test_dips_lie_below_both_neighbours(values: list[float], dips: list[float]) -> None:
    assert learning_rates._dips(np.array(values, dtype=float)) == pytest.approx(dips)


def test_fig9_shows_nominal_and_effective_rates(context: Context, make_run: MakeRun) -> None:
    study_run(make_run, 32, 10.0)
    study_run(make_run, 64, 10.0)
    found = made(context, "fig9")
    assert found.figure is not None
    assert [re.sub(r" \(\w+\)", "", trace.name) for trace in found.figure.data] == [
        f"Batch {batch}, {kind}" for batch in (32, 64) for kind in ("nominal", "effective")
    ]
    assert found.verdict == TOO_LITTLE
    assert "The claim is about batch 512" in found.finding


@pytest.mark.thorough
def test_fig9_evaluates_the_fixed_rate_at_batch_512(context: Context, make_run: MakeRun) -> None:
    for batch in (64, 512):
        seeded(make_run, batch, 10.0, epochs=30)
    found = made(context, "fig9")
    assert found.verdict == NOT_HERE  # the factory's rates only rise
    assert "at batch 512 dips at none of the run" in found.finding


def test_table1_lays_built_layers_beside_the_printed_ones(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run("with layers", status="running", epochs=1)
    layers = {
        "generator_layers": [*networks.GENERATOR, "Activation 28x28x1"],
        "discriminator_layers": list(networks.DISCRIMINATOR),
    }
    reports.add_facts(context.engine, run_id=run.id, attempt=run.attempt, values=layers)
    whole = StudyData(context.engine, queries.get_runs(context.engine, [run.id]), {})
    assert networks.table1(whole).verdict == REPRODUCED
    assert len(networks.table1(whole).table) == 19
    reports.add_facts(
        context.engine,
        run_id=run.id,
        attempt=run.attempt,
        values={"discriminator_layers": ["Conv2D 14x14x64"]},
    )
    other = StudyData(context.engine, queries.get_runs(context.engine, [run.id]), {})
    assert networks.table1(other).verdict == NOT_HERE
    assert "7 of 19 layers differ." in networks.table1(other).finding


def test_devices_are_named_by_kind() -> None:
    config = {"precision": "float32", "replicas": 4}
    assert (
        devices.device(Run(name="", config=config, hardware={"gpus": [{"name": "H200"}]}))
        == "GPU, float32, 4 replicas (mirrored)"
    )
    assert (
        devices.device(Run(name="", config={**config, "replicas": 1}, hardware=None))
        == "CPU, float32, 1 replica"
    )


def test_fig11_lays_the_paths_over_one_surface(context: Context, make_run: MakeRun) -> None:
    radii = (3.0, 1.0)
    ids = [study_run(make_run, batch, 10.0).id for batch in (64, 512)]
    study_run(make_run, 64, 10.0, seed=1)  # of each batch the first seed alone
    found = made(context, "fig11")
    assert (found.verdict, found.figure) == (TOO_LITTLE, None)
    assert f"ganboard surface {ids[0]} {ids[1]} computes it." in found.finding
    make_surface(context, ids, result=None, facts={}, error="Run 2 of 2 kept no snapshots.")
    assert "Run 2 of 2 kept no snapshots." in made(context, "fig11").finding
    make_surface(context, ids, result=requests.pack(arrays(2, radii=radii)))
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


def test_runs_that_diverged_break_no_figure(context: Context, make_run: MakeRun) -> None:
    for batch in (32, 64):
        study_run(make_run, batch, 10.0)
        run = make_run(
            f"diverged {batch}",
            status="running",
            epochs=1,
            steps_per_epoch=IMAGES // batch,
            batch_size=batch,
            dataset="mnist",
            limit=IMAGES,
        )
        own: dict[str, Any] = {"run_id": run.id, "attempt": run.attempt}
        for epoch in range(2, run.config["epochs"] + 1):
            losses = np.full(IMAGES // batch, np.nan, np.float32)
            reports.append_steps(
                context.engine, **own, epoch=epoch, first=0, g_losses=losses, d_losses=losses
            )
            measures = {
                "steps": IMAGES // batch,
                "images": IMAGES,
                "g_loss": np.nan,
                "d_loss": np.inf,
                "seconds": 1.0,
                "compile_seconds": 0.0,
            }
            reports.finish_epoch(
                context.engine,
                **own,
                epoch=epoch,
                **measures,
                g_path=(np.nan, 0.0),
                d_path=(0.0, 0.0),
            )
        commands.finish(context.engine, **own, status="finished")
    for one in results.make(data(context), list(results.MAKERS)):
        assert one.finding
        assert "Traceback" not in one.finding


def test_imported_runs_of_other_machines_join_and_stay_apart(
    context: Context, make_run: MakeRun
) -> None:
    for xla, seconds in ((False, 10.0), (True, 11.0)):
        study_run(make_run, 32, seconds, xla=xla)
    own = queries.list_runs(context.engine)
    gpu = {"gpus": [{"name": "Test GPU"}], "host": "server"}
    for xla, seconds in ((False, 1.15), (True, 1.0)):
        run = study_run(make_run, 32, seconds, xla=xla)
        with writing(context.engine) as session:
            values = {
                "facts": {**run.facts, IMPORTED: "2026-11-21"},
                "hardware": {**run.hardware, **gpu},
            }  # type: ignore[dict-item]
            session.execute(update(Run).where(col(Run.id) == run.id).values(values))
    found = {
        one.key: one for one in results.make(StudyData.of(context.engine, own), ["fig12", "fig13"])
    }
    assert found["fig12"].table["speedup"].to_numpy() == pytest.approx([10 / 11, 1.15])
    assert [
        ("Test GPU" in label, "Test CPU" in label) for label in found["fig12"].table["runs"]
    ] == [(False, True), (True, False)]
    assert found["fig13"].table["device"].tolist() == [
        "CPU, float32, 1 replica (Test CPU @ 2.00 GHz, 2 cores)",
        "GPU, float32, 1 replica (Test GPU)",
    ]
    assert found["fig13"].table["times_as_fast"].to_numpy() == pytest.approx([1.0, 10 / 1.15])
    # a study here is not made of another machine's times
    assert len(sweep.finished_runs(context)) == 2
