"""What this installation has, what it does, what is missing and what to do about it."""

from __future__ import annotations

import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pandas as pd
import streamlit as st

from app import errors, findings, state, text
from db import queries
from gan.data import catalog
from worker.context import Context

PACKAGES = ("ganboard", "streamlit", "plotly", "sqlmodel", "sqlalchemy", "rq", "redis", "pydantic", "numpy", "pandas")


def render() -> None:
    context = state.context()
    st.title("System", anchor=False)
    st.fragment(_live, run_every=5.0)(context)
    storage, software = st.columns(2, gap="large")
    with storage:
        _data_sets(context)
        _places(context)
    with software:
        _versions(context)


def _live(context: Context) -> None:
    workers = queries.workers(context.engine)
    queue = findings.queue_problem(context)
    found = findings.collect(context, workers, queue)
    if not found:
        st.success("Everything works: the queue answers, and a worker is ready.", icon=":material/check:")
    for finding in found:
        errors.tell(finding.sentence, finding.level)
    usage = shutil.disk_usage(context.settings.state)
    rows = queries.statistics(context.engine)
    with st.grid(3, gap="small"):
        st.metric("Workers alive", f"{sum(one.alive for one in workers)} of {len(workers)}", border=True)
        st.metric("Training", text.integer(findings.busy(context)), border=True)
        st.metric(
            "Waiting",
            text.integer(len(queries.waiting_runs(context.engine))),
            border=True,
            help="Queued and suspended runs in the database",
        )
        st.metric(
            "Queue",
            "No answer" if queue else "Answers",
            border=True,
            help="Redis: it only tells workers that the database has something for them",
        )
        st.metric(
            "Database",
            text.size(rows["bytes"]),
            border=True,
            help=f"{rows['run']:,} runs, {rows['epoch']:,} epochs, {rows['grid']:,} image grids",
        )
        st.metric(
            "Disk free",
            text.size(usage.free),
            border=True,
            help=f"Of {text.size(usage.total)} that hold {text.escape(str(context.settings.state))}",
        )
    st.subheader("Workers", anchor=False)
    if not workers:
        st.caption("None in the last hour.")
        return
    names = {run.id: run.name for run in queries.get_runs(context.engine, [one.worker.run_id for one in workers if one.worker.run_id])}
    st.dataframe(pd.DataFrame([_worker(one, names) for one in workers]), hide_index=True, placeholder="–", key="workers")


def _worker(seen: queries.WorkerState, names: dict[str, str]) -> dict[str, Any]:
    worker, has = seen.worker, seen.worker.devices or {}
    accelerators = [str(gpu.get("name", "GPU")) for gpu in has.get("gpus", [])] + [str(tpu) for tpu in has.get("tpus", [])]
    return {
        "Worker": worker.name,
        "State": "Alive" if seen.alive else "Silent",
        "Last sign of life": text.ago(seen.age_seconds),
        "Trains": names.get(worker.run_id or "") or ("–" if seen.alive else None),
        "Host": worker.host,
        "Processor": f"{has['cpu']}, {text.plural(has['cores'], 'core')}" if {"cpu", "cores"} <= has.keys() else None,
        "Memory": text.size(has["memory_bytes"]) if "memory_bytes" in has else None,
        "Accelerators": ", ".join(accelerators) if accelerators else "none" if has else None,
        "TensorFlow": has.get("versions", {}).get("tensorflow"),
        "Process": str(worker.pid),
    }


def _data_sets(context: Context) -> None:
    st.subheader("Data sets", anchor=False)
    for name, reason in catalog.available(context.settings.data).items():
        st.markdown(f"{text.escape(name)} {':gray-badge[Absent]' if reason else ':green-badge[Here]'}")
        if reason:
            st.caption(text.sentence(reason))


def _places(context: Context) -> None:
    st.subheader("Places", anchor=False)
    settings = context.settings
    rows = [
        ("State (GANBOARD_HOME)", str(settings.state)),
        ("Data sets (GANBOARD_DATA_DIR)", str(settings.data)),
        ("Database (GANBOARD_DATABASE_URL)", context.engine.url.render_as_string(hide_password=True)),
        ("Queue (GANBOARD_REDIS_URL)", "given" if settings.redis_url else "embedded, on a socket of this user"),
    ]
    st.dataframe(pd.DataFrame(rows, columns=["What", "Where"]), hide_index=True, key="places")


def _versions(context: Context) -> None:
    st.subheader("Versions", anchor=False)
    rows = [("python", platform.python_version(), "web")] + [(name, _version(name), "web") for name in PACKAGES]
    for one in queries.workers(context.engine):
        if one.alive and one.worker.devices:
            rows += [(name, found, one.worker.name) for name, found in one.worker.devices.get("versions", {}).items()]
    st.dataframe(pd.DataFrame(rows, columns=["Package", "Version", "Process"]), hide_index=True, height="content", key="versions")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "from a checkout"


render()
