"""The settings of a DCGAN. Free of TensorFlow."""

from __future__ import annotations

from typing import ClassVar, Literal

from ganboard.gan.settings.adversarial import AdversarialConfig
from ganboard.gan.settings.declarations import inherited, setting
from ganboard.gan.settings.problems import problem
from ganboard.gan.settings.recomputing import RecomputingConfig
from ganboard.gan.settings.run_config import RunConfig


class Config(AdversarialConfig, RecomputingConfig):
    """The study's network, Table 1, and what its text leaves open."""

    datasets: ClassVar = {
        "digits": "",
        "mnist": "",
        "fashion_mnist": "",
        "images": "the folder or zip inside the data directory that holds the pictures",
    }

    model: str = inherited(RunConfig.model_fields["model"], "dcgan")
    # fmt: off
    table1_literal: bool = setting(False, "Model",
        "Follow Table 1 to the letter: an extra 7x7 transposed convolution in G",
        label="Table 1 to the letter", speed=True,
        study="Another reading of Table 1: G has 409,088 more parameters and takes longer.")
    generator_batch_norm: bool = setting(True, "Model",
        "Batch norm in G (Table 1); without it every image is independent of its batch",
        label="Batch norm in G",
        study="Table 1 has batch norm in G: without it, training behaves differently.")
    discriminator_batch_norm: bool = setting(False, "Model",
        "Batch norm in D: the study's text has it, its Table 1 does not",
        label="Batch norm in D", speed=True,
        study="In the study's text, but not in its Table 1: losses differ, times a little.")

    convolution: Literal["auto", "direct", "spectral"] = setting("auto", "Acceleration",
        "Algorithm of G's largest convolution: direct, or by Fourier transforms with a tenth of"
        " the products; auto is spectral on CPU",
        speed=True)
    # fmt: on

    @property
    def examples_mix_in_d(self) -> bool:
        return self.discriminator_batch_norm

    def _check_own(self) -> None:
        super()._check_own()
        if self.recompute and (self.r1 or self.r2 or self.loss == "wgan_gp"):
            weights = f"r1={self.r1:g}" if self.r1 else f"r2={self.r2:g}"
            penalty = weights if self.r1 or self.r2 else "loss=wgan_gp"
            raise problem(
                f"recompute=true cannot be combined with {penalty}, which needs gradients of"
                " gradients: set recompute to false."
            )
        if self.loss == "wgan_gp" and self.discriminator_batch_norm:
            raise problem(
                "loss=wgan_gp penalises the gradient of each image alone: set"
                " discriminator_batch_norm to false."
            )
