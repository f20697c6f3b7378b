"""What each process of a run and each device of its machine used, on the tab Devices."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from ganboard.app.widgets.live_plotly import live_plotly
from ganboard.db.curves import usage
from ganboard.db.models import ENDED, Run
from ganboard.worker import formatting
from ganboard.worker.figures import system

GIB = 2.0**30
COLUMNS = (
    "at", "name", "pid", "cpu_percent", "rss_bytes", "gpu_percent", "gpu_memory_bytes", "watts",
    "note",
)  # fmt: skip
HOW = (
    "Sampled every 15 s on the machine of the first trainer process; those on other machines are"
    " not sampled. 100 % of CPU is one core. Input threads belong to the trainer's process. Power"
    " is a device's, other programs included: no counter divides it by process."
)


def draw(engine: Engine, run: Run) -> None:
    """A table of processes, one of devices with what is not readable, and curves."""
    st.markdown("**Processes and devices of this run**")
    frame = read(engine, run)
    if frame.empty:
        st.caption(
            "No samples were recorded."
            if run.status in ENDED or run.external
            else "The first sample follows some seconds after the start."
        )
        return
    st.dataframe(processes(frame), hide_index=True, key=f"processes-{run.id}")
    st.dataframe(devices(frame), hide_index=True, key=f"used-devices-{run.id}")
    own = frame[frame["pid"].notna()]
    left, right = st.columns(2)
    with left:
        plot = system.by_process(own, "cpu_percent", "CPU (%)", 1.0, "%{y:.0f} %")
        live_plotly(plot, key=f"process-cpu-{run.id}")
    with right:
        plot = system.by_process(own, "rss_bytes", "Memory (GiB)", GIB, "%{y:.2f} GiB")
        live_plotly(plot, key=f"process-memory-{run.id}")
    powered = frame[frame["watts"].notna()]
    if len(powered):
        plot = system.by_process(powered, "watts", "Power (W)", 1.0, "%{y:.0f} W")
        live_plotly(plot, key=f"device-power-{run.id}")
    st.caption(HOW)


def read(engine: Engine, run: Run) -> pd.DataFrame:
    """The samples with the columns COLUMNS, in order of time."""
    rows = usage.of_run(engine, run.id)
    return pd.DataFrame(
        [[getattr(row, name) for name in COLUMNS] for row in rows], columns=list(COLUMNS)
    )


def processes(frame: pd.DataFrame) -> pd.DataFrame:
    """A row for each process: the mean CPU use, the latest and the largest memory."""
    rows = []
    has_gpu = any(name.startswith("GPU ") for name in _names(frame))
    for name in _names(frame[frame["pid"].notna()]):
        own = frame[frame["name"] == name]
        last = own.iloc[-1]
        largest = float(own["rss_bytes"].max())
        rows.append(
            {
                "Process": name,
                "PID": str(int(last["pid"])),
                "CPU, mean": f"{own['cpu_percent'].mean():.0f} %",
                "CPU, latest": f"{last['cpu_percent']:.0f} %",
                "Memory": formatting.size(float(last["rss_bytes"]), [largest]),
                "Largest memory": formatting.size(largest),
                **({"GPU": _percent(last["gpu_percent"])} if has_gpu else {}),
                **({"GPU memory": _size(last["gpu_memory_bytes"])} if has_gpu else {}),
            }
        )
    return pd.DataFrame(rows)


def devices(frame: pd.DataFrame) -> pd.DataFrame:
    """A row for each device: what it used last, or why that is not readable."""
    rows = []
    for name in _names(frame[frame["pid"].isna()]):
        own = frame[frame["name"] == name]
        last = own.iloc[-1]
        why = last["note"]
        power = own["watts"].mean()
        rows.append(
            {
                "Device": name,
                "Use": _percent(last["gpu_percent"]) if name.startswith("GPU ") else "–",
                "Memory": _size(last["gpu_memory_bytes"]),
                "Power, mean": "–" if pd.isna(power) else f"{power:.0f} W",
                "Note": f"Not readable on this machine, because {why}." if why else "",
            }
        )
    return pd.DataFrame(rows)


def _names(frame: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(map(str, frame["name"])))


def _percent(value: float) -> str:
    return "not readable" if pd.isna(value) else f"{value:.0f} %"


def _size(value: float) -> str:
    return "–" if pd.isna(value) else formatting.size(float(value))
