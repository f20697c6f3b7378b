"""What a rehearsal found for one target: the document that is stored and shown. Free of
TensorFlow."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ganboard.gan.config import RunConfig, identity
from ganboard.gan.rehearsal import hlo
from ganboard.gan.rehearsal.advice import advice
from ganboard.gan.rehearsal.targets import Form, Target
from ganboard.gan.settings.metadata import fields_by_group

VERSION = 1
# for a small all-reduce to begin and end: an allowance, not measured here
EXCHANGE_SECONDS = 5e-6
# groups of settings that shape the compiled step; the others change its data or what is recorded
_GROUPS = ("Model", "Training", "Optimizer", "Acceleration")
_NUMBERS = {"epochs", "seed", "g_learning_rate", "d_learning_rate"}
_OF_TARGET = {"strategy", "replicas", "loop"}


def shaping(config: RunConfig) -> dict[str, Any]:
    """The settings on which the compiled step of `config` depends, whatever it is compiled for:
    those that differ from their defaults, so that a new setting leaves stored reports in place."""
    groups = fields_by_group(vars(config))
    names = {name for group in _GROUPS for name in groups[group]}
    return dict(sorted(identity(config, names - _NUMBERS - _OF_TARGET).items()))


def key(config: RunConfig) -> str:
    """Digest of `shaping`: runs with equal keys have one rehearsal."""
    return hashlib.sha256(json.dumps(shaping(config)).encode()).hexdigest()[:32]


def assemble(
    target: Target,
    config: RunConfig,
    form: Form,
    programs: Sequence[Mapping[str, Any]],
    texts: Sequence[str],
    layers: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """The report of one target: `programs` are the compiler's results with name and calls, `texts`
    their optimised programs."""
    about = target.about
    parts = []
    for program, text in zip(programs, texts, strict=True):
        found = {**program, **hlo.analyse(text, layers)}
        if about.kind == "gpu":
            flops = about.peak_flops.get(config.precision, about.peak_flops["float32"])
            limit = hlo.roofline(text, layers, flops, about.bandwidth)
            found |= {
                "seconds": limit["seconds"],
                "limits": limit["limits"],
                "parts": limit["parts"],
            }
        else:
            found["seconds"] = found["cycles"] / about.clock_hz
        parts.append(found)
    exchanges = [(part["calls"], one) for part in parts for one in part["collectives"]]
    exchanged = sum(calls * one["bytes"] for calls, one in exchanges)
    number = round(sum(calls * one["count"] for calls, one in exchanges))
    computing = sum(part["calls"] * part["seconds"] for part in parts)
    exchanging = exchange_seconds(target, number, exchanged)
    report = {
        **_head(target, config, form),
        "compiles": True,
        "programs": parts,
        "memory": memory(programs),
        "computing_seconds": computing,
        "exchange_seconds": exchanging,
        "step_seconds": computing + exchanging,
        "collectives": number,
        "exchanged_bytes": exchanged,
        "compile_seconds": sum(part["compile_seconds"] for part in parts),
    }
    return {**report, "advice": list(advice(report, config))}


def refused(target: Target, config: RunConfig, form: Form, reason: str) -> dict[str, Any]:
    """The report where something does not compile."""
    return {**_head(target, config, form), "compiles": False, "reason": reason}


def memory(programs: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Bytes of one device's memory that the programs take: arguments, temporaries and outputs of
    the largest, and the code of all."""
    largest = max(programs, key=lambda p: p["arguments"] + p["temporaries"] + p["outputs"])
    found = {name: int(largest[name]) for name in ("arguments", "temporaries", "outputs")}
    found["code"] = sum(int(program["code"]) for program in programs)
    return {**found, "total": sum(found.values())}


def exchange_seconds(target: Target, number: int, exchanged: float) -> float:
    """Seconds of so many all-reduces of so many bytes in all: each replica sends 2 (n - 1) / n of
    them (Patarasuk and Yuan 2009), and each exchange takes EXCHANGE_SECONDS to begin."""
    n = target.devices
    return number * EXCHANGE_SECONDS + 2 * (n - 1) / n * exchanged / target.about.link


def basis(target: Target) -> str:
    """How a step time was obtained, for whoever reads one."""
    about = target.about
    source = (
        "sum of the cycles that the TPU compiler estimates, at"
        f" {about.clock_hz / 1e6:,.0f} MHz, without asynchronous copies"
        if about.kind == "tpu"
        else f"roofline of the compiled kernels: bytes at {about.bandwidth / 1e9:,.0f} GB/s,"
        f" products at peak, at least {hlo.KERNEL_SECONDS * 1e6:.0f} µs a kernel"
    )
    exchange = (
        f"; exchanges at {about.link / 1e9:,.0f} GB/s, {EXCHANGE_SECONDS * 1e6:.0f} µs each"
        if target.devices > 1
        else ""
    )
    return f"{source}{exchange}; without the host; not calibrated on a device"


def _head(target: Target, config: RunConfig, form: Form) -> dict[str, Any]:
    return {
        "version": VERSION,
        "target": target.name,
        "title": target.title,
        "replicas": target.devices,
        "device_memory": target.about.memory_bytes,
        "form": form,
        "model": config.model,
        "batch_size": config.batch_size,
        "precision": config.precision,
        "settings": shaping(config),
        "basis": basis(target),
    }
