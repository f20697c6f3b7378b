"""CERN's two layouts of TFRecord files of showers, event by event, to be written as HDF5: training
reads one kind of file.

whole   one record in a file: ECAL [n * 51 * 51 * 25], ecalsize [4], energy (GeV), theta, ... [n];
cells in GeV x 50 events  one record for each event: X [51 * 51 * 25] cells to some power, Y energy
in 100 GeV, ang (rad), ecal the sum of the cells

Facts from CERN's converters: svalleco/3Dgan, TfRecordConverter.py (138b49a), and
recardoso/Accelarated3DGAN, gan_dataset.py (f9eb43f).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import tensorflow as tf

from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.gan3d.data.layouts import VARIABLE
from ganboard.gan.models.gan3d.data.reader import ENERGY_UNIT, MOST
from ganboard.gan.models.gan3d.data.sampler import Cells, Shower

REMEDY = "copy it again from its origin"
# to which the converter took the cells of X: as they are by default, or as training has them
POWERS = (1.0, VARIABLE.power)
_CLOSE = 1e-3  # of ecal: how well the sum of the cells determines the power
_FLOATS = ("ECAL", "energy", "theta", "X", "Y", "ang", "ecal")
_FEATURES = {
    **{name: tf.io.FixedLenSequenceFeature((), tf.float32, allow_missing=True) for name in _FLOATS},
    "ecalsize": tf.io.FixedLenSequenceFeature((), tf.int64, allow_missing=True),
}
_SIZE = math.prod(VARIABLE.shape)


def count(path: Path) -> int:
    """Events in a TFRecord file. Raises DatasetError."""
    with _reading(path):
        found = _records(path)
        first = next(iter(found), None)
        if first is None:
            raise DatasetError(f"{path} holds no record: {REMEDY}.")
        parsed = tf.io.parse_single_example(first, _FEATURES)
        return len(parsed["energy"]) if len(parsed["ECAL"]) else sum(1 for _ in found)


def showers(path: Path) -> Iterator[Shower]:
    """The events of a TFRecord file in either layout, cells in GeV x 50. A file of one record is in
    memory whole. Raises DatasetError."""
    number, power = 0, None
    with _reading(path):
        for record in _records(path):
            values = {
                name: value.numpy()
                for name, value in tf.io.parse_single_example(record, _FEATURES).items()
            }
            if len(values["ECAL"]):
                cells, energy, angle = _whole(path, values)
            else:
                cells, energy, angle = _event(path, values, number)
                power = power or _power(path, cells[0], float(values["ecal"][0]))
                cells = cells ** np.float32(1 / power)
            for one in zip(cells, energy.tolist(), angle.tolist(), strict=True):
                _require(path, number, *one)
                yield Shower(*one)
                number += 1


def _whole(path: Path, values: dict[str, Cells]) -> tuple[Cells, Cells, Cells]:
    shape, events = tuple(values["ecalsize"].tolist()), len(values["energy"])
    if (
        shape != (events, *VARIABLE.shape)
        or len(values["ECAL"]) != events * _SIZE
        or len(values["theta"]) != events
    ):
        found = (
            f"ECAL of {len(values['ECAL']):,} cells and ecalsize {shape} for {events:,} energies"
            f" and {len(values['theta']):,} theta"
        )
        raise _refused(
            path, f"it has {found} instead of ({events}, {', '.join(map(str, VARIABLE.shape))})"
        )
    return values["ECAL"].reshape(shape), values["energy"], values["theta"]


def _event(path: Path, values: dict[str, Cells], number: int) -> tuple[Cells, Cells, Cells]:
    sizes = {name: len(values[name]) for name in ("X", "Y", "ang", "ecal")}
    if sizes != (wanted := {"X": _SIZE, "Y": 1, "ang": 1, "ecal": 1}):
        raise _refused(
            path,
            f"record {number:,} has {_listed(sizes)} values instead of {_listed(wanted)}, or of"
            " ECAL, energy and theta",
        )
    return values["X"].reshape(1, *VARIABLE.shape), values["Y"] * ENERGY_UNIT, values["ang"]


def _power(path: Path, cells: Cells, ecal: float) -> float:
    """To which power these cells were taken whose sum was `ecal` before."""
    for power in POWERS:
        if abs(
            float((np.maximum(cells, 0) ** (1 / power)).sum(dtype=np.float64)) - ecal
        ) <= _CLOSE * abs(ecal):
            return power
    raise _refused(
        path,
        f"the cells of its first record sum up to ecal={ecal:g} for none of the powers"
        f" {' and '.join(map(str, POWERS))}",
    )


def _require(path: Path, number: int, cells: Cells, energy: float, angle: float) -> None:
    if not (cells.min() >= 0 and cells.max() <= MOST):  # NaN is neither
        raise _refused(
            path, f"event {number:,} has cells that are no numbers, negative or above {MOST:g}"
        )
    if not (0 < energy < math.inf and 0 < angle < math.pi):
        raise _refused(
            path,
            f"event {number:,} has energy {energy:g} GeV and angle {angle:g} instead of more than"
            " 0, and 0 to pi",
        )


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What TensorFlow says of a damaged file, as one sentence."""
    if not path.is_file():
        raise DatasetError(f"{path} is not a file: name a TFRecord file of showers.")
    try:
        yield
    except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as error:
        raise _refused(path, "it is damaged, or not a TFRecord file of showers") from error
    except tf.errors.OpError as error:
        raise DatasetError(
            f"{path} cannot be read ({error.message.splitlines()[0][:200]}): {REMEDY}."
        ) from error


def _records(path: Path) -> tf.data.Dataset:
    return tf.data.TFRecordDataset(str(path))


def _listed(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} {size:,}" for name, size in sizes.items())


def _refused(path: Path, why: str) -> DatasetError:
    return DatasetError(f"{path} is refused because {why}: {REMEDY}.")
