"""The settings of a 3DGAN: its latent size and its losses are part of the method. Free of
TensorFlow."""

from __future__ import annotations

from typing import ClassVar, Literal

from ganboard.gan.settings.declarations import inherited, setting
from ganboard.gan.settings.recomputing import RecomputingConfig
from ganboard.gan.settings.run_config import RunConfig


class Config(RecomputingConfig):
    """Showers in a calorimeter."""

    datasets: ClassVar = {
        "showers": "",
        "hdf5": "the folder or file inside the data directory that holds the showers",
    }

    # fmt: off
    dataset: str = setting("showers", "Data",
        "Showers: sampled here (showers), or CERN's files (hdf5)",
        max_length=80, self_explanatory=True,
        study="Showers: nothing can be compared with the study's images.")
    images_path: str = setting("", "Data",
        "The folder or file of showers in HDF5, relative to the data directory",
        when=("dataset", "hdf5"), max_length=300)

    model: str = inherited(RunConfig.model_fields["model"], "gan3d")
    geometry: Literal["25x25x25", "51x51x25"] = setting("25x25x25", "Model",
        "Cells of a shower: 25x25x25 at a fixed angle (EcalEnergyGan), or 51x51x25 with the angle"
        " as a condition (AngleArch3dGAN)",
        unit="cells", speed=True,
        study="The study has no showers: nothing can be compared.")
    # fmt: on
