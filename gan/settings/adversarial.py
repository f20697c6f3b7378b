"""The settings of models that make images from noise against a discriminator. Free of
TensorFlow."""

from __future__ import annotations

from typing import Literal

from ganboard.gan.settings.declarations import setting
from ganboard.gan.settings.problems import problem
from ganboard.gan.settings.run_config import RunConfig


class AdversarialConfig(RunConfig):
    """What `gan.modeling.losses` and the recipes of such models read."""

    # fmt: off
    images_path: str = setting("", "Data",
        "The folder or zip of PNG or JPEG files, relative to the data directory",
        when=("dataset", "images"), max_length=300)
    skip_unreadable: bool = setting(False, "Data",
        "Skip pictures that cannot be read instead of rejecting the folder; the run reports how"
        " many",
        when=("dataset", "images"))

    latent_dim: int = setting(100, "Model",
        "Length of the noise vector z (the study: 100)",
        unit="values", label="Latent size", ge=1, le=4096,
        study="Different noise: grids start from other latents, and G's first layer has another"
        " size.")

    d_steps: int = setting(1, "Training",
        "Discriminator updates per generator update (k of the study's Eq. 4)",
        label="D steps", speed=True, ge=1, le=16,
        study="D learns more often per step of G: losses and times per epoch differ from the"
        " study's.")
    loss: Literal["non_saturating", "saturating", "hinge", "wgan_gp", "relativistic"] = setting(
        "non_saturating", "Training",
        "Loss of G: -log D(G(z)), Eq. 5's log(1 - D(G(z))), hinge, the Wasserstein critic with"
        " gradient penalty, or relativistic pairs",
        speed=True, self_explanatory=True,
        study="Another loss has another scale: compare images and quality, not losses.")
    gradient_penalty: float = setting(10.0, "Training",
        "Weight of the gradient penalty of loss=wgan_gp (Gulrajani et al. 2017: 10)",
        when=("loss", "wgan_gp"), ge=0, le=1000)
    r1: float = setting(0.0, "Training",
        "Weight gamma of the R1 penalty on D's gradient at real images (Mescheder et al. 2018:"
        " 10; 0 is off)",
        label="R1 penalty", speed=True, ge=0, le=1000)
    r2: float = setting(0.0, "Training",
        "Weight gamma of the R2 penalty on D's gradient at generated images (Mescheder et al. 2018;"
        " with R1 and loss=relativistic Huang et al. 2024; 0 is off)",
        label="R2 penalty", speed=True, ge=0, le=1000)
    label_smoothing: float = setting(0.0, "Training",
        "D's target for real images is 1 minus this (Salimans et al. 2016: 0.1; 0 is off)",
        when=("loss", "non_saturating", "saturating"), ge=0, lt=0.5)
    quality_features: Literal["auto", "classifier", "encoder", "inception"] = setting(
        "auto", "Quality",
        "What images are compared in: features of a classifier, which needs labels, of an encoder"
        " trained on rotations, or of Keras's InceptionV3; auto is the classifier where there are"
        " labels, else the encoder",
        label="Features", unless=("quality_every", 0), affects="result")
    # fmt: on

    @property
    def d_updates(self) -> int:
        return self.d_steps

    @property
    def picture_shape(self) -> tuple[int, int, int]:
        """(H, W, C) of an image."""
        return 28, 28, 1

    @property
    def label_count(self) -> int:
        """Classes that the networks are given; 0 without labels."""
        return 0

    @property
    def examples_mix_in_d(self) -> bool:
        """Whether D's output for an image depends on the others of the batch, as with batch
        norm."""
        return False

    @property
    def logits_are_probabilities(self) -> bool:
        return self.loss in ("non_saturating", "saturating")

    def _check_own(self) -> None:
        if self.skip_unreadable and self.dataset != "images":
            raise problem(
                "skip_unreadable=true is only used with dataset=images, and"
                f" dataset={self.dataset}: set it to false."
            )
        if self.label_smoothing and not self.logits_are_probabilities:
            raise problem(
                f"label_smoothing={self.label_smoothing:g} has no meaning for loss={self.loss},"
                " which has no labels: set it to 0."
            )
