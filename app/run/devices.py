"""What rehearsals say of devices that are not here (`ganboard rehearse`): on a run's page, on
Launch and in Compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from ganboard.app.run import processes
from ganboard.app.widgets.live_plotly import live_plotly
from ganboard.db.models import Run
from ganboard.gan.config import RunConfig
from ganboard.worker import formatting
from ganboard.worker.figures import rehearsal
from ganboard.worker.rehearsal import stored, summary
from ganboard.worker.rehearsal.calibration import calibrated

NOT_MEASURED = (
    "Compiled for these devices by their compilers and not run on any: memory and collectives are"
    " the compiler's, step times are estimates."
)
_LINES = 4  # on Launch


def of_config(engine: Engine, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The reports of a configuration, by target, calibrated where a device was measured."""
    return [calibrated(engine, report) for report in stored.of_config(engine, config)]


def lines(engine: Engine, config: RunConfig, preset: str) -> None:
    """Captions for Launch: whether the step would fit on each device that was rehearsed, or how to
    find out."""
    found = of_config(engine, config.model_dump(mode="json"))
    for report in found[:_LINES]:
        st.caption(formatting.escape(f"{report['target']}: {summary.line(report)}"))
    if rest := [report["target"] for report in found[_LINES:]]:
        st.caption(f"Rehearsed as well: {', '.join(rest)}. A run's tab Devices shows all.")
    if not found:
        st.caption(
            "Not rehearsed for other devices. See what a TPU or GPU would make of a preset or a"
            f" stored run: `ganboard rehearse {preset} --on v5e-1,h100`"
        )


def draw(engine: Engine, run: Run, target: str | None) -> None:
    """The tab Devices of a run: what its processes and devices used, then rehearsals."""
    processes.draw(engine, run)
    st.markdown("**Devices that are not here**")
    found = of_config(engine, run.config)
    if not found:
        st.caption("No rehearsal with these settings is stored. Compile the step for others with")
        st.code(f"ganboard rehearse {run.id} --on v3-8,v5e-1,h100", language=None)
        return
    st.caption(NOT_MEASURED)
    st.dataframe(table(found), hide_index=True, key=f"rehearsed-{run.id}")
    report = next((one for one in found if one["target"] == target), None)
    if report is None:
        return
    if not report["compiles"]:
        st.caption(formatting.escape(report["reason"]))
        return
    st.markdown(f"**{formatting.escape(report['title'])}: time of a step by part**")
    live_plotly(rehearsal.parts(report), key=f"rehearsed-parts-{run.id}-{report['target']}")
    st.caption(formatting.escape(f"Obtained from: {report['basis']}."))
    for program in report["programs"]:
        if program.get("cycles") and "padding" in program:
            st.caption(formatting.escape(f"{program['name']}: {summary.layout(program)}."))
    for sentence in report.get("advice", []):
        st.caption(formatting.escape(sentence))
    if exchanges := collectives(report):
        st.markdown("**Collectives of a step**")
        st.dataframe(pd.DataFrame(exchanges), hide_index=True, key=f"collectives-{run.id}-{target}")


def choose(engine: Engine, run: Run) -> str | None:
    """The target that the tab Devices shows in detail."""
    found = [report["target"] for report in of_config(engine, run.config)]
    if not found:
        return None
    chosen: str | None = st.segmented_control(
        "Device", found, default=found[0], required=True, key="device"
    )
    return chosen


def compare(engine: Engine, runs: Sequence[Run], labels: Mapping[str, str]) -> None:
    """Rehearsals of several runs as one table; nothing where there are none."""
    frames = [
        table(found).assign(Run=labels[run.id])
        for run in runs
        if (found := of_config(engine, run.config))
    ]
    if not frames:
        return
    whole = pd.concat(frames).sort_values(["Device", "Run"])
    st.markdown("**Rehearsed for other devices**")
    st.dataframe(
        whole[["Run", *(name for name in whole if name != "Run")]],
        hide_index=True,
        key="compare-rehearsed",
    )
    st.caption(NOT_MEASURED)


def table(found: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """A row for each report; what does not compile has no numbers."""
    return pd.DataFrame([summary.row(report) for report in found])


def collectives(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each kind of exchange in each program."""
    return [
        {
            "Program": program["name"],
            "Collective": one["kind"],
            "Of": one["part"],
            "Number": round(program["calls"] * one["count"]),
            "Bytes": formatting.size(program["calls"] * one["bytes"]),
        }
        for program in report.get("programs", [])
        for one in program["collectives"]
    ]
