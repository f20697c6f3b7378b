"""One palette for Streamlit and Plotly. Run colours are told apart with every common colour vision, on light and dark grounds."""

from __future__ import annotations

import hashlib

# found by search: the eight colours that lie farthest apart, also for people without red, green or blue cones (tests/unit/test_palette.py)
CATEGORICAL = ("#0a64e1", "#e45d0d", "#236960", "#c80898", "#b376ff", "#749267", "#59a5c5", "#8a5008")

GENERATOR = CATEGORICAL[0]
DISCRIMINATOR = CATEGORICAL[1]

SEQUENTIAL = (
    "#eaf1fb", "#d3e2f7", "#b5cef1", "#93b6e9", "#6f9cdf", "#4d83d2", "#356bbb", "#27559a", "#1c4078", "#132c55",
)  # fmt: skip
DIVERGING = (
    "#a3470b", "#c66a2b", "#dd9560", "#eec0a0", "#f6e4d8", "#dfe8f5", "#b5cef1", "#7ba5e2", "#4679c6", "#27559a",
)  # fmt: skip


def run_colours(run_ids: list[str]) -> dict[str, str]:
    """A colour for every run: chosen by its id, or the next free one if an earlier run of the list has that.

    So a run keeps its colour from page to page and however many runs are added behind it, and up to eight runs never share one.
    """
    slots: dict[str, int] = {}
    for run_id in run_ids:
        if run_id in slots:
            continue
        slot = int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:4]) % len(CATEGORICAL)
        while slot in slots.values() and len(slots) < len(CATEGORICAL):
            slot = (slot + 1) % len(CATEGORICAL)
        slots[run_id] = slot
    return {run_id: CATEGORICAL[slot] for run_id, slot in slots.items()}


def run_colour(run_id: str) -> str:
    """The colour of a run that is shown alone."""
    return run_colours([run_id])[run_id]
