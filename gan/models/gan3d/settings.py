"""The settings that a 3DGAN reads: its latent size and its losses are part of the method."""

from __future__ import annotations

from ganboard.gan.settings.declarations import ModelSettings

SETTINGS = ModelSettings(
    datasets=("showers", "hdf5"),
    paths={"hdf5": "the folder or file inside the data directory that holds the showers"},
    geometries=("25x25x25", "51x51x25"),
    reads=("geometry", "recompute"),
    has_latent_space=True,
)
