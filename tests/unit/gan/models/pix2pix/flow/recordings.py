"""A short recording of three flows."""

from __future__ import annotations

from ganboard.gan.models.pix2pix.flow.obstacle import Obstacle
from ganboard.gan.models.pix2pix.flow.recording import Case, Recording

GRID = (60, 24)
RECORDING = Recording(
    (
        Case(Obstacle("circle", 4), 50),
        Case(Obstacle("circle", 4), 40, held_out=True),
        Case(Obstacle("rectangle", 4, 2), 50, held_out=True, bump=-0.05),
    ),
    GRID,
    frames=6,
    discard=30,
    every=8,
    seed=3,
)
