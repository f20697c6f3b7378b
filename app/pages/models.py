"""Models: registered versions of generators, what they make, how good they are, and what can be
done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from ganboard.app import errors, navigation
from ganboard.app.models import actions, table
from ganboard.app.models.table import called
from ganboard.db import versions
from ganboard.db.models import ModelVersion
from ganboard.db.runs import queries
from ganboard.gan.quality.declared import QUALIFIED
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.registry import standing
from ganboard.worker.registry import versions as models
from ganboard.worker.registry.standing import Standing

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
OFFERED = 5  # runs, where there is no model yet


def render() -> None:
    context = navigation.context()
    st.title("Models", anchor=False)
    found, aliases = versions.listed(context.engine), versions.aliases(context.engine)
    if not found:
        _none(context)
        actions.report_outcome()
        return
    standings = standing.standings(context, found)
    runs = queries.get_runs(context.engine, list({one.run_id for one in found}))
    clicked = table.show(found, aliases, standings, {one.id: one.name for one in runs})
    if clicked is not None:
        st.query_params["model"] = clicked
    chosen = _chosen(found, aliases)
    if chosen is not None:
        _details(context, chosen, aliases.get(chosen.id, []), standings[chosen.id])
    actions.report_outcome()


def _none(context: Context) -> None:
    """What a model is, and the runs that one can be made of."""
    st.info(
        "No model is registered yet. A model is the generator of a finished run under a name with"
        " numbered versions: it stays when the run is deleted, and can be aliased, quantized,"
        " downloaded and served. Register one in the tab Model of a run, or with `ganboard models"
        " add latest --name digits`.",
        icon=":material/deployed_code:",
    )
    able = [
        run
        for run in queries.drawable_runs(context.engine, limit=50)
        if run.status in ("finished", "stopped") and not run.external
    ][:OFFERED]
    if not able:
        st.markdown("There is no finished run with a checkpoint. Train one first.")
        st.page_link(navigation.LAUNCH_PAGE, label="Launch a run", icon=":material/rocket_launch:")
        return
    st.markdown("**Runs to register**")
    for run in able:
        st.page_link(
            navigation.RUN_PAGE,
            label=formatting.escape(formatting.shorten(run.name)),
            icon=":material/show_chart:",
            query_params={"run": run.id, "view": "Model"},
        )


def _chosen(found: Sequence[ModelVersion], aliases: Mapping[str, list[str]]) -> ModelVersion | None:
    """The version of the address, else one with an alias, else the first."""
    by_id = {one.id: one for one in found}
    asked = navigation.model_param()
    if asked is not None and asked not in by_id:
        st.info(
            "There is no version with this id. It was deleted, or the address is incomplete.",
            icon=":material/search_off:",
        )
        return None
    return by_id[asked] if asked else next((one for one in found if one.id in aliases), found[0])


def _details(
    context: Context, version: ModelVersion, aliases: Sequence[str], said: Standing
) -> None:
    badges = "".join(f" :blue-badge[{formatting.escape(alias)}]" for alias in aliases)
    st.subheader(f"{formatting.escape(called(version))} {badges}", anchor=False)
    actions.bar(context, version, aliases, of_run=False)
    left, right = st.columns(2, gap="medium")
    with left, errors.sentences():
        st.markdown(f"**{formatting.escape(said.short)}**")
        st.caption(formatting.escape(said.sentences))
        _pictures(context, version)
        st.caption(f"Serve it over HTTP: `ganboard serve {called(version)}`")
    with right, errors.sentences():
        _facts(context, version)


def _pictures(context: Context, version: ModelVersion) -> None:
    """What it makes; below it the same of the full version that it was quantized from."""
    parent = versions.get(context.engine, version.parent_id) if version.parent_id else None
    for one in (version, parent):
        if one is not None and one.removed_at is None and (png := models.picture(context, one)):
            caption = f"{called(one)} in {one.variant}"
            st.image(png, width="stretch", caption=formatting.escape(caption), alt=caption)


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
        named = ["Metric", "This version", "Full version"]
        measured = pd.DataFrame(rows, columns=named)
        shown = measured if version.parent_id else measured[named[:2]]
        st.dataframe(shown, hide_index=True, key="metrics")
    st.dataframe(_lineage(details), hide_index=True, key="lineage")


def _lineage(details: Mapping[str, Any]) -> pd.DataFrame:
    rows = [
        (name.replace("_", " "), "not recorded" if value is None else str(value))
        for name, value in details.items()
    ]
    return pd.DataFrame(rows, columns=["Lineage", ""])


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return formatting.size(value) if name.endswith("bytes") else f"{value:.4g}"


render()
