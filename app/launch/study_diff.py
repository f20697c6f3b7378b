"""What sets a configuration apart from another, and what each difference means for a comparison
with the study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from ganboard.gan.config import diff
from ganboard.gan.settings.metadata import about
from ganboard.worker import formatting

STUDY = "paper"  # the preset that is the study
MEANING = {  # of settings that say nothing themselves, by group
    "Data": "Different images from the study's.",
    "Model": "Different networks: only the method is the study's.",
    "Training": "Training differs from the study's: compare images and quality, not losses.",
    "Optimizer": (
        "Updates differ from Table 1's Adam(1e-4): losses fall at a different speed, times stay the"
        " same."
    ),
    "Schedule": "The rates move differently: losses differ, times stay the same.",
    "Acceleration": "Same losses up to rounding, different times.",
    "Quality": "Evaluation takes extra time; losses stay the same.",
    "Safety": "No effect on losses or times unless something goes wrong.",
    "Output": "No effect on losses; drawing and saving take extra time.",
}


def meaning(name: str) -> str:
    """One sentence on what another value of a setting means for a comparison with the study; empty
    for a setting of another version."""
    return about(name).study or MEANING.get(about(name).group, "")


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
                    "No differences: these are the study's settings."
                    if name == STUDY
                    else "No differences."
                )
                continue
            if name == STUDY:
                for setting in changes:
                    before, after = _format(setting, bases[name]), _format(setting, values)
                    change = formatting.escape(f"{before or 'empty'} → {after or 'empty'}")
                    st.markdown(
                        f"**{formatting.escape(setting)}**: {change} "
                        f" \n:gray[:small[{formatting.escape(meaning(setting))}]]"
                    )
                continue
            rows = [
                (setting, _format(setting, bases[name]), _format(setting, values))
                for setting in changes
            ]
            frame = pd.DataFrame(
                rows, columns=["Setting", formatting.shorten(name, 24), "This run"]
            )
            st.dataframe(frame, hide_index=True, row_height=32)


def _format(name: str, values: Mapping[str, Any]) -> str:
    """The value of a setting in words; a dash where the model has none of this name."""
    return format_value(values[name]) if name in values else "–"


def format_value(value: Any) -> str:
    """A setting's value in words."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "all" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
