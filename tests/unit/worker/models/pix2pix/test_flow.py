"""`ganboard data flow`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ganboard.gan.models.pix2pix.flow.frames import Frames
from ganboard.worker.cli.main import app
from ganboard.worker.models.pix2pix import flow as commands

SMALL = [
    "--grid",
    "60x24",
    "--diameter",
    "4",
    "--reynolds",
    "40,50",
    "--held-out",
    "45",
    "--discard",
    "20",
    "--frames",
    "3",
    "--every",
    "5",
]


def flow(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["data", "flow", *arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def test_a_folder_is_written_and_every_flow_listed(tmp_path: Path) -> None:
    printed = flow(str(tmp_path / "streets"), *SMALL).stdout
    assert printed.splitlines()[:3] == [
        "circle        Re 40     train     no street yet",
        "circle        Re 50     train     no street yet, Williamson 0.123",
        "circle        Re 45     held-out  no street yet",
    ]
    assert "holds 3 x 3 frames; 90 steps in" in printed
    assert len(Frames(tmp_path / "streets").pairs("train")) == 4


def test_json_is_one_document(tmp_path: Path) -> None:
    result = flow(
        str(tmp_path / "streets"),
        *SMALL,
        "--obstacle",
        "square,rectangle:2",
        "--held-out",
        "circle",
        "--json",
    )
    found = json.loads(result.stdout)
    assert result.stderr == ""
    assert found["digest"] == Frames(tmp_path / "streets").manifest.digest
    assert [(row["obstacle"], row["reynolds"], row["split"]) for row in found["sequences"]] == [
        ("square", 40, "train"), ("square", 50, "train"), ("rectangle:2", 40, "train"),
        ("rectangle:2", 50, "train"), ("circle", 40, "held-out"), ("circle", 50, "held-out"),
    ]  # fmt: skip
    assert [row["williamson"] is None for row in found["sequences"]] == [True] * 5 + [False]


def test_a_line_compares_with_williamson() -> None:
    row = {
        "obstacle": "circle",
        "reynolds": 100.0,
        "split": "train",
        "strouhal": 0.175,
        "williamson": 0.164,
    }
    assert (
        commands._line(row)
        == "circle        Re 100    train     St 0.175, Williamson 0.164 (+6.7%)"
    )
    assert commands._line({**row, "williamson": None}).endswith("St 0.175")


def test_the_seed_changes_the_flows(tmp_path: Path) -> None:
    digests = {
        json.loads(flow(str(tmp_path / seed), *SMALL, "--seed", seed, "--json").stdout)["digest"]
        for seed in ("0", "1")
    }
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--reynolds", "900"], "Reynolds number 900 needs tau = 0.5040, below the limit of 0.515"),
        (["--reynolds", "80,fast"], "'fast' is not a Reynolds number"),
        (["--reynolds", ""], "0 flows are left to train with"),
        (["--obstacle", "cube"], "There is no obstacle 'cube': take circle, square"),
        (["--held-out", "nan"], "The Reynolds number is nan: give a finite number"),
        (
            ["--held-out", "80,100,140,180"],
            "0 flows are left to train with, at least 1 is needed: hold out fewer",
        ),
        (["--grid", "256"], "'256' is not a grid size"),
        (["--grid", "8x8"], "A grid of 8x8 cells is too small"),
        (["--frames", "1"], "frames=1 lies outside the limits of 2 and 100,000"),
        (["--speed", "nan"], "The inlet speed is nan"),
        (["--seed", "-1"], "seed=-1 lies outside the limits of 0"),
        (
            ["--diameter", "99"],
            (
                "An obstacle of D = 99 cells is too large for a grid 128 cells wide, where the"
                " limit is 32"
            ),
        ),
    ],
)
def test_what_cannot_be_computed_is_one_line_on_stderr(
    tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    result = flow(str(tmp_path / "streets"), *arguments, code=1)
    assert result.stdout == ""
    assert result.stderr.startswith(f"ganboard: {sentence}")
    assert result.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
