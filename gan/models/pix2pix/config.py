"""The settings of pix2pix: its losses are part of the method, and it draws no noise. Free of
TensorFlow."""

from __future__ import annotations

from typing import ClassVar, Literal

from ganboard.gan.settings.declarations import inherited, setting
from ganboard.gan.settings.problems import problem
from ganboard.gan.settings.run_config import RunConfig

CHANNELS = 3  # of a stored frame; the obstacle follows from the flow's description


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
    network: Literal["published", "compact"] = setting("published", "Model",
        "G: the published U-Net, down to one pixel (Isola et al. 2017), or a compact one of three"
        " sizes without batch norm",
        speed=True)
    width: int = setting(64, "Model",
        "Filters of the largest maps in both networks; smaller maps have up to 8 times as many",
        unit="filters", ge=4, le=256, speed=True)
    padding: Literal["zeros", "edge", "channel"] = setting("zeros", "Model",
        "What the compact network sees beyond the edges of its window: zeros, the outermost cells"
        " (edge), or as in the flow itself the opposite edge across the stream and the outermost"
        " cells along it (channel), for windows as high as the frames",
        when=("network", "compact"), speed=True)
    history: int = setting(1, "Model",
        "Consecutive frames that G is given",
        unit="frames", ge=1, le=4, speed=True)
    predict: Literal["frame", "change"] = setting("frame", "Model",
        "What G predicts: the next frame, or its difference from the given one",
        speed=True)

    adversarial_weight: float = setting(1.0, "Training",
        "Weight of D's opinion in G's loss", ge=0, le=1000)
    l1_weight: float = setting(100.0, "Training",
        "Weight of the L1 distance in G's loss", label="L1 weight", ge=0, le=10_000)
    divergence_weight: float = setting(0.0, "Training",
        "Weight of the mean absolute divergence of G's velocities, which is 0 where mass is"
        " conserved", ge=0, le=10_000)
    input_noise: float = setting(0.0, "Training",
        "Standard deviation of noise on the given frames, in units of the inlet speed, so that G"
        " learns to correct small errors (Sanchez-Gonzalez et al. 2020)", ge=0, le=1)
    pushforward: float = setting(0.0, "Training",
        "Share of the pairs that are taken one frame later, with G's own prediction as the given"
        " frame (Brandstetter et al. 2022)", ge=0, le=1, speed=True)
    # fmt: on

    @property
    def side(self) -> int:
        """Cells along an edge of the window."""
        return int(self.geometry.partition("x")[0])

    @property
    def inputs(self) -> int:
        """Channels of what G is given: its frames, the newest first, and the obstacle."""
        return CHANNELS * self.history + 1

    def _check_own(self) -> None:
        super()._check_own()
        if self.padding != "zeros" and self.network != "compact":
            raise problem(
                f"padding={self.padding} is for the compact network: set network to compact, or"
                " padding to zeros, as published."
            )

    @property
    def g_learns_from_d(self) -> bool:
        return self.adversarial_weight > 0
