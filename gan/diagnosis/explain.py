"""What went wrong in a run, and when: all detectors over its record. Free of TensorFlow.

A detector is silent where too little was recorded, and `checked` says what it had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ganboard.gan.config import ConfigError, parse
from ganboard.gan.diagnosis import balance, durations, progress
from ganboard.gan.diagnosis.trace import TITLES, Finding, Trace

DETECTORS: tuple[Callable[[Trace], list[Finding]], ...] = (
    progress.not_finite,
    balance.collapse,
    balance.discriminator,
    progress.overflow,
    progress.quality,
    progress.spikes,
    durations.stragglers,
    durations.slow_epochs,
    durations.restarts,
)


@dataclass(frozen=True)
class Explanation:
    """The findings, the gravest first, and sentences on what was looked at."""

    findings: list[Finding]
    checked: list[str]


def explain(trace: Trace) -> Explanation:
    """All findings of a run that has taken a step."""
    found = [finding for detect in DETECTORS for finding in detect(trace)]
    order = list(TITLES)
    found.sort(key=lambda finding: (order.index(finding.kind), finding.first))
    return Explanation([_applicable(trace, finding) for finding in found], _checked(trace))


def _applicable(trace: Trace, finding: Finding) -> Finding:
    """Without a remedy that the run's model refuses."""
    try:
        parse({**trace.config.model_dump(), **finding.remedy})
    except ConfigError:
        return replace(finding, remedy={})
    return finding


def _checked(trace: Trace) -> list[str]:
    steps = len(trace.losses["g"])
    said = [f"Losses of {steps:,} steps, spikes after the first epoch"]
    known = int(np.isfinite(trace.measure("d_real")).sum())
    if not (trace.config.logits_are_probabilities and trace.config.g_learns_from_d):
        said.append("D's outputs: not looked at, since with this loss they are no probabilities")
    elif known:
        said.append(f"D's mean outputs of {_many(known, 'epoch')}")
    else:
        said.append("D's outputs: not recorded")
    values = trace.evaluations.measures.get(trace.headline, np.empty(0))
    evaluated = int(np.isfinite(values).sum())
    quality = f"{trace.label} of {_many(evaluated, 'evaluation')}"
    if evaluated < progress.EVALUATIONS:
        quality += f" (a trend takes {progress.EVALUATIONS})"
    said.append(quality if evaluated else f"{trace.label}: never evaluated")
    seconds = f"Seconds of {_many(len(trace.seconds), 'epoch')}"
    if len(trace.seconds) < durations.EPOCHS:
        seconds += f" (slow ones are found from {durations.EPOCHS} on)"
    said.append(seconds)
    return said


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
