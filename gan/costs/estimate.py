"""What a configuration costs: products, memory and traffic, from the shapes of its layers alone.
Free of TensorFlow."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from ganboard.gan.config import RunConfig
from ganboard.gan.costs.layer import LayerCost, parameters
from ganboard.gan.settings import registry

_MOST = 65_536  # the limit of RunConfig.batch_size
_UNKNOWN = 2**60

# Memory is reckoned from the layers but for these, which were fitted to the highest resident
# memory (VmHWM) of whole trainings: two CPU cores, TensorFlow 2.21, MNIST, first steps, Adam.
# Batches of 32 to 2048 in both precisions and variants of 1024 are those of
# tests/unit/gan/costs/test_estimate.py. Python, TensorFlow and the traced and optimised step:
_PROCESS = 800 * 10**6
_COMPILER = 70 * 10**6  # XLA
# what CUDA, its libraries and the screen take of a GPU: an allowance, not measured
_GPU_RESERVE = 2**30


def generator(config: RunConfig, on_cpu: bool = True) -> tuple[LayerCost, ...]:
    """The generator's layers, from noise to image."""
    return _of(config).generator(config, on_cpu)  # type: ignore[no-any-return]


def discriminator(config: RunConfig, on_cpu: bool = True) -> tuple[LayerCost, ...]:
    """The discriminator's layers, from image to logit."""
    return _of(config).discriminator(config, on_cpu)  # type: ignore[no-any-return]


def image_bytes(config: RunConfig, *, on_gpu: bool = False) -> int:
    """Bytes per image of a micro-batch: what both nets keep for the backward pass, and what that
    works with."""
    return int(_of(config).image_bytes(config, on_gpu=on_gpu))


def _of(config: RunConfig) -> Any:
    """The part of the model's folder that knows its layers."""
    return registry.of(config).part("costs")


def known(config: RunConfig) -> bool:
    """Whether the costs are known without a wait: those of a model of one file are read off its
    networks by another process, which begins when it is asked first."""
    known_of_model = getattr(_of(config), "known", None)
    return known_of_model is None or bool(known_of_model(config))


def problem(config: RunConfig) -> str:
    """Why the costs will not be known, in a sentence; empty where nothing failed."""
    problem_of_model = getattr(_of(config), "problem", None)
    return str(problem_of_model(config)) if problem_of_model else ""


def step_flop(config: RunConfig) -> float:
    """FLOP of the convolutions and products of one training step over all replicas; one
    multiply-accumulate is 2 FLOP.

    These are nominal: direct convolutions, and a backward pass for each loss. What gets the same
    gradients with fewer products (the spectral convolution, one pass through D for both losses)
    reaches a higher rate by this count, which can lie above the machine's peak. Accumulating
    changes nothing. With recompute each forward pass counts twice, as in "hardware FLOPs"
    (Chowdhery et al. 2022, PaLM, appendix B), not "model FLOPs".
    """
    return 2.0 * config.batch_size * float(_of(config).step_macs(config))


def reduce_bytes(config: RunConfig) -> int:
    """Bytes that each replica sends per step to sum the float32 gradients of both nets: 2 (p - 1) /
    p of them in a ring of p replicas.

    (Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms", section 3.) With d_steps,
    the gradients of D are sent that many times.
    """
    p = config.replicas
    values = parameters(generator(config)) + config.d_updates * parameters(discriminator(config))
    return 2 * (p - 1) * 4 * values // p


