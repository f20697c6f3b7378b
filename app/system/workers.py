"""The workers and background processes that are alive, and the runs that wait for a worker."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pandas as pd
import streamlit as st

from ganboard.app import auth, errors
from ganboard.db import heartbeats
from ganboard.db.placement import backlog, draining
from ganboard.db.runs import queries
from ganboard.gan.devices import hardware
from ganboard.worker import fleet, formatting
from ganboard.worker.context import Context
from ganboard.worker.doctor import background
from ganboard.worker.doctor.background import Service
from ganboard.worker.placement import waiting as why

WAITING_SHOWN = 20


def show_alive(context: Context) -> None:
    """The machines with what they have, what their workers do, and the way to drain one."""
    st.header("Machines", anchor=False)
    machines = fleet.machines(context.engine)
    if not machines:
        st.caption("None in the last hour.")
        return
    chosen = st.dataframe(
        pd.DataFrame([_machine(one) for one in machines]),
        hide_index=True,
        placeholder="–",
        key="machines",
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            # made for "Alive", it would cut off "Drained"
            "State": st.column_config.TextColumn(width=90),
            "Labels": st.column_config.TextColumn(help="Set by GANBOARD_LABELS on the machine"),
        },
    )
    rows = chosen.selection.rows
    _draining(context, machines[rows[0]] if rows and rows[0] < len(machines) else None)
    st.header("Workers", anchor=False)
    workers = [(one, machine) for machine in machines for one in machine.workers]
    if not workers:
        st.caption("None in the last hour.")
        return
    names = {run.id: run.name for machine in machines for run in machine.trains}
    st.dataframe(
        pd.DataFrame([_worker(one, machine, names) for one, machine in workers]),
        hide_index=True,
        placeholder="–",
        key="workers",
        column_config={
            "Last heartbeat": st.column_config.TextColumn(help="By the clock of the database")
        },
    )


def _draining(context: Context, machine: fleet.Machine | None) -> None:
    drained = machine is not None and machine.drained_since is not None
    about = (
        "Let the machine start runs again"
        if drained
        else "The machine finishes what it trains and starts nothing else"
    )
    if st.button(
        "Undrain" if drained else "Drain",
        key="drain",
        icon=":material/play_arrow:" if drained else ":material/pause:",
        **auth.writer(about if machine else "Select a machine above", disabled=machine is None),
    ):
        assert machine is not None
        with errors.sentences():
            if drained:
                draining.undrain(context.engine, machine.name)
            else:
                draining.drain(context.engine, machine.name)
        st.rerun(scope="fragment")


def _machine(machine: fleet.Machine) -> dict[str, Any]:
    has = machine.devices
    return {
        "Machine": machine.name,
        "State": machine.state,
        "Labels": ", ".join(machine.labels) or None,
        "Has": hardware.devices(has) if has else None,
        "Memory": formatting.size(has["memory_bytes"]) if "memory_bytes" in has else None,
        "Workers": sum(one.alive for one in machine.workers),
        "Trains": ", ".join(run.name for run in machine.trains) or None,
    }


def _worker(
    seen: heartbeats.WorkerState, machine: fleet.Machine, names: dict[str, str]
) -> dict[str, Any]:
    worker, has = seen.worker, seen.worker.devices or {}
    accelerators = [str(gpu.get("name", "GPU")) for gpu in has.get("gpus", [])] + [
        str(tpu) for tpu in has.get("tpus", [])
    ]
    return {
        "Worker": worker.name,
        **_heartbeat(seen),
        "Trains": names.get(worker.run_id or "") or ("–" if seen.alive else None),
        "Machine": machine.name,
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
    rows = [row for one in background.services(context.engine) for row in _background(context, one)]
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
    kind = {"Service": service.name[:1].upper() + service.name[1:], "Does": service.does}
    found = service.seen(context.engine)
    if not found:
        state = "Not running" if service.needed(context.engine) else "Not needed"
        return [{**kind, "State": state, "Last heartbeat": None, "Host": None, "Process": None}]
    return [
        {**kind, **_heartbeat(one), "Host": one.worker.host, "Process": str(one.worker.pid)}
        for one in found
    ]


def show_waiting(context: Context) -> None:
    """The runs that wait for a worker, the next one first."""
    runs = backlog.waiting_runs(context.engine)
    if not runs:
        return
    st.header("Waiting runs", anchor=False)
    present = queries.database_time(context.engine)
    reasons = why.reasons(context, runs[:WAITING_SHOWN])
    rows = [
        (
            place,
            run.name,
            formatting.status_word(run.shown_status),
            run.priority,
            _since(run.queued_at, present),
            reasons[run.id].reason if run.id in reasons else None,
            f"run?run={run.id}",
        )
        for place, run in enumerate(runs[:WAITING_SHOWN], 1)
    ]
    st.dataframe(
        pd.DataFrame(
            rows, columns=["Place", "Run", "State", "Priority", "Waits since", "Waits for", "Page"]
        ),
        hide_index=True,
        key="waiting",
        placeholder="a free worker",
        column_config={
            "Place": st.column_config.NumberColumn(
                help="1 is next to start: by priority, then whose owner has fewer runs training,"
                " then by time",
                width="small",
            ),
            "Priority": st.column_config.NumberColumn(
                help="Set by `ganboard priority RUN NUMBER`", width="small"
            ),
            "Page": st.column_config.LinkColumn(display_text="Open", width="small"),
        },
    )
    if len(runs) > WAITING_SHOWN:
        st.caption(f"And {formatting.plural(len(runs) - WAITING_SHOWN, 'run')} more.")


def _since(moment: datetime, present: datetime) -> str:
    return formatting.ago((present - moment).total_seconds())
