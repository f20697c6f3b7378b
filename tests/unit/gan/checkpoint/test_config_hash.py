"""The digest of the settings that determine the weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from ganboard.gan import presets
from ganboard.gan.checkpoint import store
from ganboard.gan.checkpoint.store import config_hash
from ganboard.gan.config import parse
from ganboard.gan.data import revision
from ganboard.gan.events import Note
from ganboard.gan.models.dcgan.config import Config
from tests.recorder import Recorder
from tests.unit.gan.checkpoint.checkpoints import DIGEST, arrays, progress


def test_only_settings_that_determine_the_weights_count() -> None:
    same = [
        {"epochs": 99},
        {"keep_checkpoints": 9},
        {"checkpoint_every": 7},
        {"grid_every": 3},
        {"grid_size": 2},
        {"quality_every": 2},
        {"quality_images": 500},
        {"on_non_finite": "roll_back"},
        {"stall_seconds": 0},
        {"max_minutes": 5},
        {"snapshots": 0},
        {"profile_steps": "2:4"},
    ]
    assert {config_hash(Config(**changes), 128) for changes in same} == {DIGEST}
    other = [
        {"seed": 1},
        {"limit": 128},
        {"replicas": 2},
        {"xla": True},
        {"rng": "hash"},
        {"sync_batch_norm": False},
        {"precision": "mixed_bfloat16"},
        {"beta_1": 0.5},
    ]
    assert (
        len({config_hash(Config(**changes), 128) for changes in other} | {DIGEST}) == len(other) + 1
    )
    assert config_hash(Config(), 129) != DIGEST


def test_a_data_set_with_a_new_name_keeps_its_checkpoints() -> None:
    # of the preset street_tiny, before it was called vortex_street_tiny
    digest = "552cc35cc667ecf5c6c4c1f8b2c737d0207269e00921534511b0aa8ed0ba9540"
    assert config_hash(presets.load("street_tiny"), 32) == digest


def test_checkpoints_of_an_earlier_revision_of_sampled_data_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = parse({"model": "gan3d", "dataset": "showers"})
    now = config_hash(config, 128)
    monkeypatch.setattr(revision, "_REVISIONS", {})
    earlier = config_hash(config, 128)
    assert now != earlier
    assert config_hash(Config(), 128) == DIGEST
    store.save(tmp_path, arrays(), progress(5), digest=earlier, attempt=1)
    recorder = Recorder()
    assert store.load(tmp_path, arrays(), digest=now, sink=recorder) is None
    assert "belongs to another configuration or data set" in recorder.of(Note)[0].text
