"""The table of versions: what they make, their quality in words, and a name that opens one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import streamlit as st

from ganboard.db.models import ModelVersion
from ganboard.worker import formatting
from ganboard.worker.registry.standing import Standing

THUMBNAIL = 80  # pixels high at most, for screens of two pixels per point
ROW = 44  # pixels
TEXT = pa.string()
column = st.column_config


def called(version: ModelVersion) -> str:
    """digits:2"""
    return f"{version.name}:{version.version}"


def show(
    found: Sequence[ModelVersion],
    aliases: Mapping[str, list[str]],
    standings: Mapping[str, Standing],
    runs: Mapping[str, str],
) -> str | None:
    """Draw a row for each version; the id of the one whose name was clicked just now. `runs` are
    the names of those that still exist, by id."""
    opened = "versions_opened"
    st.dataframe(
        frame(found, aliases, standings, runs),
        hide_index=True,
        key="versions",
        row_height=ROW,
        height=min(38 + ROW * len(found), 480),
        placeholder="–",
        lazy=False,
        column_config={
            "Makes": column.ImageColumn(width=190, help="Generated from the same few inputs"),
            "Model": column.ButtonColumn(
                width=130,
                alignment="left",
                type="tertiary",
                key=opened,
                help="Name and version: click one to see it below",
            ),
            "Aliases": column.ListColumn(
                width=110, help="Names that can be moved to other versions"
            ),
            "Quality": column.TextColumn(
                width=290, help="The main metric; compared with versions that were measured alike"
            ),
            "Weights": column.TextColumn(width=80, help="How the weights are stored"),
            "Made": column.DatetimeColumn(format="distance"),
        },
    )
    click = st.session_state.get(opened)
    return found[click["row"]].id if click and 0 <= click["row"] < len(found) else None


def frame(
    found: Sequence[ModelVersion],
    aliases: Mapping[str, list[str]],
    standings: Mapping[str, Standing],
    runs: Mapping[str, str],
) -> pa.Table:
    """The same as data."""
    sizes = [one.size for one in found]
    columns = {
        "Makes": pa.array([f"/api/models/{one.id}.png?height={THUMBNAIL}" for one in found], TEXT),
        "Model": pa.array([called(one) for one in found], TEXT),
        "Aliases": pa.array([aliases.get(one.id, []) for one in found], pa.list_(TEXT)),
        "Quality": pa.array([standings[one.id].short for one in found], TEXT),
        "Weights": pa.array([one.variant for one in found], TEXT),
        "Size": pa.array([formatting.size(one.size, sizes) for one in found], TEXT),
        "Network": pa.array([one.model for one in found], TEXT),
        "Run": pa.array([_run(one, runs) for one in found], TEXT),
        "Made": pa.array([one.created_at for one in found], pa.timestamp("us", "UTC")),
    }
    return pa.table(columns)


def _run(version: ModelVersion, runs: Mapping[str, str]) -> str:
    name = runs.get(version.run_id)
    named = formatting.shorten(name, 30) if name else f"{version.run_id} (deleted)"
    return f"{named}, epoch {version.epoch}"
