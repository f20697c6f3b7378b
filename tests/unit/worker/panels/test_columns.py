"""Columns that a person defines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ganboard.db.models import Run
from ganboard.db.runs import listing
from ganboard.worker.context import Context
from ganboard.worker.panels import columns
from ganboard.worker.panels.errors import BadPanel
from tests.scripts import script_run

MakeRun = Callable[..., Run]


def test_expressions_of_summaries_and_settings(context: Context, make_run: MakeRun) -> None:
    make_run("plain", epochs=2)
    make_run("evaluated", epochs=4, quality_every=1, batch_size=64)
    script_run(context)
    runs = listing.list_all(context.engine)
    names = [run.name for run in runs]
    texts = ["min(fid)", "fid * 0 + batch_size", "seconds / epoch", "max(psnr)", "1 / (epoch - 2)"]
    known = columns.known(context.engine)
    assert {"fid", "psnr", "step_p95", "g_rate"} <= {*known}
    for text in texts:
        columns.check(text, known)
    found = columns.evaluate(context.engine, texts, runs)
    by_name = {text: dict(zip(names, values, strict=True)) for text, values in found.items()}
    assert by_name["min(fid)"] == {"plain": None, "evaluated": 12.0, "mine": None}
    assert by_name["fid * 0 + batch_size"]["evaluated"] == 64
    assert by_name["seconds / epoch"] == {"plain": 2.0, "evaluated": 2.0, "mine": 20 / 3}
    assert by_name["max(psnr)"] == {"plain": None, "evaluated": None, "mine": 50.0}
    assert by_name["1 / (epoch - 2)"] == {"plain": None, "evaluated": 0.5, "mine": 1.0}
    asked = columns.evaluate(context.engine, ["min(fid)"], runs, [])
    assert asked == {"min(fid)": [None] * 3}
    offered = columns.offered(known)
    assert {"min(fid)", "max(precision)", "psnr"} <= {*offered}
    for text in offered:
        columns.check(text, known)


def test_columns_of_a_run_are_expressions_or_any_setting(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run("mine", epochs=2, quality_every=1, xla=False)
    runs = listing.list_all(context.engine)
    found = columns.by_run(context.engine, ["precision", "epoch * 2", "xla"], runs)
    assert found == {run.id: {"precision": "float32", "epoch * 2": 4.0, "xla": False}}
    with pytest.raises(BadPanel, match="at most 12 columns of your own, not 13"):
        columns.by_run(context.engine, ["epoch"] * 13, runs)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fidd", "no metric 'fidd'. Did you mean fid"),
        ("min(g_loss)", "no min of g_loss. Write last(g_loss), or min(g_loss_mean) of the epochs."),
        ("max(g_rate)", "no max of g_rate. Write last(g_rate)."),
        ("min(batch_size)", "no min of batch_size"),
        ("fid.x", "is not allowed"),
    ],
)
def test_what_no_column_can_have_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadPanel) as caught:
        columns.check(text, ["fid", "g_loss", "g_rate"])
    assert said in str(caught.value)
