"""The settings of pix2pix: its losses are part of the method, and it draws no noise. Free of
TensorFlow."""

from __future__ import annotations

from typing import ClassVar, Literal

from ganboard.gan.settings.declarations import inherited, setting
from ganboard.gan.settings.run_config import RunConfig


class Config(RunConfig):
    """The next frame of a flow."""

    datasets: ClassVar = {
        "vortex_street": "",
        "flow": "the folder inside the data directory that `ganboard data flow` has written",
    }

    # fmt: off
    dataset: str = setting("vortex_street", "Data",
        "Flows: vortex streets computed here (vortex_street), or your own (flow)",
        max_length=80, self_explanatory=True,
        study="Flows: nothing can be compared with the study's images.")
    images_path: str = setting("", "Data",
        "The folder of frames that `ganboard data flow` has written, relative to the data"
        " directory",
        when=("dataset", "flow"), max_length=300)

    model: str = inherited(RunConfig.model_fields["model"], "pix2pix")
    geometry: Literal["64x64", "128x128", "256x256"] = setting("64x64", "Model",
        "Window of a frame",
        unit="cells", speed=True, identifies=True,
        study="The study has no flows: nothing can be compared.")
    # fmt: on

    @property
    def side(self) -> int:
        """Cells along an edge of the window."""
        return int(self.geometry.partition("x")[0])
