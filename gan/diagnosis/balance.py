"""Findings about the game between G and D: collapse and a discriminator that is always right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ganboard.gan.config import RunConfig
from ganboard.gan.diagnosis.trace import Finding, Trace, spans
from ganboard.gan.events import COLLAPSE
from ganboard.gan.training.guards.monitors import FEW, IN_A_ROW, ONE_CLASS, SURE

# epochs: D is ahead for one now and then in healthy runs
LONG = 2


def collapse(trace: Trace) -> list[Finding]:
    """Evaluations in a row whose images are alike or of one class, by the bounds of the monitor
    (`gan.training.guards.monitors`); else what that monitor warned of."""
    evaluations = trace.evaluations
    diversity = evaluations.measures.get("diversity")
    found = []
    if diversity is not None:
        one_class = max(ONE_CLASS, (1 + trace.commonest) / 2)
        bad = (diversity < FEW) | (evaluations.largest_class > one_class)
        # an untrained G is not collapsed: it must have varied before, or the monitor, which knows
        # how far it has been trained, has warned
        warned = min((at for at, _ in _warned(trace)), default=np.inf)
        varied = np.cumsum(np.isfinite(diversity) & ~bad) > 0
        bad &= varied | (evaluations.epoch >= warned)
        for first, last in spans(bad, IN_A_ROW):
            lowest = float(np.nanmin(diversity[first : last + 1]))
            share = float(np.nanmax(evaluations.largest_class[first : last + 1], initial=0.0))
            evidence = (
                f"Pairs of images differ by {lowest:.0%} of the difference between real pairs"
            )
            if share:
                evidence += f"; up to {share:.0%} of them belong to one class"
            found.append(
                Finding(
                    "collapse",
                    float(evaluations.epoch[first]),
                    float(evaluations.epoch[last]),
                    f"{evidence}. Below {FEW:.0%}, or above {one_class:.0%} in one class, G makes"
                    " few kinds of images.",
                )
            )
    if not found:
        found = [Finding("collapse", at, at, text) for at, text in _warned(trace)][:1]
    advice, remedy = _slower_generator(trace.config)
    return [replace(one, advice=advice, remedy=remedy) for one in found]


def _warned(trace: Trace) -> list[tuple[float, str]]:
    """Position and reason of each warning of the monitor, without its title and advice."""
    return [
        (at, text.removeprefix(COLLAPSE).partition(" Clone the run")[0])
        for at, text in trace.warnings
        if text.startswith(COLLAPSE)
    ]


def _slower_generator(config: RunConfig) -> tuple[str, dict[str, Any]]:
    """Radford et al. 2016 found beta_1=0.9 to oscillate and 0.5 to be stable."""
    if config.optimizer == "adam" and config.beta_1 > 0.5:
        return "A lower momentum often keeps G from collapsing.", {"beta_1": 0.5}
    rate = config.g_learning_rate
    return "A lower rate of G often keeps it from collapsing.", {"g_learning_rate": rate / 2}


def discriminator(trace: Trace) -> list[Finding]:
    """Epochs in a row in which D tells nearly every image right, so that G gets little gradient
    (Goodfellow et al. 2014, section 3; Arjovsky & Bottou 2017, theorem 2.4)."""
    config = trace.config
    if not (config.logits_are_probabilities and config.g_learns_from_d):
        return []
    real, fake = trace.measure("d_real"), trace.measure("d_fake")
    found = []
    for first, last in spans((real > SURE) & (fake < 1 - SURE), LONG):
        here = slice(first, last + 1)
        found.append(
            Finding(
                "discriminator",
                float(trace.epoch[first]),
                float(trace.epoch[last]),
                f"D's mean output is {np.mean(real[here]):.2f} for real images and"
                f" {np.mean(fake[here]):.2f} for generated ones. Above {SURE:g} and below"
                f" {1 - SURE:.2g} it is nearly always right, and G learns little.",
                "Let D learn more slowly.",
                _slower_discriminator(config),
            )
        )
    return found


def _slower_discriminator(config: RunConfig) -> dict[str, Any]:
    if getattr(config, "d_steps", 1) > 1:
        return {"d_steps": 1}
    return {"d_learning_rate": config.d_learning_rate / 4}
