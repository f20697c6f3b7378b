"""What a configuration costs: products, memory and traffic, from the shapes of its layers alone. Free of TensorFlow."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gan.config import RunConfig
from gan.data import digits, mnist

_TAPS = 5 * 5  # of every kernel
_PIXELS = 28 * 28
_WAVES = 121  # real products per pair of channels of the spectral form of a 7x7 layer (gan.models.dcgan.spectral)
_MOST = 65_536  # the limit of RunConfig.batch_size
_UNKNOWN = 2**60

# Memory is reckoned from the layers but for these, which were fitted to the highest resident memory (VmHWM) of whole trainings: two CPU
# cores, TensorFlow 2.21, MNIST, first steps, spectral form, Adam. Measured / estimated, in MB:
#   batch             32        64        512         1024         2048
#   float32      970/ 962  980/ 995  1373/1375  1822/1803  2570/2678
#   bfloat16     978/ 957  978/ 979  1286/1295  1554/1649  2273/2357
#   XLA                   1086/1086             2205/2207               (512 in bfloat16: 1439/1457)
#   at 1024: recompute 1504/1518, in bfloat16 1380/1413; wgan_gp 2125/2163, r1 2070/1980, D's batch norm 1947/1829, d_steps=2 1994/1803,
#   direct 1722/1581, table1_literal 1808/1957, loop=fit 1758/1810, 2 replicas 1800/1875, 4 replicas 1884/2019; others:
#   2048 in 8 parts 1252/1168, 4096 in 4 parts 1892/1820; 64 with quality 1288/1320, of 20,000 images 1444/1476; 64 of digits 964/985
_PROCESS = 826 * 10**6  # Python, TensorFlow (664 MB once imported and started) and the traced and optimised training step
_COMPILER = 70 * 10**6  # XLA
_WORK = {4: 110_000, 2: 250_000}  # per image, beside what is kept: gradients on their way; in 16 bits also copies in float32
_RECOMPUTED = 340_000  # the same where a block's values are made again
_FUSED = 430_000  # and where XLA lays out the buffers
_JUDGE, _JUDGED = 280 * 10**6, 8_700  # the classifier of gan.quality at work, and per image that it compares
_GPU_RESERVE = 2**30  # what CUDA, its libraries and the screen take of a GPU: an allowance, not measured


@dataclass(frozen=True)
class Layer:
    """One convolution or product with the batch norm, LeakyReLU and dropout behind it; all numbers are for one image."""

    name: str
    macs: int  # multiply-accumulates forwards, those of a direct convolution that skips the zeros of padding and stride
    parameters: int  # trained ones, batch norm included
    entering: int  # values that come in
    leaving: int  # values that go out
    norm: bool = False
    activated: bool = True
    masked: bool = False
    waves: int = 0  # values in the frequency domain, of what comes in and goes out
    spectrum: int = 0  # weights in the frequency domain, whatever the number of images

    def kept(self, half: int, recompute: bool) -> int:
        """Bytes that wait for the backward pass, with `half` bytes per value of a layer's computation.

        What enters is wanted by the weights' gradient, the value before LeakyReLU by its own; batch norm keeps its input in float32.
        """
        values = self.entering + (0 if recompute else self.waves + self.leaving * self.activated)
        return half * values + (0 if recompute else 4 * self.leaving * self.norm) + self.leaving * self.masked


def generator(config: RunConfig, on_cpu: bool = True) -> tuple[Layer, ...]:
    """The generator of `gan.models.dcgan.networks`, from noise to image."""
    norm = config.generator_batch_norm
    spectral = config.convolution == "spectral" or (config.convolution == "auto" and on_cpu)

    def up(name: str, side: int, channels: int, filters: int, stride: int, normed: bool, activated: bool = True) -> Layer:
        pairs = channels * filters
        leaving = (side * stride) ** 2 * filters
        points = _WAVES if spectral and stride == 1 else 0
        return Layer(
            name,
            side**2 * _TAPS * pairs,
            _TAPS * pairs + 2 * filters * normed,
            side**2 * channels,
            leaving,
            normed,
            activated,
            waves=points * (channels + filters),
            spectrum=points * pairs,
        )

    size = 7 * 7 * 256
    dense = Layer("dense", config.latent_dim * size, (config.latent_dim + 2 * norm) * size, config.latent_dim, size, norm)
    literal = (up("up_4", 7, 128, 128, 1, False),) if config.table1_literal else ()
    return (
        dense,
        up("up_1", 7, 256, 128, 1, norm and not literal, not literal),
        *literal,
        up("up_2", 7, 128, 64, 2, norm),
        up("up_3", 14, 64, 1, 2, False),
    )


def discriminator(config: RunConfig) -> tuple[Layer, ...]:
    """The discriminator of `gan.models.dcgan.networks`, from image to logit."""

    def down(name: str, side: int, channels: int, filters: int, norm: bool) -> Layer:
        weights, leaving = _TAPS * channels * filters, (side // 2) ** 2 * filters
        parameters = weights + filters + 2 * filters * norm
        return Layer(name, (side // 2) ** 2 * weights, parameters, side**2 * channels, leaving, norm, masked=True)

    size = 7 * 7 * 128
    return (
        down("down_0", 28, 1, 64, False),
        down("down_1", 14, 64, 128, config.discriminator_batch_norm),
        Layer("logits", size, size + 1, size, 1, activated=False),
    )


def parameters(layers: Sequence[Layer]) -> int:
    """Trained parameters."""
    return sum(layer.parameters for layer in layers)


def macs(layers: Sequence[Layer]) -> int:
    """Multiply-accumulates of one image, forwards."""
    return sum(layer.macs for layer in layers)


def step_flop(config: RunConfig) -> float:
    """FLOP of the convolutions and products of one training step over all replicas; one multiply-accumulate is 2 FLOP.

    These are nominal: direct convolutions, and a backward pass for each loss. What gets the same gradients with fewer products (the
    spectral convolution, one pass through D for both losses) reaches a higher rate by this count, which can lie above the machine's peak.
    Accumulating changes nothing. With recompute each forward pass counts twice, as in "hardware FLOPs" (Chowdhery et al. 2022, PaLM,
    appendix B), not "model FLOPs".
    """
    g_layers, d_layers = generator(config), discriminator(config)
    g, d = macs(g_layers), macs(d_layers)
    # A layer's backward pass costs its forward pass twice: for its weights, and for what entered, which in a first layer nobody asks for
    train_g = 3 * g - g_layers[0].macs
    judge = 3 * d - d_layers[0].macs
    # A penalty is a backward pass down to the image, differentiated by its weights and by what came down, which begins with ones; that of
    # wgan_gp has a forward pass of its own, whose logits nobody asks for
    last = d_layers[-1].macs
    train_d = 2 * judge + (3 * d - last) * bool(config.r1) + (4 * d - 2 * last) * (config.loss == "wgan_gp")
    again = (2 + (config.loss == "wgan_gp")) * d * config.recompute
    per_image = config.d_steps * (train_d + again) + (config.d_steps - 1) * g + train_g + g * config.recompute + d
    return 2.0 * config.batch_size * per_image


def reduce_bytes(config: RunConfig) -> int:
    """Bytes that each replica sends per step to sum the float32 gradients of both nets: 2 (p - 1) / p of them in a ring of p replicas.

    (Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms", section 3.) With d_steps D's travel so many times.
    """
    p = config.replicas
    values = parameters(generator(config)) + config.d_steps * parameters(discriminator(config))
    return 2 * (p - 1) * 4 * values // p


def estimate(config: RunConfig, examples: int | None = None, *, on_gpu: bool = False) -> int:
    """Bytes of memory that a trainer process needs at its highest: of the machine, or with `on_gpu` of each GPU.

    `examples` is the size of the data set, where that is known. With strategy=multi_worker there are `config.replicas` such processes. On
    CPU within 25 % of what was measured for batches of 32 to 2048; what a GPU's libraries use as workspace was not measured.
    """
    g, d = parameters(generator(config)), parameters(discriminator(config))
    slots = {"adam": 2, "sgd": int(config.beta_1 > 0), "rmsprop": 2}[config.optimizer]
    stored = (g + d) * (1 + slots) + g * (config.ema > 0)
    gradients = (g + d) * (1 + (config.accumulate > 1))
    spectra = sum(2 * layer.spectrum for layer in generator(config, not on_gpu))  # of the weights, and their gradients
    replicas = 1 if on_gpu or config.effective_strategy == "multi_worker" else config.replicas
    needs = replicas * 4 * (stored + gradients + spectra)
    training = replicas * config.micro_batch * image_bytes(config, on_gpu=on_gpu)
    if on_gpu:
        return needs + training
    examples = examples or (digits.COUNT if config.dataset == "digits" else mnist.COUNT)
    if config.limit and not config.quality_every:  # judging needs the whole data set
        examples = min(config.limit, examples)
    needs += _PROCESS + _COMPILER * config.xla
    needs += 2 * _PIXELS * examples + 4 * stored  # the images as read and as a constant of TensorFlow; a checkpoint on its way to disk
    return needs + max(training, (_JUDGE + _JUDGED * config.quality_images) * (config.quality_every > 0))


def image_bytes(config: RunConfig, *, on_gpu: bool = False) -> int:
    """Bytes per image of a micro-batch: what both nets keep for the backward pass, and what that works with.

    Real and generated images pass through D one after the other; what the first left is gone or not there yet when most is kept.
    """
    half = 4 if config.precision == "float32" else 2
    g, d = (sum(layer.kept(half, config.recompute) for layer in net) for net in (generator(config, not on_gpu), discriminator(config)))
    passes = 1 + (config.r1 > 0) + 2 * (config.loss == "wgan_gp")  # a penalty keeps its backward pass, that of wgan_gp also a forward pass
    return g + passes * d + max(_WORK[half], _RECOMPUTED * config.recompute, _FUSED * config.xla)


def on_gpu(config: RunConfig, machine: Mapping[str, Any]) -> bool:
    """Whether the replicas of `config` sit on GPUs of `machine` (`gan.hardware.describe`), one each, as `gan.runtime.prepare` decides."""
    return 0 < config.replicas <= len(machine["gpus"]) and config.effective_strategy != "tpu"


def available(config: RunConfig, machine: Mapping[str, Any]) -> int:
    """Bytes that each trainer process of `config` may take of `machine`, or each GPU; 2 ** 60 where that is not known."""
    if config.effective_strategy == "tpu":
        return _UNKNOWN
    if on_gpu(config, machine):
        sizes = [(gpu or {}).get("memory_bytes") or _UNKNOWN for gpu in machine["gpus"][: config.replicas]]
        return int(min(sizes)) - _GPU_RESERVE
    processes = config.replicas if config.effective_strategy == "multi_worker" else 1
    return int(machine.get("memory_bytes") or _UNKNOWN) // processes


def largest_batch(config: RunConfig, memory_bytes: int, examples: int | None = None, *, on_gpu: bool = False) -> int:
    """Largest batch, a multiple of replicas times accumulate, whose `estimate` fits into `memory_bytes`; 0 when none does."""
    parts = config.replicas * config.accumulate

    def needs(count: int) -> int:
        return estimate(config.model_copy(update={"batch_size": count * parts}), examples, on_gpu=on_gpu)

    return parts * bisect_right(range(1, _MOST // parts + 1), memory_bytes, key=needs)


def too_large(config: RunConfig, machine: Mapping[str, Any]) -> str | None:
    """One sentence when the batch of `config` cannot fit into the memory of `machine` (`gan.hardware.describe`), else None."""
    gpu, memory = on_gpu(config, machine), available(config, machine)
    needs = estimate(config, on_gpu=gpu)
    if needs <= memory:
        return None
    if gpu:
        place = "the GPU has" if config.replicas == 1 else "each GPU has"
    else:
        place = f"each of its {config.replicas} processes has" if config.effective_strategy == "multi_worker" else "this machine has"
    remedies = []
    if largest := largest_batch(config, memory, on_gpu=gpu):
        remedies.append(f"lower batch_size to {largest} or less")
    for parts in range(config.accumulate + 1, 1025):
        divided = config.model_copy(update={"accumulate": parts})
        if config.per_replica_batch % parts == 0 and estimate(divided, on_gpu=gpu) <= memory:
            remedies.append(f"set accumulate to {parts}, which passes the batch in as many parts")
            break
    if not remedies:
        remedies.append("lower replicas" if config.replicas > 1 else "use a machine with more memory")
    return (
        f"batch_size={config.batch_size} needs about {needs / 1e9:.1f} GB of memory and {place} {memory / 1e9:.1f} GB: "
        f"{', or '.join(remedies)}."
    )
