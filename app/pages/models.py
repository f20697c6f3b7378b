"""Models: registered versions of generators, what they make, and which one an alias means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from ganboard.app import auth, errors, navigation
from ganboard.db import versions
from ganboard.db.models import ModelVersion
from ganboard.db.runs import queries
from ganboard.gan.quality.declared import QUALIFIED
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.registry import versions as models
from ganboard.worker.registry.output import quality

FULL = "_full"
LABELS = {
    "percent_worse": "Degradation (%)",
    "root_mean_square_difference": "RMS difference",
    "psnr": "PSNR (dB)",
    "milliseconds": "Time per batch (ms)",
    "weight_bytes": "Weights",
    "peak_memory_bytes": "Peak memory of a process",
    **{name: metric.label for name, metric in QUALIFIED.items()},
    **{metric.compared_as: metric.label for metric in QUALIFIED.values()},
}
LINEAGE = ("run_id", "attempt", "epoch", "step", "checkpoint", "data", "commit")


def render() -> None:
    context = navigation.context()
    st.title("Models", anchor=False)
    found, aliases = versions.listed(context.engine), versions.aliases(context.engine)
    if not found:
        st.info(
            "A model is the generator of a finished run, registered under a name with numbered"
            " versions. `ganboard models add latest --name digits` registers that of the newest"
            " run.",
            icon=":material/deployed_code:",
        )
        return
    sizes = [one.size for one in found]
    rows = [_row(one, aliases.get(one.id, []), sizes) for one in found]
    made = st.column_config.DatetimeColumn(format="distance")
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="versions", column_config={"Made": made})
    chosen = _choose(found)
    if chosen is None:
        return
    left, right = st.columns(2)
    with left, errors.sentences():
        _pictures(context, chosen)
        _alias(context, chosen, aliases.get(chosen.id, []))
    with right, errors.sentences():
        _facts(context, chosen)


def _row(version: ModelVersion, aliases: list[str], sizes: list[int]) -> dict[str, Any]:
    return {
        "Model": version.name,
        "Version": version.version,
        "Aliases": ", ".join(aliases),
        "Network": version.model,
        "Weights": version.variant,
        "Size": formatting.size(version.size, sizes),
        "Quality": quality(version.quality),
        "Run": f"{version.run_id}, epoch {version.epoch}",
        "Made": version.created_at,
    }


def _choose(found: Sequence[ModelVersion]) -> ModelVersion | None:
    by_id = {one.id: one for one in found}
    asked = navigation.model_param()
    if asked is not None and asked not in by_id:
        st.info(
            "There is no version with this id. It was deleted, or the address is incomplete.",
            icon=":material/search_off:",
        )
        return None
    st.session_state["version_shown"] = asked or found[0].id
    current = st.selectbox(
        "Version",
        list(by_id),
        format_func=lambda one: f"{by_id[one].name}:{by_id[one].version} ({by_id[one].variant})",
        key="version_shown",
        on_change=lambda: st.query_params.__setitem__("model", st.session_state["version_shown"]),
        width=320,
    )
    return by_id[current]


def _pictures(context: Context, version: ModelVersion) -> None:
    """What it makes; below it the same of the full version that it was quantized from."""
    parent = versions.get(context.engine, version.parent_id) if version.parent_id else None
    for one in (version, parent):
        if one is not None and one.removed_at is None and (png := models.picture(context, one)):
            caption = f"{one.name}:{one.version} in {one.variant}"
            st.image(png, width="stretch", caption=formatting.escape(caption), alt=caption)


def _alias(context: Context, version: ModelVersion, aliases: list[str]) -> None:
    called = f"{version.name}:{version.version}"
    less = (
        f"; `ganboard models quantize {called} --to int8` reduces its size to a quarter"
        if version.parent_id is None
        else ""
    )
    st.caption(formatting.sentence(f"`ganboard serve {called}` serves it over HTTP{less}."))
    with st.form("alias", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        word = st.text_input(
            "Alias", placeholder=aliases[0] if aliases else "production", max_chars=32, width=240
        )
        if st.form_submit_button("Set", **auth.writer("Points the alias to this version")):
            versions.alias(context.engine, version, word.strip())
            st.rerun()


def _facts(context: Context, version: ModelVersion) -> None:
    manifest = models.manifest(context, version)
    details = {name: getattr(manifest, name) for name in LINEAGE} | dict(manifest.versions)
    details |= {f"SHA-256 of {name}": file.sha256 for name, file in manifest.files.items()}
    rows = [
        (
            LABELS.get(name, name.replace("_", " ").capitalize()),
            _figure(name, value),
            _figure(name, manifest.quality.get(name + FULL)),
        )
        for name, value in manifest.quality.items()
        if not name.endswith(FULL)
    ]
    if rows:
        st.dataframe(
            pd.DataFrame(rows, columns=["Metric", "This version", "Full version"]),
            hide_index=True,
            key="metrics",
        )
    st.dataframe(
        pd.DataFrame(
            [(name.replace("_", " "), str(value)) for name, value in details.items()],
            columns=["Lineage", ""],
        ),
        hide_index=True,
        key="lineage",
    )
    if queries.get_run(context.engine, version.run_id) is not None:
        st.page_link(
            navigation.RUN_PAGE,
            label="Its run",
            icon=":material/show_chart:",
            query_params={"run": version.run_id},
        )


def _figure(name: str, value: float | None) -> str:
    return (
        ""
        if value is None
        else formatting.size(value)
        if name.endswith("bytes")
        else f"{value:.4g}"
    )


render()
