"""The table of runs as it is sent to the browser."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from ganboard.app.runs import table as runs_table
from ganboard.app.runs.columns import COLUMNS, FIRST, SETTINGS, USUAL
from ganboard.db.runs.listing import Listed
from ganboard.worker.figures import palette

START = datetime(2026, 1, 1, tzinfo=UTC)


def listed(name: str = "x", config: dict[str, Any] | None = None, **values: Any) -> Listed:
    usual = dict.fromkeys(Listed.__dataclass_fields__) | {
        "status": "queued",
        "number": 0,
        "tags": (),
        "epoch": 0,
        "step": 0,
        "seconds": 0.0,
    }
    own = {"id": name, "name": name, "created_at": START, "config": SETTINGS | (config or {})}
    return Listed(**(usual | own | values))  # type: ignore[arg-type]


def column(runs: list[Listed], name: str) -> list[Any]:
    return runs_table.frame(runs, (name,))[name].to_pylist()  # type: ignore[no-any-return]


def test_duration_is_from_the_first_start_to_the_end() -> None:
    runs = [
        listed(started_at=START, ended_at=START + timedelta(seconds=90)),
        listed(started_at=START, ended_at=START - timedelta(seconds=1)),  # clocks of two machines
        listed(ended_at=START + timedelta(minutes=5)),  # waits
        listed(),
    ]
    table = runs_table.frame(runs)
    assert [None if d is None else d.total_seconds() for d in table["Duration"].to_pylist()] == [
        90,
        0,
        None,
        None,
    ]
    assert tuple(table.column_names) == (*FIRST, *USUAL)


def test_an_empty_list_is_an_empty_table() -> None:
    assert runs_table.frame([]).num_rows == 0


def test_progress_stays_within_bounds_and_not_finite_losses_stay() -> None:
    runs = [
        listed(
            config={"epochs": 2}, step=step, steps_per_epoch=10, g_loss=math.nan, d_loss=math.inf
        )
        for step in (0, 5, 20, 25)
    ]
    assert column(runs, "Progress") == [0, 25, 100, 100]
    assert all(math.isnan(loss) for loss in column(runs, "G loss"))
    assert column(runs, "D loss") == [math.inf] * 4


def test_settings_of_another_version_do_not_break_a_row() -> None:
    runs = [
        Listed(
            **{**{f: getattr(listed(), f) for f in Listed.__dataclass_fields__}, "config": config}
        )
        for config in ({"xla": True}, {})
    ]
    table = runs_table.frame(runs, tuple(COLUMNS))
    assert table["Epoch"].to_pylist() == ["0 / ?", "0 / ?"]
    assert table["XLA"].to_pylist() == ["on", None]


def test_strategy_says_what_auto_means() -> None:
    runs = [
        listed(config=config)
        for config in ({}, {"replicas": 4}, {"strategy": "mirrored"}, {"strategy": "default"})
    ]
    assert column(runs, "Strategy") == ["default", "mirrored × 4", "mirrored", "default"]


def test_any_setting_can_be_a_column() -> None:
    run = listed(config={"limit": 500, "g_learning_rate": 2e-4, "recompute": True})
    table = runs_table.frame(
        [run], ("loss", "recompute", "g_learning_rate", "limit", "no such column")
    )
    assert table.drop_columns(list(FIRST)).to_pylist() == [
        {
            "Run": "x",
            "limit": 500.0,
            "loss": "non_saturating",
            "g_learning_rate": 2e-4,
            "recompute": "on",
        }
    ]
    assert set(COLUMNS) >= set(SETTINGS)


def test_the_seconds_to_a_quality_are_a_column_of_their_own() -> None:
    table = runs_table.frame([listed("a"), listed("b")], (), {"b": 12.5})
    table = table.drop_columns(list(FIRST))
    assert table.to_pydict() == {"Run": ["a", "b"], "To FID": [None, 12.5]}


def test_rows_begin_with_the_colour_and_the_newest_image_of_their_runs() -> None:
    runs = [
        listed("a", number=1, grid_epoch=3),
        listed("b", number=len(palette.CATEGORICAL) + 1),
        listed("c", number=4, grid_epoch=3, deleted_at=START),  # the API has nothing of the trash
    ]
    parts = [runs_table.frame(part) for part in (runs[:1], runs[1:], [])]
    table = pa.concat_tables(parts).take([2, 1, 0])  # as of those that train and those that ended
    assert table["Colour"].to_pylist() == [palette.run_dot(number) for number in (4, 1, 1)]
    assert table["Image"].to_pylist() == [None, None, "/api/runs/a/grids/3.png?height=80"]


def test_ten_thousand_rows_share_the_pictures_of_their_colours() -> None:
    runs = [listed(f"{number}", number=number) for number in range(10_000)]
    assert runs_table.frame(runs, ())["Colour"].nbytes < 20_000


@pytest.mark.parametrize("name", ["[a, b]", " [x] ", ":material/delete: x"])
def test_names_that_a_button_would_read_are_labels_all_the_same(name: str) -> None:
    (label,) = column([listed(name)], "Run")
    assert label != name
    assert label.removeprefix("\N{ZERO WIDTH SPACE}") == name


@pytest.mark.parametrize("name", ["x", "[a](b) c", "a [b]", ": x", "\N{SNOWMAN}"])
def test_other_names_are_labels_as_they_are(name: str) -> None:
    assert column([listed(name)], "Run") == [name]


def test_another_order_is_another_widget() -> None:
    assert runs_table.key(["a", "b"]) == runs_table.key(["a", "b"])
    assert runs_table.key(["a", "b"]) != runs_table.key(["b", "a"])


def test_a_thousand_rows_are_quick() -> None:
    runs = [
        listed(f"{n}", status="finished", started_at=START, ended_at=START) for n in range(1000)
    ]
    begin = time.perf_counter()
    runs_table.frame(runs)
    assert time.perf_counter() - begin < 0.2  # about 10 ms


def test_a_large_table_is_sent_so_seldom_that_a_tab_gets_little_a_second() -> None:
    runs = [
        listed(
            f"cdcgan, batch 256, seed {number}",
            grid_epoch=30,
            started_at=START,
            ended_at=START + timedelta(seconds=number),
            g_loss=1.0,
            d_loss=1.0,
            images_per_second=900.0,
            fid=1.0,
            tags=("study",),
            note="A note of some length",
        )
        for number in range(3000)
    ]
    sink = pa.BufferOutputStream()
    sent = runs_table.frame(runs)
    with pa.ipc.new_stream(sink, sent.schema) as stream:
        stream.write_table(sent)
    assert 100_000 < sink.getvalue().size / runs_table.interval(len(runs)) < 300_000  # bytes/s
