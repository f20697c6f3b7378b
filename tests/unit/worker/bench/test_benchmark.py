from __future__ import annotations

from pathlib import Path

import pytest

from ganboard.db.settings import Settings
from ganboard.gan.config import ConfigError
from ganboard.worker.bench import runner
from ganboard.worker.bench.benchmark import bench
from ganboard.worker.bench.runner import Options, Watcher


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (Options(rounds=0), "rounds=0"),
        (Options(steps=0), "steps=0"),
        (Options(batch=0), "batch_size=0"),
        (Options(batch=255, only=["replicas"]), "does not divide among replicas=2"),
        (Options(batch=5000, only=["bare"]), "larger than the data set"),
        (Options(model="biggan"), "model=biggan is not allowed: it must be one of 'dcgan', "),
        (Options(model="gan3d", only=["jax"]), "jax does not support model=gan3d"),
        (Options(model="pix2pix", batch=3, only=["workers"]), "does not divide among replicas=2"),
        (Options(changes={"model": "gan3d"}), "--set model=gan3d cannot be used here: use --model"),
        (Options(only=["all"]), "'all' is not a candidate"),
    ],
)
def test_what_cannot_be_measured_is_refused_at_once(
    options: Options, named: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "Running", None)  # nothing can be started
    with pytest.raises(ConfigError, match=named):
        bench(Settings(), options, Watcher())
    assert not home.exists()
