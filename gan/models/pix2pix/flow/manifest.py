"""What stands beside stored frames, and how it is read back without trust."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ganboard.gan.data.dataset import DatasetError, reading
from ganboard.gan.files import open_plain
from ganboard.gan.models.pix2pix.config import CHANNELS
from ganboard.gan.models.pix2pix.flow.lattice import relaxation
from ganboard.gan.models.pix2pix.flow.obstacle import Obstacle, Shape
from ganboard.gan.models.pix2pix.flow.recording import MAX_CASES

NAME = "manifest.json"
FORMAT = "ganboard-flow-1"
DTYPE = "<f2"
REMEDY = "copy the folder again from its origin, or create it again with `ganboard data flow`"
_MAX_BYTES = 4 << 20

Side = Annotated[int, Field(ge=1, le=1 << 20)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Stored(_Strict):
    """One sequence of frames; lengths are in cells, velocities in cells per step."""

    shape: Shape
    diameter: Side
    aspect: float
    x: float
    y: float
    reynolds: float
    bump: float
    tau: float
    strouhal: float | None  # measured; None where nothing oscillates yet
    split: Literal["train", "held-out"]
    bytes: Annotated[int, Field(ge=1)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    @property
    def obstacle(self) -> Obstacle:
        return Obstacle(self.shape, self.diameter, self.aspect, self.x, self.y)


class Manifest(_Strict):
    format: Literal["ganboard-flow-1"]
    grid: tuple[Side, Side]
    speed: float
    frames: Annotated[int, Field(ge=2, le=1_000_000)]
    discard: Count
    every: Count
    seed: Annotated[int, Field(ge=0)]
    channels: Literal["u_x/U - 1, u_y/U, vorticity D/U / 3 within -1 and 1"]
    dtype: Literal["<f2"]
    sequences: Annotated[tuple[Stored, ...], Field(min_length=1, max_length=MAX_CASES)]

    @property
    def digest(self) -> str:
        """SHA-256 of all that is stored: equal digests, equal frames."""
        return hashlib.sha256(
            json.dumps(self.model_dump(mode="json"), sort_keys=True).encode()
        ).hexdigest()

    def encode(self) -> bytes:
        return json.dumps(
            {**self.model_dump(mode="json"), "digest": self.digest}, indent=1
        ).encode()

    @property
    def frame(self) -> tuple[int, int, int]:
        """Shape of a stored frame, (ny, nx, 3)."""
        return self.grid[1], self.grid[0], CHANNELS


def file_name(number: int) -> str:
    """Of the frames of sequence `number`."""
    return f"{number:03d}.npy"


def read(folder: Path) -> Manifest:
    """Raises DatasetError when the manifest is absent, not of this format, changed, or describes
    an impossible flow."""
    path = folder / NAME
    with reading(path, REMEDY), open_plain(path) as file:
        text = file.read(_MAX_BYTES + 1)
        if len(text) > _MAX_BYTES:
            raise ValueError(f"it exceeds the limit of {_MAX_BYTES:,} bytes")
        document = json.loads(text)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ValueError(f"it is no manifest of format {FORMAT}")
        digest = document.pop("digest", None)
        try:
            manifest = Manifest.model_validate(document)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        if digest != manifest.digest:
            raise ValueError("its digest does not match: it was changed")
        for stored in manifest.sequences:
            try:
                relaxation(stored.obstacle, stored.reynolds, manifest.grid, manifest.speed)
            except DatasetError as error:
                raise ValueError(str(error)) from None
    return manifest
