"""The seeding script stores what it promises, twice the same, and the measuring script measures
it."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from ganboard.db.curves import series
from ganboard.db.engine import make_engine
from ganboard.db.migrate import upgrade
from ganboard.db.models import STATUSES
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from tests.scale import measure
from tests.scale.plan import NOT_FINITE, Size, plan
from tests.scale.seed import seed
from tests.scale.server import web_server
from tests.unit.db.stored_runs import contents

SMALL = Size(runs=20, epochs=4, steps=50, grids=3)


def seeded(path: Path) -> dict[str, list[object]]:
    engine = make_engine(f"sqlite:///{path}")
    upgrade(engine)
    seed(engine, SMALL)
    found = contents(engine)
    engine.dispose()
    # its lease depends on the clock
    found["run"] = [row for row in found["run"] if "'running'" not in row]
    return found


def test_the_same_options_give_the_same_rows(tmp_path: Path) -> None:
    first = seeded(tmp_path / "one.db")
    assert first == seeded(tmp_path / "two.db")
    assert len(first["run"]) == SMALL.runs - 1
    assert len(first["step_series"]) == 4 * len(first["step_losses"]) > 0
    assert first["tag"]
    assert first["quality"]
    assert first["system_sample"]


def test_a_thousand_runs_are_of_every_kind() -> None:
    planned = plan(Size())
    assert len({one.id for one in planned}) == 1000
    assert {one.status for one in planned} == {*STATUSES} - {"starting"}
    assert any(one.error == NOT_FINITE and one.nan_from == 0 for one in planned)
    assert any(one.status == "failed" and one.epochs == 0 for one in planned)
    assert any(one.status == "finished" and not one.grids for one in planned)
    assert {one.config["precision"] for one in planned} == {
        "float32",
        "mixed_bfloat16",
        "mixed_float16",
    }
    assert any(one.archived for one in planned)
    assert any(one.sweep for one in planned)


@pytest.mark.thorough
def test_the_measurement_runs_over_a_small_database(context: Context, tmp_path: Path) -> None:
    seed(context.engine, SMALL)
    whole = queries.list_runs(context.engine, statuses=("finished",))[0]
    assert (
        len(series.step_losses(context.engine, whole.id, points=10**6))
        == SMALL.epochs * SMALL.steps
    )
    with web_server(tmp_path / "web.log") as web:
        lines = list(measure.measure(context, web, walks=2, tabs=0))
    measure.report(iter(lines), Console(quiet=True))
    assert {line.what for line in lines} >= {
        "First paint: Runs",
        "First paint: Run",
        "First paint: Compare 8",
        "Live tick: Run",
    }