def estimate(config: RunConfig, examples: int | None = None, *, on_gpu: bool = False) -> int:
    """Bytes of memory that a trainer process needs at its highest: of the machine, or with `on_gpu`
    of each GPU.

    `examples` is the size of the data set, where that is known. With strategy=multi_worker there
    are `config.replicas` such processes. On CPU within 15 % of what was measured for presets and
    for DCGAN with batches of 32 to 2048; what a GPU's libraries use as workspace was not measured.
    """
    g, d = parameters(generator(config)), parameters(discriminator(config))
    slots = {"adam": 2, "sgd": int(config.beta_1 > 0), "rmsprop": 2}[config.optimizer]
    stored = (g + d) * (1 + slots) + g * (config.ema > 0)
    gradients = (g + d) * (1 + (config.accumulate > 1))
    # of the weights, and their gradients
    layers = *generator(config, not on_gpu), *discriminator(config, not on_gpu)
    spectra = sum(2 * layer.spectrum for layer in layers)
    replicas = 1 if on_gpu or config.effective_strategy == "multi_worker" else config.replicas
    needs: int = replicas * 4 * (stored + gradients + spectra)
    training = replicas * config.micro_batch * image_bytes(config, on_gpu=on_gpu)
    if on_gpu:
        return needs + training
    examples = examples or _of(config).examples(config)
    if config.limit and not config.quality_every:  # evaluation takes the whole data set
        examples = min(config.limit, examples)
    needs += _PROCESS + _COMPILER * config.xla
    # of larger steps than DCGAN's: what they take once traced and optimised (tests.scale.memory)
    needs += getattr(_of(config), "GRAPH_BYTES", 0)
    needs += _of(config).data_bytes(config, examples)
    # a checkpoint on its way to disk, the state before the first step, the first weights, and those
    # before an update, whose norm is reported
    needs += 4 * (2 * stored + 2 * (g + d))
    evaluation_bytes = int(_of(config).evaluation_bytes(config)) if config.quality_every else 0
    return needs + max(training, evaluation_bytes)


def on_gpu(config: RunConfig, machine: Mapping[str, Any]) -> bool:
    """Whether the replicas of `config` sit on GPUs of `machine` (`gan.devices.hardware.describe`),
    one each, as `gan.devices.runtime.prepare` decides."""
    here = config.replicas // config.hosts
    return 0 < here <= len(machine["gpus"]) and config.effective_strategy != "tpu"


def available(config: RunConfig, machine: Mapping[str, Any]) -> int:
    """Bytes that each trainer process of `config` may take of `machine`, or each GPU; 2 ** 60 where
    that is not known."""
    if config.effective_strategy == "tpu":
        return _UNKNOWN
    if on_gpu(config, machine):
        sizes = [
            (gpu or {}).get("memory_bytes") or _UNKNOWN
            for gpu in machine["gpus"][: config.replicas // config.hosts]
        ]
        return int(min(sizes)) - _GPU_RESERVE
    return int(machine.get("memory_bytes") or _UNKNOWN) // config.processes


def largest_batch(
    config: RunConfig, memory_bytes: int, examples: int | None = None, *, on_gpu: bool = False
) -> int:
    """Largest batch, a multiple of replicas times accumulate, whose `estimate` fits into
    `memory_bytes`; 0 when none does.

    A batch is never larger than the data: `examples` where that is known, and the setting limit.
    """
    parts = config.replicas * config.accumulate
    most = min(_MOST, examples or _MOST, config.limit or _MOST)

    def needs(count: int) -> int:
        return estimate(
            config.model_copy(update={"batch_size": count * parts}), examples, on_gpu=on_gpu
        )

    return parts * bisect_right(range(1, most // parts + 1), memory_bytes, key=needs)


def too_large(config: RunConfig, machine: Mapping[str, Any]) -> str | None:
    """One sentence when the batch of `config` cannot fit into the memory of `machine`
    (`gan.devices.hardware.describe`), else None."""
    if not known(config):
        return None
    gpu, memory = on_gpu(config, machine), available(config, machine)
    needs = estimate(config, on_gpu=gpu)
    if needs <= memory:
        return None
    if gpu:
        place = "the GPU has" if config.replicas == 1 else "each GPU has"
    else:
        place = (
            f"each of its {config.processes} processes has"
            if config.effective_strategy == "multi_worker"
            else "this machine has"
        )
    remedies = []
    if largest := largest_batch(config, memory, on_gpu=gpu):
        remedies.append(f"lower batch_size to {largest} or less")
    for parts in range(config.accumulate + 1, 1025):
        divided = config.model_copy(update={"accumulate": parts})
        if config.per_replica_batch % parts == 0 and estimate(divided, on_gpu=gpu) <= memory:
            remedies.append(f"set accumulate to {parts} to process the batch in parts")
            break
    if not remedies:
        remedies.append(
            "lower replicas" if config.replicas > 1 else "use a machine with more memory"
        )
    return (
        f"batch_size={config.batch_size} needs about {needs / 1e9:.1f} GB of memory and {place}"
        f" {memory / 1e9:.1f} GB: {', or '.join(remedies)}."
    )
