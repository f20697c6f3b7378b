"""What sets a configuration apart from another, and what each difference means for a comparison
with the study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from ganboard.gan.config import diff, fields_by_group
from ganboard.worker import formatting

STUDY = "paper"  # the preset that is the study
MEANING = {  # by setting, or by group where all of its settings mean the same
    "dataset": (
        "Other images: neither losses nor images can be laid beside the study's; seconds per image"
        " still can."
    ),
    "images_path": "Other images than the study's.",
    "skip_unreadable": "Other images than the study's.",
    "limit": "Fewer images: an epoch is shorter than the study's, so compare by steps.",
    "latent_dim": (
        "Another noise vector: grids start from other latents, and G's first layer has another"
        " size."
    ),
    "model": "Other networks: only the method is the study's.",
    "geometry": "Showers have no place in the study: nothing can be compared.",
    "table1_literal": "Another reading of Table 1: G has 409,088 more parameters and takes longer.",
    "generator_batch_norm": "Table 1 has batch norm in G: without it training is another problem.",
    "discriminator_batch_norm": (
        "The study's text has it and its Table 1 does not: losses differ, time a little."
    ),
    "batch_size": (
        "The study's own axis (Figs. 5 to 10: 64 to 512): compare with its curve of the same batch."
    ),
    "accumulate": (
        "Same gradients in parts: losses stay comparable (batch norm takes each part's statistics),"
        " time does not."
    ),
    "epochs": "The study trains 30: compare equal epochs, not the ends.",
    "d_steps": "D learns more often per step of G: losses and time per epoch are not the study's.",
    "loss": "Another loss has another scale: compare images and quality, not losses.",
    "seed": "Another throw of the dice: differences of this size are noise.",
    "optimizer": (
        "The study names Adam in Table 1 and SGD in its text: losses fall at another speed."
    ),
    "schedule": (
        "Table 1 keeps the rates fixed, Fig. 9 shows them moving: this is the second reading."
    ),
    "schedule_for": "Which rates move as in Fig. 9.",
    "lr_scaling": "The study keeps one rate for all batches: large ones move farther here.",
    "precision": (
        "The study's TPU computes in bfloat16 mixed precision; compare seconds and quality, losses"
        " differ slightly."
    ),
    "xla": "The study's TPU programs are always compiled by XLA: same losses, other seconds.",
    "strategy": "How replicas are spread: same losses, other seconds.",
    "replicas": "The study uses 8 TPU cores: same losses for the same batch, other seconds.",
    "loop": "Same step in another loop: same losses, seconds differ a little.",
    "convolution": "Same result to rounding by another method: other seconds.",
    "recompute": "Equal gradients, less memory, more seconds.",
    "Training": (
        "Another rule of training than the study's: compare images and quality, not losses."
    ),
    "Optimizer": (
        "Other steps than Table 1's Adam(1e-4): losses fall at another speed, seconds stay the"
        " same."
    ),
    "Schedule": "The rates move differently: losses do, seconds stay the same.",
    "Quality": "Evaluation takes seconds beside training; losses are unchanged.",
    "Safety": "No effect on losses or seconds while nothing goes wrong.",
    "Output": "No effect on losses; drawing and saving take seconds beside training.",
}
_GROUPS = {name: group for group, fields in fields_by_group().items() for name in fields}


def meaning(name: str) -> str:
    """One sentence on what another value of a setting does to a comparison with the study; empty
    for a setting of another version."""
    return MEANING.get(name) or MEANING.get(_GROUPS.get(name, ""), "")


def tabs(values: Mapping[str, Any], bases: Mapping[str, Mapping[str, Any]]) -> None:
    """What sets the form apart from each of `bases`, one tab for each; beside the study's also what
    that means."""
    found = {name: diff(base, values) for name, base in bases.items()}
    titles = [
        f"vs {formatting.escape(formatting.shorten(name, 24))} ({len(changes)})"
        for name, changes in found.items()
    ]
    for tab, (name, changes) in zip(st.tabs(titles, key="differences"), found.items(), strict=True):
        with tab:
            if not changes:
                st.caption(
                    "No differences: this is the study's run."
                    if name == STUDY
                    else "No differences."
                )
                continue
            if name == STUDY:
                for setting, (before, after) in changes.items():
                    change = formatting.escape(
                        f"{format_value(before) or 'empty'} → {format_value(after) or 'empty'}"
                    )
                    st.markdown(
                        f"**{formatting.escape(setting)}**: {change} "
                        f" \n:gray[:small[{formatting.escape(meaning(setting))}]]"
                    )
                continue
            rows = [
                (setting, format_value(before), format_value(after))
                for setting, (before, after) in changes.items()
            ]
            frame = pd.DataFrame(
                rows, columns=["Setting", formatting.shorten(name, 24), "This run"]
            )
            st.dataframe(frame, hide_index=True, row_height=32)


def format_value(value: Any) -> str:
    """A setting's value in words."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "all" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
