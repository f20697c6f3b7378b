"""Values that are not finite: the first of them, and what to say about it. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ganboard.gan.config import RunConfig
from ganboard.gan.events import NOT_FINITE, Losses
from ganboard.gan.training.guards.monitors import either, position
from ganboard.gan.training.lr_schedules import scaling

if TYPE_CHECKING:
    from ganboard.gan.training.step_metrics import StepMetrics

Net = Literal["generator", "discriminator"]


@dataclass(frozen=True)
class NotFinite:
    """The first value of a run that is infinite or not a number."""

    net: Net
    what: Literal["loss", "gradient", "weight"]
    step: int  # counted from 0 over the whole run
    tensor: str = ""  # path of the variable, for a gradient or weight


def first_loss_not_finite(first_step: int, g_losses: Losses, d_losses: Losses) -> NotFinite | None:
    """The first loss of consecutive steps ([n] each) that is not finite, D's before G's of the same
    step; None when all are finite."""
    bad = ~np.isfinite(np.stack([d_losses, g_losses], axis=1)).ravel()
    if not bad.any():
        return None
    step, net = divmod(int(bad.argmax()), 2)
    return NotFinite("generator" if net else "discriminator", "loss", first_step + step)


def first_not_finite(
    first_step: int, metrics: StepMetrics, tensors: Sequence[str]
) -> NotFinite | None:
    """The first value of consecutive steps that is not finite; `first_step` counts from 0 over the
    whole run, `tensors` are those that `bad_tensor` numbers."""
    found = [first_loss_not_finite(first_step, metrics.g_loss, metrics.d_loss)]
    bad = metrics.bad_tensor >= 0
    if bad.any():
        step = int(bad.argmax())
        name = tensors[int(metrics.bad_tensor[step])]
        net: Net = "generator" if name.startswith("generator") else "discriminator"
        found.append(NotFinite(net, "gradient", first_step + step, name))
    updates: tuple[tuple[Net, Losses], ...] = (
        ("discriminator", metrics.d_update),
        ("generator", metrics.g_update),
    )
    for net, update in updates:
        bad = ~np.isfinite(update)
        if bad.any():
            found.append(NotFinite(net, "weight", first_step + int(bad.argmax())))
    return min((one for one in found if one), key=lambda one: one.step, default=None)


def not_finite(
    config: RunConfig, steps_per_epoch: int, found: NotFinite, *, back_to: int | None = None
) -> str:
    """What is to be said about `found`; `back_to` is the step of the checkpoint that the run went
    back to, None when it ends."""
    tensor = f" of {found.tensor}" if found.tensor else ""
    sentence = (
        f"A {found.what}{tensor} in the {found.net}{NOT_FINITE}"
        f"{position(steps_per_epoch, found.step)}"
    )
    if back_to is not None:
        place = f"the checkpoint of step {back_to}" if back_to else "the start"
        return (
            f"{sentence}. The run was rolled back to {place} and continues with half the learning"
            " rates. This happens at most once."
        )
    calmer = {
        "mixed_float16": ["set precision=mixed_bfloat16 or float32"],
        "mixed_bfloat16": ["set precision=float32"],
        "float32": [],
    }
    g, d = (rate * scaling(config) for rate in (config.g_learning_rate, config.d_learning_rate))
    options = [
        f"lower the learning rates (now {g:g} for G, {d:g} for D)",
        *calmer[config.precision],
    ]
    options += ["set clip_norm=1"] * (not config.clip_norm)
    options += ["set warmup_epochs=5"] * (config.lr_scaling != "none" and not config.warmup_epochs)
    again = (
        "after one rollback"
        if config.on_non_finite == "roll_back"
        else "and its last good checkpoint is kept"
    )
    return f"{sentence}. The run ends {again}. Clone it and {either(options)}."
