"""Losses of the tiny preset against stored ones; `python -m tests.integration.test_golden` stores
them anew (explain why)."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from ganboard.gan.events import EpochDone
from ganboard.gan.presets import load
from tests.recorder import run

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = {"philox": "tiny.json", "hash": "tiny_hash.json"}


def losses(rng: str, directory: Path) -> dict[str, list[str]]:
    config = load("tiny").model_copy(update={"rng": rng})
    done = run(config, directory)[0].of(EpochDone)
    return {"g_loss": [e.g_loss.hex() for e in done], "d_loss": [e.d_loss.hex() for e in done]}


@pytest.mark.parametrize("rng", FILES)
def test_the_tiny_preset_gives_the_golden_losses(rng: str, tmp_path: Path) -> None:
    found, wanted = losses(rng, tmp_path), json.loads((GOLDEN / FILES[rng]).read_text())
    for name in ("g_loss", "d_loss"):
        # Processors differ in the order of their sums, and Adam enlarges that; a change of method
        # moves the losses by far more
        assert [float.fromhex(x) for x in found[name]] == pytest.approx(
            [float.fromhex(x) for x in wanted[name]], rel=1e-4
        )


if __name__ == "__main__":
    for rng, file in FILES.items():
        with tempfile.TemporaryDirectory() as name:
            (GOLDEN / file).write_text(json.dumps(losses(rng, Path(name)), indent=1) + "\n")
