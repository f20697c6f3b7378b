"""The published systems on the machines that they ran on: which steps to compile for a prediction
of their tables. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ganboard.gan.config import RunConfig, parse
from ganboard.gan.rehearsal.targets import Target, parse_targets

BATCHES = (32, 64, 128, 256, 512)  # Figs. 5, 6 and 13 of the study
_MODELS: dict[str, dict[str, Any]] = {
    "dcgan": {"dataset": "mnist", "precision": "mixed_bfloat16", "rng": "hash"},
    "gan3d": {"dataset": "showers", "geometry": "51x51x25", "rng": "hash"},
    "pix2pix": {"dataset": "vortex_street", "geometry": "256x256", "rng": "hash"},
}


class Cell(NamedTuple):
    """One step of a published table."""

    model: str
    target: Target
    batch: int

    def config(self) -> RunConfig:
        """Our step at this place."""
        values = {**_MODELS[self.model], "model": self.model, "batch_size": self.batch}
        return self.target.adapted(parse(values))


def cells() -> Iterator[Cell]:
    """All steps that predictions rest on; a core of a machine stands for its "TPU without
    distribution"."""
    for target in parse_targets("v3-8,v3-1,v2-8,v2-1"):
        for batch in BATCHES:
            yield Cell("dcgan", target, batch)
    for names, batches in (("v2-8,v3-8", (8, 16)), ("v4-8", (8, 16, 32, 64))):
        for target in parse_targets(names):
            for batch in batches:
                yield Cell("pix2pix", target, batch)
    for target in parse_targets("v3-8,v2-8"):
        yield Cell("gan3d", target, 128 * target.devices)  # as published: 128 each core


def row(cell: Cell, report: dict[str, Any]) -> dict[str, Any]:
    """What a prediction keeps of a report."""
    kept = {"model": cell.model, "target": cell.target.name, "batch": cell.batch}
    if not report["compiles"]:
        return {**kept, "compiles": False, "reason": report["reason"]}
    return {
        **kept,
        "compiles": True,
        "precision": report["precision"],
        "computing_seconds": report["computing_seconds"],
        "exchange_seconds": report["exchange_seconds"],
        "cycles": round(sum(one["calls"] * one["cycles"] for one in report["programs"])),
        "memory": report["memory"]["total"],
        "collectives": report["collectives"],
        "exchanged_bytes": report["exchanged_bytes"],
    }
