"""The figures of a study, each with its numbers, how they were obtained, what the paper claims, and whether that held here."""

from __future__ import annotations

from collections.abc import Callable

from app.exhibits import descent, learning, networks, replicas, timing
from app.exhibits.evidence import Evidence, Exhibit

MAKERS: dict[str, Callable[[Evidence], Exhibit]] = {
    "table1": networks.table1,
    "fig5": timing.fig5,
    "fig6": timing.fig6,
    "fig7": learning.fig7,
    "fig8": learning.fig8,
    "fig9": learning.fig9,
    "fig10": learning.fig10,
    "fig11": descent.fig11,
    "fig12": timing.fig12,
    "fig13": timing.fig13,
    "quality": learning.quality,
    "scaling": replicas.scaled,
    "forecast": replicas.forecast,
}


def make(evidence: Evidence, names: list[str]) -> list[Exhibit]:
    """The exhibits of these names, in their order in the paper; what this version does not know is left out."""
    return [maker(evidence) for name, maker in MAKERS.items() if name in names]
