"""What is asked of a pix2pix: the frame that follows each of these, given with its obstacle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.generation.generation import MAX_EXAMPLES, Floats
from ganboard.gan.generation.latent_requests import InvalidRequest
from ganboard.gan.models.pix2pix import rendering, source
from ganboard.gan.models.pix2pix.config import CHANNELS, Config
from ganboard.gan.models.pix2pix.flow.frames import MAX_VALUE, Frames, Pairs

_PAIRS = 32  # of a comparison


class Request(BaseModel):
    """`frames` [n, side, side, inputs] as nested lists or an array: u_x/U - 1, u_y/U and vorticity,
    of each given frame from the newest to the oldest, and the obstacle."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    frames: Any


class Generation:
    """See `gan.generation.generation.Generation`."""

    request = Request
    output = "frames"
    together = 8

    def __init__(self, config: Config) -> None:
        self.config, self.side = config, config.side

    def signature(self) -> dict[str, Any]:
        shape = [None, self.side, self.side]
        channels = ["u_x/U - 1", "u_y/U", "vorticity"]
        earlier = [
            f"{name}, {ago} earlier" for ago in range(1, self.config.history) for name in channels
        ]
        given = {
            "shape": [*shape, self.config.inputs],
            "dtype": "float32",
            "range": [-MAX_VALUE, MAX_VALUE],
            "channels": [*channels, *earlier, "obstacle"],
        }
        made = {
            "shape": [*shape, CHANNELS],
            "dtype": "float32",
            "range": [-1, 1] if self.config.predict == "frame" else [-MAX_VALUE, MAX_VALUE],
            "channels": channels,
        }
        return {"inputs": {"frames": given}, "outputs": {self.output: made}}

    def inputs(self, asked: Request) -> Floats:
        shape = (self.side, self.side, self.config.inputs)
        wanted = f"an array [n, {', '.join(map(str, shape))}], n from 1 to {MAX_EXAMPLES}"
        try:
            frames = np.asarray(asked.frames, np.float32)
        except (TypeError, ValueError, OverflowError):
            raise InvalidRequest(f"frames are no array of numbers: give {wanted}.") from None
        if frames.shape[1:] != shape or not 1 <= len(frames) <= MAX_EXAMPLES:
            raise InvalidRequest(f"frames of shape {list(frames.shape)} do not fit: give {wanted}.")
        if not (np.abs(frames) <= MAX_VALUE).all():  # also false for NaN
            raise InvalidRequest(
                f"frames hold values that are not finite or exceed {MAX_VALUE:g}: give speeds and"
                " vorticity as fractions."
            )
        return frames

    def outputs(self, made: Floats) -> Floats:
        return made

    def pictures(self, made: Floats) -> Floats:
        return rendering.vorticity(made)

    def probe(self) -> Floats:
        return np.zeros((1, self.side, self.side, self.config.inputs), np.float32)

    def examples(self, data_dir: Path) -> Floats:
        return self._pairs(data_dir)[0]

    def compare(
        self, full: Floats, other: Floats, data_dir: Path, cache_dir: Path
    ) -> tuple[dict[str, float], float]:
        """Worse is a larger L1 distance to the frames that really follow, of flows that were held
        out where there are some."""
        before, after = self._pairs(data_dir)
        l1 = {
            name: float(np.abs(made - after).mean())
            for name, made in (
                ("l1", other),
                ("l1_full", full),
                ("l1_still", before[..., :CHANNELS]),
            )
        }
        return l1, 100 * (l1["l1"] / l1["l1_full"] - 1)

    def _pairs(self, data_dir: Path) -> tuple[Floats, Floats]:
        frames = source.frames(self.config, data_dir)
        pairs = _of_split(frames, self.config.history)
        before, after = pairs.batch(
            np.linspace(0, len(pairs) - 1, min(_PAIRS, len(pairs))).round().astype(int).tolist()
        )
        y, x = ((length - self.side) // 2 for length in before.shape[1:3])
        if min(y, x) < 0:
            raise DatasetError(
                f"{frames.folder} holds frames of {before.shape[2]}x{before.shape[1]} cells, fewer"
                f" than {self.side}: use others."
            )
        window = np.s_[:, y : y + self.side, x : x + self.side]
        return before[window], after[window]


def _of_split(frames: Frames, history: int) -> Pairs:
    held_out = any(stored.split == "held-out" for stored in frames.manifest.sequences)
    return frames.pairs("held-out" if held_out else "train", history=history)
