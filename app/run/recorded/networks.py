"""The networks of a run, layer by layer, as `model.summary()` prints them."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from ganboard.db.models import Run
from ganboard.worker import formatting

TITLES = {"generator": "Generator", "discriminator": "Discriminator"}
COLUMNS = ["Layer", "Type", "Output", "Parameters", "Trainable"]


def draw(run: Run) -> None:
    """A table for each network that the trainer has reported."""
    for name, title in TITLES.items():
        rows: list[Any] = run.facts.get(f"{name}_summary") or []
        if not rows:
            continue
        frame = pd.DataFrame(rows, columns=COLUMNS)
        total, trainable = int(frame["Parameters"].sum()), int(frame["Trainable"].sum())
        held = f", {total - trainable:,} of them not trained" if trainable < total else ""
        label = f"{title}: {formatting.plural(len(rows), 'layer')}, {total:,} parameters{held}"
        with st.expander(label, icon=":material/account_tree:"):
            st.dataframe(
                frame,
                hide_index=True,
                height="content",
                key=f"{name}-summary-{run.id}",
                column_config={
                    "Output": st.column_config.TextColumn(help="Of one example, channels last"),
                    "Parameters": st.column_config.NumberColumn(format="localized"),
                    "Trainable": st.column_config.NumberColumn(format="localized"),
                },
            )
