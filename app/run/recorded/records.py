"""The textual part of a run's page: its events, its configuration and hardware."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from ganboard.app.run.recorded import networks
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.config import config_class
from ganboard.gan.settings import registry
from ganboard.gan.settings.metadata import about, fields_by_group
from ganboard.worker import formatting
from ganboard.worker.context import Context


def draw_events(context: Context, run: Run) -> None:
    events = queries.events(context.engine, run.id)
    frame = pd.DataFrame(
        {
            "Time": [event.at for event in events],
            "Level": [event.level.capitalize() for event in events],
            "Attempt": [event.attempt for event in events],
            "Event": [event.text for event in events],
        }
    )
    st.dataframe(
        frame,
        hide_index=True,
        key=f"events-{run.id}",
        column_config={
            "Time": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm:ss", width="small"),
            "Level": st.column_config.TextColumn(width="small"),
            "Attempt": st.column_config.NumberColumn(
                width="small", help="Each start or restart by a worker is an attempt."
            ),
            "Event": st.column_config.TextColumn(width="large"),
        },
    )
    st.caption("Newest first.")


def settings_frame(config: dict[str, Any]) -> pd.DataFrame:
    """Every setting of a stored configuration as text, its default, and a mark where they differ;
    unknown settings come last."""
    rows = []
    fields = [
        (group, name, field)
        for group, members in fields_by_group(config).items()
        for name, field in members.items()
    ]
    for group, name, field in fields:
        value = config.get(name, field.default)
        changed = "●" if value != field.default else ""
        rows.append(
            (
                changed,
                group,
                name,
                formatting.format_value(value),
                formatting.format_value(field.default),
                about(name).unit,
                field.description or "",
            )
        )
    rows += [
        ("●", "Unknown", name, formatting.format_value(value), "", "", "")
        for name, value in config.items()
        if name not in config_class(config).model_fields
    ]
    return pd.DataFrame(
        rows, columns=["Changed", "Group", "Setting", "Value", "Default", "Unit", "Why"]
    )


def script_frame(config: dict[str, Any]) -> pd.DataFrame:
    """A configuration of which nothing more is known, as text."""
    rows = [(name, formatting.format_value(value)) for name, value in config.items()]
    return pd.DataFrame(rows, columns=["Setting", "Value"], dtype=str)


def draw_config(context: Context, run: Run) -> None:
    # defaults and groups of a model that is not here are not known
    plain = run.external or registry.missing(run.config)
    frame = script_frame(run.config) if plain else settings_frame(run.config)
    st.dataframe(
        frame,
        hide_index=True,
        height="content",
        key=f"config-{run.id}",
        column_config={
            "Changed": st.column_config.TextColumn(
                width="small", help="● differs from the default"
            ),
            "Setting": st.column_config.TextColumn(width=180),
        },
    )
    networks.draw(run)
    st.markdown("**Hardware**")
    if not run.hardware:
        st.caption("Reported once the trainer has initialized its devices.")
        return
    facts = {
        "Parameters of the generator": run.g_parameters,
        "Parameters of the discriminator": run.d_parameters,
        "Images": run.examples,
    }
    rows = [(key, f"{value:,}") for key, value in facts.items() if value is not None] + list(
        flat(run.hardware)
    )
    st.dataframe(
        pd.DataFrame(rows, columns=["Fact", "Value"]),
        hide_index=True,
        height="content",
        key=f"hardware-{run.id}",
    )


def flat(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Nested mappings and lists as rows: `{"a": {"b": 1}}` gives `("a b", "1")`."""
    if isinstance(value, dict):
        return [row for key, inner in value.items() for row in flat(inner, f"{name} {key}".strip())]
    if isinstance(value, list):
        return [
            row
            for index, inner in enumerate(value)
            for row in flat(inner, f"{name} {index}".strip())
        ]
    return [(name, formatting.format_value(value))]
