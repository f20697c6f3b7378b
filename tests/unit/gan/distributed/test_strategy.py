"""Which strategy a configuration gets; those of several processes or devices are tried in processes
of their own."""

from __future__ import annotations

import pytest
import tensorflow as tf

from ganboard.gan.config import ConfigError
from ganboard.gan.distributed import strategy as distribution
from ganboard.gan.distributed import tpu
from ganboard.gan.distributed.agreement import Agreement
from ganboard.gan.models.dcgan.config import Config


def test_one_replica_needs_no_strategy_and_agrees_with_itself() -> None:
    strategy = distribution.strategy(Config())
    assert strategy is tf.distribute.get_strategy()
    shared, arrays = Agreement(strategy), {"a": tf.range(3).numpy()}
    assert shared.leads
    assert shared.numbers(3, 0.5) == (3, 0.5)
    assert shared.arrays(arrays) is arrays


def test_a_tpu_is_left_to_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tpu, "strategy", lambda config: config.replicas)
    assert distribution.strategy(Config(strategy="tpu", replicas=8)) == 8


def test_several_processes_must_be_started_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(ConfigError, match="needs 2 connected processes"):
        distribution.strategy(Config(strategy="multi_worker", replicas=2))
