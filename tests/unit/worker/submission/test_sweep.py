"""A sweep: its values, its combinations, what is refused, and what is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.config import ConfigError
from ganboard.gan.data import DatasetError, revision
from ganboard.gan.presets import load, values
from ganboard.gan.settings.metadata import all_settings
from ganboard.worker.context import Context
from ganboard.worker.errors import BadName
from ganboard.worker.queue.enqueue import open_queue
from ganboard.worker.submission import sweep
from tests.factories import HARDWARE, make_worker

MakeRun = Callable[..., Run]
TINY = values("tiny")


def examined(context: Context, varied: sweep.Axes, **base: Any) -> list[sweep.Member]:
    return sweep.examine(context, {**TINY, **base}, varied, title="tiny")


# --- values ---


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("batch_size", "32, 64,128", [32, 64, 128]),
        ("batch_size", " 32 64 ", [32, 64]),
        ("batch_size", "32,,64,", [32, 64]),
        ("g_learning_rate", "1e-4, 0.0002", [1e-4, 2e-4]),
        ("limit", "128, none", [128, None]),
        ("limit", "all", [None]),
        ("xla", "true, off", [True, False]),
        ("precision", "float32,mixed_bfloat16", ["float32", "mixed_bfloat16"]),
        ("lr_scaling", "none,linear", ["none", "linear"]),
        ("images_path", "my pictures, b.zip", ["my pictures", "b.zip"]),
    ],
)
def test_values_are_typed(name: str, text: str, found: list[Any]) -> None:
    assert sweep.values(name, text) == found
    assert [type(value) for value in sweep.values(name, text)] == [type(value) for value in found]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        (
            "batch_size",
            "32, many",
            "batch_size=many is not allowed: it must be a whole number (default 64).",
        ),
        ("batch_size", "0", "it must be at least 1"),
        ("batch_size", "32.5", "a whole number"),
        ("batch_size", "70000", "at most 65536"),
        ("batch_size", "64, 32, 64", "batch_size lists 64 twice"),
        ("g_learning_rate", "0.1, 1e-1", "g_learning_rate lists 0.1 twice"),
        ("batch_size", " , ", "batch_size has no values"),
        ("g_learning_rate", "nan", "a finite number"),
        ("xla", "perhaps", "true or false"),
        ("precision", "float8", "one of"),
        ("nothing", "1", "'nothing' is not a setting"),
        ("batch_size", "x" * 10_000, "x..."),
    ],
)
def test_wrong_values_are_refused_in_one_sentence(name: str, text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        sweep.values(name, text)
    assert sentence in str(error.value)
    assert len(str(error.value)) < 1100


@pytest.mark.parametrize(
    ("assignments", "sentence"),
    [
        (["batch_size"], "not of the form key=value,value"),
        (["=3"], "not of the form"),
        (["seed=1", "seed=2"], "seed is varied twice"),
        (["batch_size="], "batch_size has no values"),
    ],
)
def test_assignments_are_checked(assignments: list[str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        sweep.axes(assignments)


def test_repetitions_count_the_seed_up() -> None:
    assert sweep.repeated({"batch_size": [32]}, {"seed": 7}, 3) == {
        "batch_size": [32],
        "seed": [7, 8, 9],
    }
    assert sweep.repeated({"batch_size": [32]}, {}, 1) == {"batch_size": [32]}
    with pytest.raises(ConfigError, match="already varied"):
        sweep.repeated({"seed": [1, 2]}, {}, 3)
    with pytest.raises(ConfigError, match="at most 2147483647"):
        sweep.repeated({}, {"seed": 2**31 - 2}, 3)


# --- combinations ---


def test_every_combination_once_the_last_setting_fastest(context: Context) -> None:
    grid = examined(context, {"batch_size": [16, 32], "xla": [False, True]})
    assert [member.changes for member in grid] == [
        {"batch_size": 16, "xla": False},
        {"batch_size": 16, "xla": True},
        {"batch_size": 32, "xla": False},
        {"batch_size": 32, "xla": True},
    ]
    assert grid[1].config == load("tiny", {"batch_size": 16, "xla": True})
    assert grid[1].name == "tiny, batch 16, xla"
    assert [member.plan and member.plan.total_steps for member in grid] == [16, 16, 8, 8]


def test_what_cannot_run_says_why_and_the_rest_stays(context: Context) -> None:
    make_worker(context)
    grid = examined(
        context,
        {
            "batch_size": [30, 256, 32],
            "precision": ["float32", "mixed_float16"],
            "replicas": [1, 4],
        },
    )
    problems = {tuple(member.changes.values()): member.problem for member in grid}
    assert "does not divide among replicas=4" in (problems[30, "float32", 4] or "")
    assert "larger than limit=128" in (problems[256, "float32", 1] or "")
    assert "needs a GPU and none was found" in (problems[32, "mixed_float16", 1] or "")
    assert problems[32, "float32", 4] is None
    assert [member.plan for member in grid if member.problem] == [None] * sum(
        problem is not None for problem in problems.values()
    )


def test_absent_data_is_a_problem_of_its_combinations(context: Context) -> None:
    grid = examined(context, {"images_path": ["nowhere"], "seed": [0, 1]}, dataset="images")
    assert all("nowhere" in (member.problem or "") for member in grid)


def test_more_than_the_limit_is_refused_before_anything_is_made(context: Context) -> None:
    with pytest.raises(ConfigError, match=r"This sweep has 1,000,000 runs; the limit is 200"):
        examined(context, {"seed": range(1000), "epochs": range(1, 1001)})
    assert len(examined(context, {"seed": range(200)})) == 200


def test_names_distinguish_the_runs(context: Context) -> None:
    grid = examined(
        context,
        {
            "limit": [128, None],
            "g_learning_rate": [1e-4],
            "generator_batch_norm": [False],
            "seed": [3],
        },
    )
    assert [member.name for member in grid] == [
        f"tiny, limit {limit}, G rate 0.0001, no generator batch norm, seed 3"
        for limit in (128, "all")
    ]
    everything = {name: [field.default] for name, field in all_settings().items()}
    [long] = examined(context, everything)
    assert len(long.name) <= 80
    assert long.name.endswith("…")


def test_each_run_has_its_estimate(context: Context, make_run: MakeRun) -> None:
    make_run("before", batch_size=16, steps_per_epoch=10, seconds_per_epoch=1.6)  # 0.01 s an image
    slow, fast = examined(context, {"batch_size": [16, 128]})
    assert slow.seconds() == pytest.approx(2.56)  # two epochs of 128 images
    assert fast.seconds() is None
    assert sweep.totals([slow, fast]) == (
        pytest.approx(2.56),
        pytest.approx(2.56),
        pytest.approx(2.56),
        1,
    )


# --- launching ---


def test_a_grid_is_stored_with_one_id(context: Context, redis: Redis) -> None:
    grid = examined(context, {"seed": [0, 1, 2]})
    made = sweep.launch(context, grid, preset="tiny")
    runs = queries.sweep_runs(context.engine, made)
    assert [(run.name, run.preset, run.status) for run in runs] == [
        (f"tiny, seed {seed}", "tiny", "queued") for seed in range(3)
    ]
    assert [run.config for run in runs] == [
        member.config and member.config.model_dump(mode="json") for member in grid
    ]
    assert sorted(open_queue(redis).get_job_ids()) == sorted(f"{run.id}-0" for run in runs)


def test_without_a_queue_it_is_stored_all_the_same(context: Context) -> None:
    assert (
        len(
            queries.sweep_runs(
                context.engine, sweep.launch(context, examined(context, {"seed": [0, 1]}))
            )
        )
        == 2
    )


def test_a_grid_with_a_problem_stores_nothing(context: Context) -> None:
    grid = examined(context, {"batch_size": [32, 256]})
    with pytest.raises(
        ConfigError,
        match=(
            r"Nothing was launched: tiny, batch 256 cannot run. batch_size=256 is larger than"
            r" limit=128"
        ),
    ):
        sweep.launch(context, grid)
    fine = examined(context, {"precision": ["float32", "mixed_float16"]})
    make_worker(context, devices={**HARDWARE, "gpus": []})  # the machine is known only now
    with pytest.raises(ConfigError, match="needs a GPU"):
        sweep.launch(context, fine)
    with pytest.raises(ConfigError, match="no run to launch"):
        sweep.launch(context, [])
    assert queries.count_runs(context.engine) == 0


def test_data_that_went_away_stores_nothing(context: Context) -> None:
    folder = context.settings.data / "pictures"
    folder.mkdir(parents=True)
    from PIL import Image

    for number in range(40):
        Image.new("L", (28, 28), number).save(folder / f"{number}.png")
    grid = examined(context, {"seed": [0, 1]}, dataset="images", images_path="pictures", limit=None)
    assert not any(member.problem for member in grid)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    with pytest.raises(DatasetError):
        sweep.launch(context, grid)
    assert queries.count_runs(context.engine) == 0


def test_finished_runs_are_found_by_their_settings(context: Context, make_run: MakeRun) -> None:
    old = make_run("old", epochs=2, batch_size=16, seed=5)
    make_run("other", epochs=2, batch_size=64, seed=5, status="stopped")
    newer = make_run("newer", epochs=2, batch_size=16, seed=5)
    found = {
        member.changes["batch_size"]: member.finished
        for member in examined(context, {"batch_size": [16, 32, 64]}, seed=5)
    }
    assert found == {16: newer.id, 32: None, 64: None}
    assert old.id not in found.values()


def test_runs_on_an_earlier_revision_of_sampled_data_are_not_used_again(
    context: Context, make_run: MakeRun
) -> None:
    showers = {"model": "gan3d", "dataset": "showers", "geometry": "25x25x25"}
    make_run("older", epochs=2, batch_size=16, limit=64, **showers)
    assert examined(context, {"batch_size": [16]}, limit=64, **showers)[0].finished is None
    facts = {revision.FACT: revision.current(showers)}
    newer = make_run("newer", epochs=2, batch_size=16, limit=64, facts=facts, **showers)
    assert examined(context, {"batch_size": [16]}, limit=64, **showers)[0].finished == newer.id


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a\u202eb", "U\\+202E"),
        ("x" * 41, "41 characters; the limit for a sweep is 40"),
        ("   ", "is empty"),
    ],
)
def test_names_of_grids_are_checked(text: str, sentence: str) -> None:
    with pytest.raises(BadName, match=sentence):
        sweep.check_title(text, "tiny", {})


def test_a_grid_is_called_by_what_it_trains() -> None:
    digits = {"model": "dcgan", "dataset": "digits"}
    assert sweep.check_title("mine", "tiny", digits) == "mine"
    assert sweep.check_title("", "tiny", digits) == "tiny"
    assert sweep.check_title("", "of long ago", digits) == "digits"
    assert sweep.check_title("", "tiny", {**digits, "model": "sngan"}) == "sngan, digits"
