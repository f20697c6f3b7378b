from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gan import checkpoints
from gan.config import ConfigError
from worker.selftest import CLAIMS, Claim, Result, Selftest, Training, chosen, difference
from worker.selftest_view import describe, document

TINY = {"dataset": "digits", "limit": 64, "batch_size": 8, "epochs": 1, "grid_size": 1}


def test_every_claim_compares_two_configurations_that_can_be_parsed() -> None:
    for claim in CLAIMS:
        assert claim.one != claim.other
        assert claim.one.config.batch_size == claim.other.config.batch_size
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)


def test_claims_are_chosen_by_their_name() -> None:
    assert chosen(None) == CLAIMS
    assert {claim.name for claim in chosen("FIT")} == {"fit = custom loop", "fit = custom loop on 2 replicas"}
    with pytest.raises(ConfigError, match=r"'nonsense'.*the claims are: 2 replicas"):
        chosen("nonsense")


def test_the_difference_is_the_largest_of_any_weight() -> None:
    one = {"generator/a": np.float32([1, 2]), "discriminator/b": np.float32([3]), "progress/seconds": np.float32([1])}
    assert difference(one, {**one, "generator/a": np.float32([1, 2.5]), "progress/seconds": np.float32([9])}) == 0.5
    assert difference(one, {"generator/a": one["generator/a"]}) == float("inf")
    assert difference({}, {}) == float("inf")
    assert not Result(CLAIMS[0], float("nan")).holds


@pytest.mark.slow
def test_a_true_claim_holds_and_a_false_one_does_not() -> None:
    claims = (
        Claim("resumed = never stopped", Training(TINY), Training(TINY, "interrupted"), 0.0, "the same bits"),
        Claim("another seed is the same", Training(TINY), Training({**TINY, "seed": 1}), 1e-6, "it is not"),
    )
    heard: list[str] = []
    true, false = Selftest(claims).run(heard.append)
    assert true.holds, describe(true)
    assert false.difference is not None
    assert false.difference > 0.01
    assert not false.holds
    assert heard == ["1 of 2: resumed = never stopped", "2 of 2: another seed is the same"]
    assert document([true, false])["ok"] is False


@pytest.mark.slow
def test_a_training_that_fails_is_said_and_the_next_claim_is_tried() -> None:
    impossible = Training({**TINY, "limit": 2000, "batch_size": 1900})  # there are 1797 digits
    claims = tuple(Claim(f"claim {i}", impossible, Training({**impossible.settings, "seed": i}), 0.0, "") for i in (1, 2))
    results = list(Selftest(claims).run())
    assert [result.difference for result in results] == [None, None]
    assert describe(results[0]).startswith("claim 1: the training failed: gan.config.ConfigError: batch_size=1900 is larger")


def test_a_training_without_a_checkpoint_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(checkpoints.CheckpointError, match="no checkpoint"):
        checkpoints.newest_arrays(tmp_path)
