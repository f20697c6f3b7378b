"""Naming the run that another one starts from."""

from __future__ import annotations

import pytest

from ganboard.gan.config import ConfigError
from ganboard.gan.presets import load
from ganboard.worker.context import Context
from ganboard.worker.submission.submit import submit
from tests.factories import make_run


def test_a_prefix_becomes_the_full_id_once_there_is_a_checkpoint(context: Context) -> None:
    source = make_run(context, model="dcgan")
    config = load("tiny", {"start_from": source.id[:6]})
    with pytest.raises(ConfigError, match=rf"{source.id} cannot be used\. Run"):
        submit(context, config)
    (context.settings.run_dir(source.id) / "checkpoints" / "ckpt-5-1").mkdir(parents=True)
    assert submit(context, config).config["start_from"] == source.id
    with pytest.raises(ConfigError, match=r"is a run of model=dcgan, .* model=gan3d"):
        submit(context, load("showers_tiny", {"start_from": source.id}))


def test_a_run_that_does_not_exist_is_refused(context: Context) -> None:
    with pytest.raises(ConfigError, match=r"start_from=nowhere cannot be used\. There is no run"):
        submit(context, load("tiny", {"start_from": "nowhere"}))
