"""What this installation has, what it does, what is missing and what to do about it."""

from __future__ import annotations

import platform
import shutil
from importlib.metadata import PackageNotFoundError, version

import pandas as pd
import streamlit as st

from ganboard.app import errors, navigation
from ganboard.app.run import actions
from ganboard.app.system import alerts, storage, tokens, workers
from ganboard.db import heartbeats
from ganboard.db.models import ACTIVE, WAITING
from ganboard.db.runs import queries
from ganboard.worker import doctor, formatting
from ganboard.worker.context import Context
from ganboard.worker.process import machine

TICK_SECONDS = 5.0
PACKAGES = (
    "ganboard",
    "streamlit",
    "plotly",
    "sqlmodel",
    "sqlalchemy",
    "rq",
    "redis",
    "pydantic",
    "numpy",
    "pandas",
)
STATUS_WORDS = {"ok": "OK", "warn": "Warning", "fail": "Error"}


def render() -> None:
    context = navigation.context()
    st.title("System", anchor=False)
    outcome = st.container()
    st.fragment(_live, run_every=TICK_SECONDS)(context)
    alerts.show(context)
    tokens.show(context)
    left, right = st.columns(2, gap="large")
    with left:
        storage.show_sizes(context)
        storage.show_data_sets(context)
    with right:
        _places(context)
        _versions(context)
    actions.report_outcome(outcome)


def _live(context: Context) -> None:
    checks = [
        *doctor.machine(context.settings),
        *doctor.installation(context.settings, context.engine),
    ]
    _findings(checks)
    _metrics(context, queue=next(check for check in checks if check.name == "queue"))
    workers.show_alive(context)
    workers.show_background(context)
    workers.show_waiting(context)


def _findings(checks: list[doctor.Check]) -> None:
    """The same list as `ganboard doctor` prints, what is not well first and open."""
    unwell = sorted(
        (check for check in checks if check.status != "ok"),
        key=lambda check: check.status != "fail",
    )
    if not unwell:
        st.success(
            "All systems operational: the queue is reachable and a worker is ready.",
            icon=":material/check:",
        )
    for check in unwell:
        text = f"{check.name[:1].upper()}{check.name[1:]}: {check.text.rstrip('.')}. {check.remedy}"
        errors.report(text, "error" if check.status == "fail" else "warning")
    with st.expander(f"All {len(checks)} checks", icon=":material/checklist:"):
        rows = [
            (STATUS_WORDS[check.status], check.name, check.text, check.remedy) for check in checks
        ]
        st.dataframe(
            pd.DataFrame(rows, columns=["State", "What", "Found", "Remedy"]),
            hide_index=True,
            height="content",
            key="checks",
        )
        st.caption(
            "`ganboard doctor` prints the same for the machine on which it runs, including"
            " TensorFlow's devices."
        )


def _metrics(context: Context, *, queue: doctor.Check) -> None:
    seen = heartbeats.workers(context.engine)
    stored = storage.totals(context, str(context.engine.url))
    usage = shutil.disk_usage(context.settings.state)
    metrics = (
        (
            "Workers alive",
            f"{sum(one.alive for one in seen)} of {len(seen)}",
            "Workers with a heartbeat within the last"
            f" {heartbeats.WORKER_ALIVE_SECONDS:.0f} s, out of those seen in the last hour",
        ),
        (
            "Training",
            formatting.integer(queries.count_runs(context.engine, statuses=ACTIVE)),
            "Runs currently claimed by a worker",
        ),
        (
            "Waiting",
            formatting.integer(queries.count_runs(context.engine, statuses=WAITING)),
            "Queued and suspended runs in the database",
        ),
        (
            "Queue",
            "Reachable" if queue.status == "ok" else "Unreachable",
            "Redis only notifies workers; the work itself is stored in the database",
        ),
        (
            "Database",
            formatting.size(stored["bytes"]),
            f"{stored['run']:,} runs, {stored['epoch']:,} epochs, {stored['grid']:,} image"
            f" grids; updated every {storage.SIZES_SECONDS} s",
        ),
        (
            "Disk free",
            formatting.size(usage.free, [usage.total]),
            f"Of {formatting.size(usage.total)} on the disk of"
            f" {formatting.escape(str(context.settings.state))}",
        ),
    )
    with st.grid(6, min_column_width=150, gap="small"):
        for label, value, about in metrics:
            st.metric(label, value, border=True, help=about)


def _places(context: Context) -> None:
    st.header("Paths", anchor=False)
    settings = context.settings
    rows = [
        ("State (GANBOARD_HOME)", str(settings.state)),
        ("Machine", machine.recorded(settings) or "no name yet (no worker has run here)"),
        ("Data sets (GANBOARD_DATA_DIR)", str(settings.data)),
        (
            "Database (GANBOARD_DATABASE_URL)",
            context.engine.url.render_as_string(hide_password=True),
        ),
        (
            "Queue (GANBOARD_REDIS_URL)",
            "given" if settings.redis_url else "embedded, on a socket of this user",
        ),
    ]
    st.dataframe(pd.DataFrame(rows, columns=["What", "Where"]), hide_index=True, key="places")


def _versions(context: Context) -> None:
    st.header("Versions", anchor=False)
    rows = [("python", platform.python_version(), "web")] + [
        (name, _version(name), "web") for name in PACKAGES
    ]
    for one in heartbeats.workers(context.engine):
        if one.alive and one.worker.devices:
            rows += [
                (name, found, one.worker.name)
                for name, found in one.worker.devices.get("versions", {}).items()
            ]
    st.dataframe(
        pd.DataFrame(rows, columns=["Package", "Version", "Process"]),
        hide_index=True,
        height="content",
        key="versions",
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "from a checkout"


render()
