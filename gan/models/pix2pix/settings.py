"""The settings that pix2pix reads: its losses are part of the method, and it draws no noise."""

from __future__ import annotations

from ganboard.gan.settings.declarations import ModelSettings

SETTINGS = ModelSettings(
    datasets=("vortex_street", "flow"),
    paths={"flow": "the folder inside the data directory that `ganboard data flow` has written"},
    geometries=("64x64", "128x128", "256x256"),
    reads=("geometry",),
)
