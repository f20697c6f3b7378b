"""What a verdict needs, and what is said while it is lacking."""

from __future__ import annotations

from typing import Any

import pytest

from ganboard.db.models import Run
from ganboard.worker.context import Context
from ganboard.worker.studies import results
from ganboard.worker.studies.results.claims import NEEDS, Needs, missing
from ganboard.worker.studies.results.study_data import TOO_LITTLE, UNTESTED
from tests.unit.worker.studies.results.study_runs import MakeRun, data, study_run


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
