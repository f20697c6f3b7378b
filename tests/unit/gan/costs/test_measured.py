"""Costs of models of one file: measured by another process, kept, and said where that fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ganboard.gan.config import ConfigError, RunConfig, parse
from ganboard.gan.costs import estimate, measured
from tests.polling import wait_until

CONFIG = parse({"model": "convgan", "dataset": "digits", "width": 4, "latent_dim": 3})


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path) -> Iterator[None]:
    """A process that has measured nothing yet, and keeps it in a folder of its own."""
    before = list(measured._FOLDER)
    _forget()
    measured.keep_in(tmp_path / "costs")
    yield
    _forget()
    measured._FOLDER[:] = before


def _forget() -> None:
    for kept in (measured._KNOWN, measured._RUNNING, measured._FAILED):
        kept.clear()


def test_networks_are_measured_once_and_kept_for_other_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ask, asked = measured._ask, []

    def count(configs: list[RunConfig]) -> list[str]:
        asked.append(len(configs))
        return ask(configs)

    monkeypatch.setattr(measured, "_ask", count)
    others = [CONFIG.model_copy(update={"width": width}) for width in (6, 8)]
    assert not any(map(estimate.known, (CONFIG, *others)))  # which begins it
    wait_until(
        lambda: all(map(estimate.known, (CONFIG, *others))), seconds=120, what="the measurement"
    )
    # whoever asks while a process works shares the next one
    assert asked in ([1, 2], [3], [2, 1])
    found = measured.layers(CONFIG)
    assert found is not None
    g, d = found
    assert g[0].macs == 3 * 7 * 7 * 8  # from noise to the first maps
    assert d[-1].leaving == 1
    measured._KNOWN.clear()
    assert measured.layers(CONFIG) == found
    assert estimate.estimate(CONFIG, 100) > 0


def test_what_the_networks_do_not_depend_on_is_not_measured_again() -> None:
    measured.put(CONFIG, ((), ()))
    assert estimate.known(CONFIG.model_copy(update={"epochs": 3, "seed": 5, "batch_size": 8}))
    assert measured._key(CONFIG) != measured._key(CONFIG.model_copy(update={"width": 8}))


def test_networks_that_cannot_be_built_are_said_and_not_tried_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = []

    def refuse(configs: list[object]) -> list[str]:
        tried.extend(configs)
        return ["The networks could not be built: no such layer."] * len(configs)

    monkeypatch.setattr(measured, "_ask", refuse)
    assert measured.layers(CONFIG) is None
    wait_until(lambda: estimate.problem(CONFIG), seconds=5, what="the answer")
    assert not estimate.known(CONFIG)
    assert len(tried) == 1
    with pytest.raises(ConfigError, match=r"^model=convgan has no estimates\. .* no such layer\.$"):
        estimate.estimate(CONFIG, 100)
    assert len(tried) >= 2  # who needs them tries again
