"""Settings as differences from those of another run."""

from __future__ import annotations

import pytest

from ganboard.worker.studies.shared_settings import SharedSettings, flat

COMMON = {"batch_size": 64, "precision": "float32", "seed": 1, "target": "seed"}
OWN = COMMON | {"precision": "seed", "seed": 7}  # a value that is also a name


def test_it_reads_like_the_configuration() -> None:
    shared = SharedSettings(COMMON, OWN)
    assert shared == OWN
    assert [shared[name] for name in OWN] == list(OWN.values())
    assert list(shared) == list(COMMON)
    assert shared.get("no setting", 3) == 3
    with pytest.raises(KeyError):
        shared["no setting"]


def test_a_flat_one_can_be_changed() -> None:
    shared = SharedSettings(COMMON, OWN)
    for given in (shared, OWN):
        own = flat(given)
        assert own == OWN
        own["seed"] = 8
        assert given["seed"] == 7
