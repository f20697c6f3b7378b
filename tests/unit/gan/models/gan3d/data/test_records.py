"""CERN's TFRecord files, written here as their converters write them, become HDF5 with the same
showers; others are refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tensorflow as tf
from typer.testing import CliRunner

from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.gan3d.data import records
from ganboard.gan.models.gan3d.data.sampler import Sampler
from ganboard.worker.cli.main import app

EVENTS = 5
SHOWERS = list(Sampler(seed=4).events(EVENTS))
CELLS = np.stack([shower.cells for shower in SHOWERS]).astype(np.float32)
ENERGY = np.array([shower.energy for shower in SHOWERS], np.float32)
THETA = np.array([shower.theta for shower in SHOWERS], np.float32)

Record = dict[str, Any]


def written(path: Path, *examples: Record) -> Path:
    with tf.io.TFRecordWriter(str(path)) as writer:
        for example in examples:
            features = {
                name: (
                    tf.train.Feature(int64_list=tf.train.Int64List(value=value))
                    if name == "ecalsize"
                    else tf.train.Feature(float_list=tf.train.FloatList(value=np.ravel(value)))
                )
                for name, value in example.items()
            }
            writer.write(
                tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
            )
    return path


def whole(**changes: Any) -> list[Record]:
    return [
        {
            "ECAL": CELLS,
            "ecalsize": CELLS.shape,
            "energy": ENERGY,
            "theta": THETA,
            "mtheta": THETA,
            **changes,
        }
    ]


def events(power: float = 1.0, **changes: Any) -> list[Record]:
    return [
        {
            "X": CELLS[i] ** np.float32(power),
            "Y": ENERGY[i] / 100,
            "ang": THETA[i],
            "ecal": CELLS[i].sum(),
            **changes,
        }
        for i in range(EVENTS)
    ]


@pytest.mark.parametrize(
    ("make", "exact"),
    [(whole, True), (events, True), (lambda: events(0.85), False)],
    ids=["whole", "events", "power"],
)
def test_the_showers_arrive(
    make: Callable[[], list[Record]], exact: bool, home: Path, tmp_path: Path
) -> None:
    source = written(tmp_path / "Ele.tfrecords", *make())
    result = CliRunner().invoke(app, ["data", "convert", str(source), str(tmp_path / "Ele.h5")])
    assert result.exit_code == 0, result.output
    assert f"{EVENTS} showers" in result.output
    with h5py.File(tmp_path / "Ele.h5") as file:
        np.testing.assert_allclose(file["ECAL"][:], CELLS, rtol=0 if exact else 1e-5)
        np.testing.assert_allclose(file["energy"][:], ENERGY, rtol=1e-6)
        np.testing.assert_array_equal(file["theta"][:], THETA)
    checked = CliRunner().invoke(app, ["data", "check", str(tmp_path / "Ele.h5")])
    assert f"{EVENTS} events" in checked.output


def spoilt(value: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    cells = CELLS.copy()
    cells[3, 25, 25, 12] = value
    return cells


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ([], "holds no record"),
        (whole(ecalsize=(4, 51, 51, 25)), "ecalsize (4, 51, 51, 25) for 5 energies"),
        (whole(theta=THETA[:3]), "3 theta"),
        (whole(ECAL=spoilt(np.nan)), "event 3 has cells that are no numbers"),
        (whole(ECAL=spoilt(-1)), "event 3 has cells that are no numbers, negative"),
        (whole(energy=-ENERGY), "event 0 has energy -"),
        (events(X=CELLS[0, 1:]), "record 0 has X 63,750"),
        (events(ecal=1.0), "sum up to ecal=1 for none of the powers 1.0 and 0.85"),
        ([{"label": [1.0]}], "record 0 has X 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_others_are_refused(made: list[Record], words: str, tmp_path: Path) -> None:
    source = written(tmp_path / "Ele.tfrecords", *made)
    with pytest.raises(DatasetError, match=re.escape(words)):
        list(records.showers(source)) if records.count(source) else None


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (11, "holds no record"),
        *[
            (cut, "is refused because it is damaged, or not a TFRecord file of showers")
            for cut in (1000, -1)
        ],
    ],
)
def test_a_damaged_file_is_refused(cut: int, words: str, home: Path, tmp_path: Path) -> None:
    source = written(tmp_path / "Ele.tfrecords", *events())
    source.write_bytes(source.read_bytes()[:cut])
    result = CliRunner().invoke(app, ["data", "convert", str(source), str(tmp_path / "Ele.h5")])
    assert result.exit_code == 1
    assert f"{words}: copy it again from its origin." in " ".join(result.output.split())
    assert [path.name for path in tmp_path.glob("*.h5")] == []
