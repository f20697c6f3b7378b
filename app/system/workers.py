"""The workers and background processes that are alive, and the runs that wait for a worker."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pandas as pd
import streamlit as st

from ganboard.db import heartbeats
from ganboard.db.runs import queries
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.doctor import background
from ganboard.worker.doctor.background import Service

WAITING_SHOWN = 20


def show_alive(context: Context) -> None:
    st.header("Workers", anchor=False)
    workers = heartbeats.workers(context.engine)
    if not workers:
        st.caption("None in the last hour.")
        return
    names = {
        run.id: run.name
        for run in queries.get_runs(
            context.engine, [one.worker.run_id for one in workers if one.worker.run_id]
        )
    }
    st.dataframe(
        pd.DataFrame([_worker(one, names) for one in workers]),
        hide_index=True,
        placeholder="–",
        key="workers",
        column_config={
            "Last heartbeat": st.column_config.TextColumn(help="By the clock of the database")
        },
    )


def _worker(seen: heartbeats.WorkerState, names: dict[str, str]) -> dict[str, Any]:
    worker, has = seen.worker, seen.worker.devices or {}
    accelerators = [str(gpu.get("name", "GPU")) for gpu in has.get("gpus", [])] + [
        str(tpu) for tpu in has.get("tpus", [])
    ]
    return {
        "Worker": worker.name,
        **_heartbeat(seen),
        "Trains": names.get(worker.run_id or "") or ("–" if seen.alive else None),
        "Host": worker.host,
        "Processor": (
            f"{has['cpu']}, {formatting.plural(has['cores'], 'core')}"
            if {"cpu", "cores"} <= has.keys()
            else None
        ),
        "Memory": formatting.size(has["memory_bytes"]) if "memory_bytes" in has else None,
        "Accelerators": ", ".join(accelerators) if accelerators else "none" if has else None,
        "TensorFlow": has.get("versions", {}).get("tensorflow"),
        "Process": str(worker.pid),
    }


def _heartbeat(seen: heartbeats.WorkerState) -> dict[str, str]:
    return {
        "State": "Alive" if seen.alive else "Silent",
        "Last heartbeat": formatting.ago(seen.age_seconds),
    }


def show_background(context: Context) -> None:
    """The processes beside the workers; a kind without any says whether one is needed."""
    st.header("Background processes", anchor=False)
    rows = [row for one in background.SERVICES for row in _background(context, one)]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        placeholder="–",
        key="background",
        column_config={
            "State": st.column_config.TextColumn(
                help="Not needed: `ganboard up` starts one as soon as there is work for it"
            ),
            "Last heartbeat": st.column_config.TextColumn(help="By the clock of the database"),
        },
    )


def _background(context: Context, service: Service) -> list[dict[str, Any]]:
    kind = {"Service": service.name.capitalize(), "Does": service.does}
    found = service.seen(context.engine)
    if not found:
        state = "Not running" if service.needed(context.engine) else "Not needed"
        return [{**kind, "State": state, "Last heartbeat": None, "Host": None, "Process": None}]
    return [
        {**kind, **_heartbeat(one), "Host": one.worker.host, "Process": str(one.worker.pid)}
        for one in found
    ]


def show_waiting(context: Context) -> None:
    """What waits for a worker, the next one first."""
    runs = queries.waiting_runs(context.engine)
    if not runs:
        return
    st.header("What waits", anchor=False)
    present = queries.database_time(context.engine)
    rows = [
        (
            place,
            run.name,
            formatting.status_word(run.shown_status),
            _since(run.queued_at, present),
            f"run?run={run.id}",
        )
        for place, run in enumerate(runs[:WAITING_SHOWN], 1)
    ]
    st.dataframe(
        pd.DataFrame(rows, columns=["Place", "Run", "State", "Waits since", "Page"]),
        hide_index=True,
        key="waiting",
        column_config={
            "Place": st.column_config.NumberColumn(help="1 is next to start", width="small"),
            "Page": st.column_config.LinkColumn(display_text="Open", width="small"),
        },
    )
    if len(runs) > WAITING_SHOWN:
        st.caption(f"And {formatting.plural(len(runs) - WAITING_SHOWN, 'run')} more.")


def _since(moment: datetime, present: datetime) -> str:
    return formatting.ago((present - moment).total_seconds())
