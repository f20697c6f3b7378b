from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ganboard.gan.checkpoint import reader
from ganboard.gan.config import parse
from ganboard.gan.models.gan3d import networks, upconv
from ganboard.worker.selftest.claims import Claim, Training, claims
from ganboard.worker.selftest.selftest import Result, Selftest, difference, share
from ganboard.worker.selftest.view import describe, document

TINY = {"dataset": "digits", "limit": 64, "batch_size": 8, "epochs": 1, "grid_size": 1}


def test_the_difference_is_the_largest_of_any_weight() -> None:
    one = {
        "generator/a": np.float32([1, 2]),
        "discriminator/b": np.float32([3]),
        "progress/seconds": np.float32([1]),
    }
    assert (
        difference(
            one, {**one, "generator/a": np.float32([1, 2.5]), "progress/seconds": np.float32([9])}
        )
        == 0.5
    )
    assert difference(one, {"generator/a": one["generator/a"]}) == float("inf")
    assert difference({}, {}) == float("inf")
    assert not Result(claims()[0], float("nan")).holds


def test_a_share_is_of_the_move_of_each_network_and_the_larger_counts() -> None:
    start = {"generator/a": np.float32([0, 0]), "discriminator/b": np.float32([1])}
    one = {"generator/a": np.float32([0, 4]), "discriminator/b": np.float32([1.5])}
    assert share(one, {**one, "generator/a": np.float32([1, 4])}, start) == 0.25
    assert (
        share(
            one,
            {**one, "generator/a": np.float32([1, 4]), "discriminator/b": np.float32([1.25])},
            start,
        )
        == 0.5
    )
    assert share(one, {"generator/a": one["generator/a"]}, start) == float("inf")
    assert share(start, start, start) == float("inf")  # nothing was trained: nothing is shown


def test_plain_up_sampling_is_really_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks._Factory, "folded", True)  # to be put back
    networks.unfold()
    layers = networks.generator(parse({"model": "gan3d", "dataset": "showers"})).layers
    assert [layer.folded for layer in layers if isinstance(layer, upconv.UpConv3D)] == [
        False,
        False,
    ]


@pytest.mark.slow
@pytest.mark.thorough
def test_true_claims_hold_false_ones_do_not_and_a_failed_training_ends_its_own_claim() -> None:
    impossible = Training({**TINY, "limit": 2000, "batch_size": 1900})  # there are 1797 digits
    some = (
        Claim("it cannot be trained", impossible, Training(TINY), 0.0, ""),
        Claim(
            "resumed = never stopped",
            Training(TINY),
            Training(TINY, "interrupted"),
            0.0,
            "identical bits",
        ),
        Claim(
            "another seed is the same",
            Training(TINY),
            Training({**TINY, "seed": 1}),
            1e-6,
            "it is not",
        ),
        Claim(
            "it does not move",
            Training(TINY),
            Training(TINY, "untrained"),
            0.5,
            "it does",
            Training(TINY, "untrained"),
        ),
    )
    heard: list[str] = []
    failed, true, false, moved = Selftest(some).run(heard.append)
    assert failed.difference is None
    assert describe(failed).startswith(
        "it cannot be trained: the training failed: ganboard.gan.settings.problems.ConfigError:"
        " batch_size=1900 is larger"
    )
    assert true.holds, describe(true)
    assert false.difference is not None
    assert false.difference > 0.01
    assert not false.holds
    assert moved.difference == 1.0
    assert heard == [
        "1 of 4: it cannot be trained",
        "2 of 4: resumed = never stopped",
        "3 of 4: another seed is the same",
        "4 of 4: it does not move",
    ]
    assert document([true, false])["ok"] is False


def test_a_training_without_a_checkpoint_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(reader.CheckpointError, match="no checkpoint"):
        reader.newest_arrays(tmp_path)
