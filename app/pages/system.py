"""What this installation has, what it does, what is missing and what to do about it."""

from __future__ import annotations

import platform
import shutil
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pandas as pd
import streamlit as st

from ganboard.app import errors, navigation
from ganboard.db.models import ACTIVE, WAITING
from ganboard.db.runs import queries
from ganboard.worker import doctor, formatting
from ganboard.worker.context import Context
from ganboard.worker.process import machine

TICK_SECONDS = 5.0
SIZES_SECONDS = 60  # how long measured sizes are shown before they are measured again
WAITING_SHOWN = 20
LARGEST = 10
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
STATUS_WORDS = {"ok": "Well", "warn": "Warning", "fail": "Error"}


def render() -> None:
    context = navigation.context()
    st.title("System", anchor=False)
    st.fragment(_live, run_every=TICK_SECONDS)(context)
    storage, software = st.columns(2, gap="large")
    with storage:
        _sizes(context)
        _data_sets(context)
    with software:
        _places(context)
        _versions(context)


def _live(context: Context) -> None:
    checks = [
        *doctor.machine(context.settings),
        *doctor.installation(context.settings, context.engine),
    ]
    _findings(checks)
    _figures(context, queue=next(check for check in checks if check.name == "queue"))
    _workers(context)
    _waiting(context)


def _findings(checks: list[doctor.Check]) -> None:
    """The same list as `ganboard doctor` prints, what is not well first and open."""
    unwell = sorted(
        (check for check in checks if check.status != "ok"),
        key=lambda check: check.status != "fail",
    )
    if not unwell:
        st.success(
            "Everything works: the queue answers, and a worker is ready.", icon=":material/check:"
        )
    for check in unwell:
        words = (
            f"{check.name[:1].upper()}{check.name[1:]}: {check.text.rstrip('.')}. {check.remedy}"
        )
        errors.tell(words, "error" if check.status == "fail" else "warning")
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
            "`ganboard doctor` prints the same for the machine where it is called, and asks"
            " TensorFlow for its devices as well."
        )


def _figures(context: Context, *, queue: doctor.Check) -> None:
    workers = queries.workers(context.engine)
    stored = _stored(context, str(context.engine.url))
    usage = shutil.disk_usage(context.settings.state)
    with st.grid(6, min_column_width=150, gap="small"):
        st.metric(
            "Workers alive",
            f"{sum(one.alive for one in workers)} of {len(workers)}",
            border=True,
            help=(
                f"Workers with a heartbeat within the last {queries.WORKER_ALIVE_SECONDS:.0f} s, of"
                " those of the last hour"
            ),
        )
        training = queries.count_runs(context.engine, statuses=ACTIVE)
        st.metric(
            "Training",
            formatting.integer(training),
            border=True,
            help="Runs that a worker holds now",
        )
        waiting = queries.count_runs(context.engine, statuses=WAITING)
        st.metric(
            "Waiting",
            formatting.integer(waiting),
            border=True,
            help="Queued and suspended runs in the database",
        )
        st.metric(
            "Queue",
            "Answers" if queue.status == "ok" else "No answer",
            border=True,
            help="Redis: it only tells workers that the database has something for them",
        )
        st.metric(
            "Database",
            formatting.size(stored["bytes"]),
            border=True,
            help=(
                f"{stored['run']:,} runs, {stored['epoch']:,} epochs, {stored['grid']:,} image"
                f" grids; counted once in {SIZES_SECONDS} s"
            ),
        )
        st.metric(
            "Disk free",
            formatting.size(usage.free, [usage.total]),
            border=True,
            help=(
                f"Of {formatting.size(usage.total)} that hold"
                f" {formatting.escape(str(context.settings.state))}"
            ),
        )


def _workers(context: Context) -> None:
    st.header("Workers", anchor=False)
    workers = queries.workers(context.engine)
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


def _worker(seen: queries.WorkerState, names: dict[str, str]) -> dict[str, Any]:
    worker, has = seen.worker, seen.worker.devices or {}
    accelerators = [str(gpu.get("name", "GPU")) for gpu in has.get("gpus", [])] + [
        str(tpu) for tpu in has.get("tpus", [])
    ]
    return {
        "Worker": worker.name,
        "State": "Alive" if seen.alive else "Silent",
        "Last heartbeat": formatting.ago(seen.age_seconds),
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


def _waiting(context: Context) -> None:
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
            formatting.status_word(run.status),
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
            "Place": st.column_config.NumberColumn(
                help="1 is the next that a free worker takes", width="small"
            ),
            "Page": st.column_config.LinkColumn(display_text="Open", width="small"),
        },
    )
    if len(runs) > WAITING_SHOWN:
        st.caption(f"And {formatting.plural(len(runs) - WAITING_SHOWN, 'run')} more.")


def _since(moment: datetime, present: datetime) -> str:
    return formatting.ago((present - moment).total_seconds())


def _sizes(context: Context) -> None:
    st.header("Storage", anchor=False)
    stored = _stored(context, str(context.engine.url))
    places = (
        ("Losses and rates of every step", "series", "database"),
        ("Image grids", "grids", "database"),
        ("Checkpoints", "checkpoints", "files"),
    )
    sizes = [stored[name] for _, name, _ in places]
    rows = [(what, formatting.size(stored[name], sizes), where) for what, name, where in places]
    st.dataframe(
        pd.DataFrame(rows, columns=["What", "Size", "Where"]),
        hide_index=True,
        key="sizes",
        column_config={
            "Size": st.column_config.TextColumn(
                help=f"About, without indexes and overhead; counted once in {SIZES_SECONDS} s"
            )
        },
    )
    if st.button(
        "What could be freed",
        icon=":material/search:",
        help="Shows the largest runs. Nothing is deleted here.",
    ):
        _largest(context)


@st.cache_data(max_entries=4, ttl=SIZES_SECONDS, show_spinner=False)
def _stored(_context: Context, database: str) -> dict[str, int]:
    return queries.statistics(_context.engine) | queries.stored_bytes(_context.engine)


@st.dialog("What could be freed", icon=":material/search:", width="medium")
def _largest(context: Context) -> None:
    """The runs with the largest checkpoints; deleting is the business of the page Runs."""
    largest = queries.largest_runs(context.engine, limit=LARGEST)
    if not largest:
        st.write("No run has stored a checkpoint.")
        return
    sizes = [size for _, size in largest]
    rows = [
        (
            run.name,
            formatting.status_word(run.status),
            formatting.size(size, sizes),
            f"run?run={run.id}",
        )
        for run, size in largest
    ]
    st.dataframe(
        pd.DataFrame(rows, columns=["Run", "State", "Checkpoints", "Page"]),
        hide_index=True,
        height="content",
        column_config={"Page": st.column_config.LinkColumn(display_text="Open", width="small")},
    )
    st.caption(
        "The runs whose checkpoints take most space. A run's page and the page Runs delete what you"
        " no longer need."
    )


def _data_sets(context: Context) -> None:
    st.header("Data sets", anchor=False)
    for check in doctor.data_sets(context.settings):
        name = check.name.removeprefix("data: ")
        st.markdown(
            f"{formatting.escape(name)}"
            f" {':green-badge[Here]' if check.status == 'ok' else ':gray-badge[Absent]'}"
        )
        if check.remedy:
            st.caption(formatting.sentence(check.remedy))


def _places(context: Context) -> None:
    st.header("Places", anchor=False)
    settings = context.settings
    rows = [
        ("State (GANBOARD_HOME)", str(settings.state)),
        ("Machine", machine.recorded(settings) or "no name yet: no worker has run here"),
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
    for one in queries.workers(context.engine):
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
