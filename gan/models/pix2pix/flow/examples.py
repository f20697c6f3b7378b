"""Frame pairs as a training holds them: every frame once, in 16 bits, with the obstacles beside."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ganboard.gan.models.pix2pix.flow.frames import Frames


@dataclass(frozen=True, eq=False)
class Examples:
    """Pair i: frame `at[i]` with the obstacle `sequence[i]`, and the frame after it."""

    frames: npt.NDArray[np.float16]  # [n, ny, nx, 3]
    masks: npt.NDArray[np.float16]  # [sequences, ny, nx]: 1 in the solid
    at: npt.NDArray[np.int32]
    sequence: npt.NDArray[np.int32]
    stored: Frames  # where they are from, and the flows that are held out beside them

    def __len__(self) -> int:
        return len(self.at)

    @property
    def continues(self) -> npt.NDArray[np.int32]:
        """1 where a frame of the same flow comes after the pair, else 0."""
        each = self.stored.manifest.frames
        return (self.at % each + 2 < each).astype(np.int32)

    def first(self, limit: int | None) -> Examples:
        """The first `limit` pairs, or all; evenly from all flows, since neighbours of one flow are
        alike."""
        if limit is None or limit >= len(self):
            return self
        chosen = np.linspace(0, len(self) - 1, limit).round().astype(np.int32)
        return replace(self, at=self.at[chosen], sequence=self.sequence[chosen])


def load(frames: Frames, history: int = 1) -> Examples:
    """The training flows of `frames`, in pairs that have `history` frames up to the first one;
    looks at every value. Raises DatasetError."""
    numbers = [
        number for number, stored in enumerate(frames.manifest.sequences) if stored.split == "train"
    ]
    each = frames.manifest.frames
    held = [
        np.stack([frames.frame(number, t) for t in range(each)]).astype(np.float16)
        for number in numbers
    ]
    flows = np.arange(len(numbers) * each, dtype=np.int32).reshape(-1, each)
    at = flows[:, history - 1 : -1].ravel()
    sequence = np.repeat(np.arange(len(numbers), dtype=np.int32), each - history)
    return Examples(
        np.concatenate(held),
        np.stack([frames.mask(number) for number in numbers]).astype(np.float16),
        at,
        sequence,
        frames,
    )
