"""What answers about loss surfaces contain."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from ganboard.worker.api.answers import Answer, Answered, Figure


class SurfaceState(Answer):
    """A surface that was asked for; when it is done, its facts have the seconds, the images, and
    the shares of the paths' variance that the planes explain."""

    others: list[str] = Field(description="Further runs whose paths are shown.")
    options: dict[str, Any] = Field(description="plane, size, images, seed.")
    asked_at: datetime
    answered_at: datetime | None


class PathPoint(Answered):
    """A snapshot of a run's weights."""

    run: str
    epoch: int
    x: Figure
    y: Figure
    loss: Figure
    radius: Figure = Field(description="Distance from the run's last point over all weights.")


class NetSurface(Answered):
    """The loss of a network in a plane through the end of the first run."""

    x: list[Figure] = Field(description="In units of the weights.")
    y: list[Figure]
    surface: list[list[Figure]] = Field(description="Losses by y, then by x.")
    path: list[PathPoint]


class SurfaceValues(Answered):
    """A computed surface."""

    id: str
    g: NetSurface = Field(description="Of the generator.")
    d: NetSurface = Field(description="Of the discriminator.")
