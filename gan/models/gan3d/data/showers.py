"""Showers as a training holds them: only the cells that are not empty, so that CERN's whole data
set fits into a gigabyte."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ganboard.gan.models.gan3d.data.reader import Batch, Reader

_TOGETHER = 64  # events in memory with all their cells
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Showers:
    """n events; the cells of event i are `splits[i]` to `splits[i + 1]` of `values` and `cells`."""

    values: npt.NDArray[np.float32]  # prepared cells, as images hold them
    cells: npt.NDArray[np.uint16]  # their places in the flattened event
    splits: npt.NDArray[np.int64]  # [n + 1]
    # [n, 3]: energy in 100 GeV, angle in rad, sum of the cells before their power
    labels: npt.NDArray[np.float32]
    shape: tuple[int, int, int]

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, limit: int | None) -> Showers:
        """The first `limit` events, or all."""
        if limit is None or limit >= len(self):
            return self
        end = self.splits[limit]
        return Showers(
            self.values[:end],
            self.cells[:end],
            self.splits[: limit + 1],
            self.labels[:limit],
            self.shape,
        )

    def dense(self, first: int, last: int) -> npt.NDArray[np.float32]:
        """Images [last - first, x, y, z] of consecutive events."""
        images = np.zeros((last - first, int(np.prod(self.shape))), np.float32)
        at = slice(self.splits[first], self.splits[last])
        images[
            np.repeat(np.arange(last - first), np.diff(self.splits[first : last + 1])),
            self.cells[at],
        ] = self.values[at]
        return images.reshape(-1, *self.shape)


def load_files(
    reader: Reader, limit: int | None = None, progress: Progress | None = None
) -> Showers:
    """The first `limit` events of `reader` that a training keeps; looks at every event. Raises
    DatasetError."""
    kept = reader.check().kept[:limit]
    return gather(reader.batches(kept, _TOGETHER), len(kept), reader.layout.shape, progress)


def gather(
    batches: Iterable[Batch],
    count: int,
    shape: tuple[int, int, int],
    progress: Progress | None = None,
) -> Showers:
    """All `batches`, `count` events in sum, as `Showers`; `progress(done, count)` after each."""
    values, cells, labels, sizes = [], [], [], []
    done = 0
    for batch in batches:
        flat = batch.images.reshape(len(batch.images), -1)
        event, place = np.nonzero(flat)
        values.append(flat[event, place])
        cells.append(place.astype(np.uint16))  # 51 * 51 * 25 = 65,025 places
        sizes.append(np.bincount(event, minlength=len(flat)))
        labels.append(np.stack([batch.energy, batch.angle, batch.ecal], 1))
        done += len(flat)
        if progress:
            progress(done, count)
    splits = np.concatenate([[0], *sizes]).cumsum(dtype=np.int64)
    return Showers(
        np.concatenate(values),
        np.concatenate(cells),
        splits,
        np.concatenate(labels).astype(np.float32),
        shape,
    )
