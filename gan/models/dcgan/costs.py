"""What DCGAN costs, from its layers. Free of TensorFlow."""

from __future__ import annotations

from ganboard.gan.costs import evaluation, simultaneous
from ganboard.gan.costs.layer import LayerCost, layer_costs
from ganboard.gan.data import digits, mnist
from ganboard.gan.models.dcgan import architecture
from ganboard.gan.models.dcgan.config import Config

# Fitted with `gan.costs.estimate._PROCESS` to the highest resident memory of whole trainings, see
# there: per image, beside what is kept: gradients on their way; in 16 bits also copies in float32
_WORK = {4: 230_000, 2: 20_000}
_RECOMPUTED = 470_000  # the same where a block's values are made again
_FUSED = 280_000  # and where XLA lays out the buffers


def data_bytes(config: Config, examples: int) -> int:
    """Bytes of images as read and as a constant of TensorFlow."""
    return 2 * 28 * 28 * examples


def evaluation_bytes(config: Config) -> int:
    """Bytes that an evaluation of quality takes, while nothing trains."""
    return evaluation.evaluation_bytes(config, 28 * 28)


def examples(config: Config) -> int:
    """How many images the data set has, where nobody has counted them."""
    return digits.COUNT if config.dataset == "digits" else mnist.COUNT


def generator(config: Config, on_cpu: bool = True) -> tuple[LayerCost, ...]:
    """The generator, from noise to image."""
    return layer_costs((config.latent_dim,), architecture.generator(config, on_cpu=on_cpu))


def discriminator(config: Config, on_cpu: bool = True) -> tuple[LayerCost, ...]:
    """The discriminator, from image to logit."""
    return layer_costs(architecture.SHAPE, architecture.discriminator(config, on_cpu=on_cpu))


def step_macs(config: Config) -> int:
    """Multiply-accumulates of a training step for each image of the batch."""
    return simultaneous.step_macs(
        config, generator(config), discriminator(config), recompute=config.recompute
    )


def image_bytes(config: Config, *, on_gpu: bool = False) -> int:
    """Bytes per image of a micro-batch: what both nets keep for the backward pass, and what that
    works with."""
    half = 4 if config.precision == "float32" else 2
    nets = generator(config, not on_gpu), discriminator(config, not on_gpu)
    joined = not (on_gpu or config.r1 or config.r2 or config.examples_mix_in_d)
    kept = simultaneous.kept_bytes(config, *nets, recompute=config.recompute, joined=joined)
    if config.replicas > 1 and config.effective_strategy != "multi_worker" and not on_gpu:
        return kept  # replicas of one process take turns on its cores
    return kept + max(_WORK[half], _RECOMPUTED * config.recompute, _FUSED * config.xla)
