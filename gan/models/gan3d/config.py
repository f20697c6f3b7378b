"""The settings of a 3DGAN: its latent size and its losses are part of the method. Free of
TensorFlow."""

from __future__ import annotations

from typing import ClassVar, Literal

from ganboard.gan.settings.declarations import inherited, setting
from ganboard.gan.settings.problems import problem
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
    network: Literal["published", "compact"] = setting("published", "Model",
        "Networks: the published three-dimensional ones, or compact ones with the layers of a"
        " shower as channels (Rehm et al. 2021), trained at once",
        speed=True)
    width: int = setting(16, "Model",
        "Filters of the largest maps of network=compact; they double as the maps halve",
        unit="filters", when=("network", "compact"), ge=4, le=128, speed=True)
    curriculum: float = setting(0.0, "Training",
        "Share of the epochs over which the energies widen, from the fifth of the showers that is"
        " nearest to the median to all of them (Bengio et al. 2009; 0 is off)", ge=0, le=1)
    r1: float = setting(0.0, "Training",
        "Weight gamma of the R1 penalty on the compact D's gradient at real cells (Mescheder et al."
        " 2018; 0 is off)",
        label="R1 penalty", when=("network", "compact"), speed=True, ge=0, le=1000)
    # fmt: on

    def _check_own(self) -> None:
        super()._check_own()
        if self.recompute and self.network == "compact":
            raise problem(
                "recompute=true is not available with network=compact, whose maps are small: set"
                " recompute to false."
            )
        if self.r1 and self.network == "published":
            raise problem(
                f"r1={self.r1:g} is only used with network=compact: set that, or r1 to 0."
            )
