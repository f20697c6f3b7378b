"""Settings of the engine that do not fit together get one sentence with the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from ganboard.gan.config import ConfigError, parse


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"batch_size": 64, "replicas": 2, "accumulate": 5},
            ("batch_size=64", "replicas=2 times accumulate=5", "60 or 70"),
        ),
        ({"batch_size": 64, "accumulate": 3}, ("accumulate=3", "63 or 66")),
        ({"schedule": "cyclic", "epochs": 10}, ("schedule_period=17", "epochs=10")),
        (
            {"schedule": "cyclic", "epochs": 5, "schedule_period": 4},
            ("schedule_minimum=7", "epochs=5"),
        ),
        ({"schedule": "cosine_restart", "epochs": 16}, ("schedule_period=17", "epochs=16")),
        ({"warmup_epochs": 31}, ("warmup_epochs=31", "epochs=30")),
        (
            {"strategy": "multi_worker", "replicas": 3, "hosts": 2, "batch_size": 66},
            ("hosts=2", "replicas=2 or a multiple", "replicas=3"),
        ),
        ({"average_every": 4}, ("average_every=4", "strategy=multi_worker", "now auto")),
        (
            {"average_every": 4, "strategy": "multi_worker", "replicas": 2, "batch_size": 64},
            ("average_every=4", "sync_batch_norm=false"),
        ),
        ({"hosts": 3}, ("hosts=3", "strategy=multi_worker", "strategy=auto, replicas=1")),
        (
            {"strategy": "multi_worker", "replicas": 3, "hosts": 3, "batch_size": 64},
            ("batch_size=64 does not divide among replicas=3", "63 or 66"),
        ),
        (
            {"placement": "slurm", "scheduler_options": "--wrap=true"},
            ("scheduler_options", "--wrap=true", "partition"),
        ),
        ({"strategy": "multi_worker"}, ("replicas=1", "multi_worker", "2 or more")),
        ({"strategy": "multi_worker", "replicas": 0}, ("replicas=0", "at least 1")),
        (
            {"label_smoothing": 0.1, "loss": "hinge"},
            ("label_smoothing=0.1", "loss=hinge", "set it to 0"),
        ),
        (
            {"loss": "wgan_gp", "discriminator_batch_norm": True},
            ("wgan_gp", "discriminator_batch_norm"),
        ),
        ({"recompute": True, "r1": 10}, ("recompute=true", "r1=10", "set recompute to false")),
        ({"recompute": True, "loss": "wgan_gp"}, ("recompute=true", "loss=wgan_gp")),
        ({"recompute": True, "r2": 10}, ("recompute=true", "r2=10", "set recompute to false")),
        (
            {"recompute": True, "model": "convgan"},
            ("recompute=True", "model=convgan", "leave it out"),
        ),
        ({"ema": 1}, ("ema=1", "less than 1")),
        ({"optimizer": "lion"}, ("optimizer=lion", "rmsprop")),
    ],
)
def test_what_does_not_fit_together_is_refused(
    changes: dict[str, Any], words: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError) as error:
        parse(changes)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_a_schedule_that_is_off_needs_no_room() -> None:
    assert parse({"epochs": 1}).schedule_period == 17


def test_a_micro_batch_is_what_passes_at_a_time() -> None:
    assert parse({"batch_size": 64, "replicas": 2, "accumulate": 4}).micro_batch == 8
