"""What is checked and said before a claim is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import typer.testing

from ganboard.db.claims import records
from ganboard.gan.config import ConfigError
from ganboard.gan.data import DatasetError
from ganboard.worker.claims import stating
from ganboard.worker.claims.stating import Asked
from ganboard.worker.context import Context
from tests.factories import make_run

BFLOAT16 = "precision=mixed_bfloat16"
ASKED = Asked(
    "at least 1.3x as fast at equal fid (margin 0.5)",
    ["precision=float32"],
    ["precision=mixed_bfloat16", "epochs=3"],
    "tiny",
    pairs=5,
)


def test_both_arms_share_what_the_control_does_not_change(context: Context) -> None:
    claim = stating.state(context, ASKED)
    assert claim.status == records.OPEN
    assert (claim.treatment["epochs"], claim.control["epochs"]) == (3, 3)
    assert (claim.treatment["precision"], claim.control["precision"]) == (
        "mixed_bfloat16",
        "float32",
    )
    assert claim.treatment["quality_every"] == claim.control["quality_every"] == 3
    assert stating.title(claim) == "tiny, mixed_bfloat16 against tiny, float32"


def test_the_plan_says_runs_time_and_its_source(context: Context) -> None:
    assert stating.prepare(context, ASKED).cost == (
        "At most 10 runs; no estimate of their time, nothing similar ran here."
    )
    for precision in ("float32", "mixed_bfloat16"):
        make_run(context, precision, precision=precision)
    prepared = stating.prepare(context, replace(ASKED, hours=2.0))
    assert prepared.cost.startswith("At most 10 runs, about ")
    assert "measured on" in prepared.cost
    assert prepared.cost.endswith("No pair starts after 2 h.")
    assert records.listed(context.engine) == []


def test_a_target_is_evaluated_after_every_epoch(context: Context) -> None:
    claim = stating.state(context, replace(ASKED, sentence="at least 1.1x as fast to fid 9"))
    assert claim.treatment["quality_every"] == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"against": []}, "A claim compares two configurations."),
        ({"against": ["precision=mixed_bfloat16"]}, "have the same settings"),
        ({"against": ["precision=float33"]}, "float33"),
        ({"against": ["nosuch=1"]}, "'nosuch' is not a setting"),
        ({"against": ["geometry=64x64"]}, "geometry has no meaning for model=dcgan."),
        ({"against": ["seed=3"]}, "Remove seed."),
        ({"against": ["quality_every=2"]}, "evaluated alike"),
        ({"settings": ["epochs=1", BFLOAT16]}, "The first epoch is cold"),
        (
            {"settings": ["quality_every=0", BFLOAT16]},
            "The claim is about fid, but: The runs are not",
        ),
        ({"settings": ["quality_every=often", BFLOAT16]}, "quality_every"),
        ({"settings": ["dataset=mnist", BFLOAT16]}, "mnist is not on this machine"),
        ({"pairs": 2}, "pairs=2 is outside 3 to 100"),
        ({"pairs": 101}, "pairs=101 is outside"),
        ({"hours": 0.0}, "hours=0 must be greater than 0"),
        ({"confidence": 1.0}, "confidence=1 is outside 0.5 to 0.999"),
        ({"power": float("nan")}, "power=nan is outside"),
        ({"seed": -1}, "seed"),
        ({"sentence": "good"}, "'good' is not understood"),
    ],
)
def test_bad_claims_get_one_sentence(context: Context, changes: dict[str, Any], says: str) -> None:
    with pytest.raises((ConfigError, DatasetError)) as refused:
        stating.prepare(context, replace(ASKED, **changes))
    assert says in str(refused.value)
    assert records.listed(context.engine) == []


def test_the_command_states_the_same_claim(context: Context) -> None:
    import shlex

    from ganboard.worker.cli.main import app

    first = stating.state(context, replace(ASKED, seed=7, hours=1.5))
    words = shlex.split(stating.command(first))[1:]
    ran = typer.testing.CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    again = records.find(context.engine, "latest")
    assert again.id != first.id
    for name in ("statement", "treatment", "control", "given", "seed", "pairs", "hours"):
        assert getattr(again, name) == getattr(first, name), name
