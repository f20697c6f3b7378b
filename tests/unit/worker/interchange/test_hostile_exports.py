"""Exports that were changed or made up are refused with a sentence."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ganboard.db.runs import queries
from ganboard.worker.context import Context
from ganboard.worker.interchange import importer
from ganboard.worker.interchange.bundle import BadBundle
from tests.factories import png
from tests.unit.worker.interchange.exports import edited, exported, rewritten


def hostile(change: Callable[[Path], None], sentence: str) -> Any:
    return pytest.param(change, sentence, id=sentence[:50])


def without_row(folder: Path) -> None:
    lines = (folder / "steps.csv").read_bytes().splitlines(keepends=True)
    rewritten(folder, "steps.csv", b"".join(lines[:-1]))


def better_loss(folder: Path) -> None:
    with (folder / "steps.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    rows[2][rows[0].index("g_loss")] = "0.5"
    with (folder / "steps.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    rewritten(folder, "steps.csv", (folder / "steps.csv").read_bytes())


def epoch_with(**changes: Any) -> Callable[[Path], None]:
    return lambda folder: edited(
        folder,
        epochs=[{**exported(folder)["epochs"][0], **changes}, *exported(folder)["epochs"][1:]],
    )


def link(folder: Path) -> None:
    (folder / "train.log").symlink_to("/etc/passwd")


HOSTILE = [
    hostile(
        lambda f: (f / "run.json").write_bytes((f / "run.json").read_bytes() + b" "),
        "run.json was modified after the export",
    ),
    hostile(
        lambda f: (f / "grids" / "epoch-0001.png").write_bytes(png(9)),
        "epoch-0001.png was modified after the export",
    ),
    hostile(
        lambda f: (f / "steps.csv").unlink(),
        "steps.csv is missing or not listed in its manifest.json",
    ),
    hostile(lambda f: (f / "manifest.json").unlink(), "has no manifest.json"),
    hostile(
        lambda f: (f / "extra.sh").write_text("rm -rf /"), "'extra.sh' is not a file of an export",
    ),
    hostile(
        lambda f: (f / "train.log").write_text("x"),
        "train.log is missing or not listed in its manifest.json",
    ),
    hostile(link, "'train.log' is a link"),
    hostile(
        lambda f: (f / "manifest.json").write_text('{"format": 2, "files": {}}'),
        "has format 2, but this ganboard reads format 1",
    ),
    hostile(lambda f: (f / "manifest.json").write_text("[]"), "is refused"),
    hostile(lambda f: (f / "manifest.json").write_text("{" * 100_000), "is refused"),
    hostile(lambda f: rewritten(f, "run.json", b"\xff"), "is refused"),
    hostile(lambda f: rewritten(f, "run.json", b"[" * 100_000), "is refused"),
    hostile(lambda f: rewritten(f, "run.json", b"{}"), "id is {}, but field required"),
    hostile(
        lambda f: rewritten(f, "grids/epoch-0001.png", b"GIF89a"),
        "grids/epoch-0001.png is not a readable PNG",
    ),
    hostile(
        lambda f: rewritten(f, "grids/epoch-0001.png", png(9)[:60]),
        "grids/epoch-0001.png is not a readable PNG",
    ),
    hostile(lambda f: rewritten(f, "steps.csv", b"step,epoch\n1,1\n"), "does not have the columns"),
    hostile(
        lambda f: rewritten(f, "steps.csv", b"epoch,g_loss,d_loss\n1,a,b\n"),
        "steps.csv cannot be read (ValueError)",
    ),
    hostile(
        lambda f: rewritten(f, "steps.csv", b"epoch,g_loss,d_loss\n9,1,1\n"),
        "steps.csv has 1 epochs, run.json has 3",
    ),
    hostile(without_row, "steps.csv has 3 steps in epoch 3, run.json 4 in each"),
    hostile(better_loss, "gives G a mean loss of"),
    hostile(
        lambda f: edited(f, id="../../etc"), "id is '../../etc', but string should match pattern",
    ),
    hostile(
        lambda f: edited(f, status="running"),
        "status is 'running', but string should match pattern",
    ),
    hostile(lambda f: edited(f, name=""), "The name is empty"),
    hostile(lambda f: edited(f, name="a\u202eb"), "invisible or control character"),
    hostile(lambda f: edited(f, tags=["<script>"]), "The tag '<script>' contains '<'"),
    hostile(
        lambda f: edited(f, config={**exported(f)["config"], "batch_size": -1}), "batch_size=-1",
    ),
    hostile(
        lambda f: edited(f, config={**exported(f)["config"], "of_the_future": 1}), "of_the_future",
    ),
    hostile(lambda f: edited(f, epoch=4), "it contains 3 epochs, but declares 4 as finished"),
    hostile(
        lambda f: edited(f, config={**exported(f)["config"], "epochs": 9}),
        "finished after 3 epochs, but its settings ask for 9",
    ),
    hostile(lambda f: edited(f, steps_per_epoch=5), "an epoch does not have the declared 5 steps"),
    hostile(
        lambda f: edited(f, steps_per_epoch=10**12),
        "steps_per_epoch is 1000000000000, but input should be less than",
    ),
    hostile(
        lambda f: edited(f, g_loss_hex="0x1.0p+0"),
        "the run's losses differ from those of its last epoch",
    ),
    hostile(
        lambda f: edited(f, g_loss_hex="not a number"),
        "g_loss_hex is 'not a number', but value error",
    ),
    hostile(lambda f: edited(f, g_loss_hex="0x1p+99999999"), "is refused"),
    hostile(lambda f: edited(f, created_at="yesterday"), "created_at is 'yesterday'"),
    hostile(
        lambda f: edited(f, created_at="2026-01-01T00:00:00"),
        "created_at is '2026-01-01T00:00:00'",
    ),
    hostile(
        lambda f: edited(f, ended_at="0001-01-01T00:00:00+23:59"),
        "in UTC it is outside the years 1 to 9999",
    ),
    hostile(lambda f: edited(f, facts={"a" * 1000: 1}), "is refused"),
    hostile(lambda f: edited(f, facts={"generator_layers": 5}), "facts.generator_layers is 5"),
    hostile(lambda f: edited(f, facts={"class_shares": "all"}), "facts.class_shares is 'all'"),
    hostile(lambda f: edited(f, facts={"deep": {"a": {"b": 1}}}), "is refused: facts.deep"),
    hostile(
        lambda f: edited(f, facts={str(i): i for i in range(501)}), "it has more than 500 entries",
    ),
    hostile(lambda f: edited(f, hardware={"gpus": 4}), "hardware.gpus is 4"),
    hostile(lambda f: edited(f, hardware={"gpus": ["H200"]}), "hardware.gpus.0 is 'H200'"),
    hostile(lambda f: edited(f, hardware={"versions": ["1"]}), "hardware.versions is ['1']"),
    hostile(lambda f: edited(f, hardware="a box"), "hardware is 'a box'"),
    hostile(lambda f: edited(f, epochs="many"), "epochs is 'many'"),
    hostile(epoch_with(seconds="soon"), "epochs.0.seconds is 'soon'"),
    hostile(epoch_with(attempt=-1), "epochs.0.attempt is -1"),
    hostile(
        lambda f: edited(f, grids=[{**exported(f)["grids"][0], "epoch": 77}]),
        "grids/epoch-0077.png is missing",
    ),
    hostile(
        lambda f: edited(f, events=[{**exported(f)["events"][0], "level": "<b>"}]),
        "events.0.level is '<b>'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "sentence"), HOSTILE)
def test_what_was_changed_or_made_up_is_refused(
    folder: Path, there: Context, change: Callable[[Path], None], sentence: str
) -> None:
    change(folder)
    with pytest.raises(BadBundle) as error:
        importer.read_in(there, folder)
    words = str(error.value)
    assert sentence in words
    assert "\n" not in words
    assert len(words) < 1000
    assert queries.list_runs(there.engine) == []


def test_too_large_a_file_is_refused(
    folder: Path, there: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "MAX_JSON", 5000)
    rewritten(folder, "run.json", (folder / "run.json").read_bytes() + b" " * 10_000)
    with pytest.raises(BadBundle, match=r"run.json is larger than the 5,000 bytes allowed"):
        importer.read_in(there, folder)
