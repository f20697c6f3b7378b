"""What the launch form amounts to: whether it can run, how many steps it takes, how long that will
last and when it would begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import streamlit as st

from ganboard.app import errors
from ganboard.db.models import ACTIVE, WAITING, Run
from ganboard.db.runs import queries, runtime_estimation
from ganboard.db.runs.runtime_estimation import Estimate, History
from ganboard.gan import presets
from ganboard.gan.config import ConfigError, Plan, RunConfig, fields_by_group, parse, plan
from ganboard.gan.costs import estimate as costs
from ganboard.gan.data import catalog
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.devices import capabilities
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.submission.submit import Machines

UNITS = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 0.001))


def limits(here: Machines) -> tuple[set[tuple[str, str]], str]:
    """The options of the Acceleration group that cannot be had here, and sentences that say why."""
    refused = {}
    choices = [
        (name, field)
        for name, field in fields_by_group()["Acceleration"].items()
        if get_origin(field.annotation) is Literal
    ]
    for name, field in choices:
        for option in get_args(field.annotation):
            replicas = 2 if option in ("mirrored", "multi_worker", "tpu") else 1
            if reason := here.refusal(parse({"replicas": replicas, name: option})):
                refused[name, option] = reason
    return set(refused), "  \n".join(
        formatting.escape(f"Off: {reason}") for reason in dict.fromkeys(refused.values())
    )


@dataclass(frozen=True)
class LaunchPlan:
    """A configuration that can run, and what it amounts to; or the sentence that says why not."""

    config: RunConfig | None
    plan: Plan | None
    problem: str | None
    skipped: str = ""  # what is left out of the data


def make_plan(values: Mapping[str, Any], here: Machines, data_dir: Path) -> LaunchPlan:
    try:
        config = parse(values)
        if refusal := here.refusal(config):
            return LaunchPlan(config, None, refusal)
        return LaunchPlan(
            config,
            plan(config, _count(_data(config), str(data_dir))),
            None,
            _skipped(config, data_dir),
        )
    except (ConfigError, DatasetError) as error:
        return LaunchPlan(None, None, str(error))


def _data(config: RunConfig) -> dict[str, Any]:
    return config.model_dump(
        include={"model", "geometry", "dataset", "images_path", "skip_unreadable"}
    )


@st.cache_data(ttl=10, max_entries=64, show_spinner=False)
def _count(data: dict[str, Any], data_dir: str) -> int:
    """Examples before `limit`; `data` are the settings that say which data."""
    return catalog.count(parse(data), Path(data_dir))


def _skipped(config: RunConfig, data_dir: Path) -> str:
    """How many pictures will be left out, as far as their headers tell; empty when nothing is
    skipped."""
    if not config.skip_unreadable:
        return ""
    whole = _count({**_data(config), "skip_unreadable": False}, str(data_dir))
    left = whole - _count(_data(config), str(data_dir))
    return (
        f"{left:,} of {formatting.plural(whole, 'picture')} cannot be read and will be left out, by"
        " their headers; damage behind a header shows when the run loads them."
    )


def estimate(config: RunConfig, here: Machines, history: History) -> Estimate | None:
    """The pace of `config` on the first live machine that can run it; without one, where the newest
    run trained."""
    return history.estimate(config.model_dump(mode="json"), (here.able(config) or {}).get("host"))


def show(found: LaunchPlan, here: Machines, history: History) -> None:
    """The plan as figures, or the sentence why there is none."""
    if found.problem is not None:
        errors.report(found.problem)
    if found.config is None or found.plan is None:
        return
    config, steps = found.config, found.plan
    expected = estimate(config, here, history)
    machine = here.able(config)
    with st.grid(2, gap="small"):
        st.metric(
            "Training time",
            span(expected, steps.total_steps * config.batch_size) if expected else "unknown",
            help=formatting.escape(_time_help(expected)),
        )
        st.metric(
            "Steps in all",
            formatting.integer(steps.total_steps),
            help=f"Updates of G: steps per epoch times {config.epochs:,} epochs",
        )
        st.metric(
            "Steps per epoch",
            formatting.integer(steps.steps_per_epoch),
            help=f"{steps.examples:,} images in batches of {config.batch_size:,}",
        )
        st.metric(
            "Dropped per epoch",
            formatting.integer(steps.dropped_per_epoch),
            help="Images of the incomplete last batch; others each epoch",
        )
        st.metric(
            "Replicas",
            formatting.integer(config.replicas),
            help=f"Strategy: {config.effective_strategy}",
        )
        st.metric(
            "Batch per replica",
            formatting.integer(steps.per_replica_batch),
            help="The global batch divided by the replicas",
        )
        _memory(config, steps.examples, machine)
    if expected:
        st.caption(formatting.escape(f"Time {expected.basis}."))
    if found.skipped:
        st.caption(formatting.escape(found.skipped))
    for remark in capabilities.remarks(config, machine) if machine else []:
        st.caption(formatting.escape(remark))


def span(expected: Estimate, images: int) -> str:
    """Time of training for so many images: one, or a range where the estimate is not certain."""
    return (
        formatting.duration(expected.likely * images)
        if expected.certain
        else between(expected.low * images, expected.high * images)
    )


def between(low: float, high: float) -> str:
    """Two times in the unit of the larger: (1230, 1606) -> "20 to 27 min", (4.4, 9.8) -> "4.4 to
    9.8 s"."""
    unit, size = next(((unit, size) for unit, size in UNITS if high >= 2 * size), UNITS[-1])
    return (
        " to ".join(
            f"{seconds / size:.{0 if seconds >= 9.95 * size else 1}f}" for seconds in (low, high)
        )
        + f" {unit}"
    )


def _time_help(expected: Estimate | None) -> str:
    if expected is None:
        return (
            "Known after the first epoch: no measured run on this machine is similar enough to"
            " judge by"
        )
    beside = (
        f"about {formatting.duration(expected.beside)} for"
        if expected.beside is not None
        else "time for"
    )
    return (
        f"Estimated {expected.basis}. On top comes {beside} starting, compiling, evaluation and"
        " saving."
    )


def _memory(config: RunConfig, examples: int, machine: dict[str, Any] | None) -> None:
    """Metrics of what has to fit into memory; `machine` is the first that can run `config`, None if
    there is none yet."""
    gpu = machine is not None and costs.on_gpu(config, machine)
    each = (
        "each GPU"
        if gpu
        else "each process"
        if config.effective_strategy == "multi_worker"
        else "the trainer"
    )
    st.metric(
        "Images at a time",
        formatting.integer(config.micro_batch),
        help=(
            "What one replica passes through the networks at once: the batch divided by replicas"
            " and by accumulate"
        ),
    )
    st.metric(
        "Memory",
        formatting.size(costs.estimate(config, examples, on_gpu=gpu)),
        help=f"Estimated for {each} from the shapes of the layers; the first steps measure it",
    )
    largest = (
        costs.largest_batch(config, costs.available(config, machine), examples, on_gpu=gpu)
        if machine
        else None
    )
    st.metric(
        "Largest batch",
        "unknown" if largest is None else formatting.integer(largest),
        help=(
            "By the same estimate, in the memory of the first machine that can run these settings,"
            " and no larger than the data; known while a worker is alive"
        ),
    )


def queue(context: Context, here: Machines, history: History) -> str:
    """One sentence: what waits and trains now, and when a run that is launched now would begin."""
    # in the order in which they were queued
    runs = queries.list_runs(context.engine, statuses=(*ACTIVE, *WAITING), archived=True)[::-1]
    data = context.settings.data
    training, waiting = (
        [left(run, here, history, data) for run in runs if run.status in states]
        for states in (ACTIVE, WAITING)
    )
    if not here.workers:
        return (
            f"{formatting.plural(len(waiting), 'run')} waiting for a worker; none is alive."
            if waiting
            else "No worker is running."
        )
    ahead = f"{len(training)} in training, {len(waiting)} waiting"
    begin = runtime_estimation.begins(training, waiting, here.workers)
    if begin is None:
        return (
            f"{ahead}: when a run launched now would begin is not known yet, since nothing like"
            " them was measured."
        )
    if begin == 0:
        return f"{ahead}: a run launched now begins at once."
    return f"{ahead}: a run launched now would begin in about {formatting.duration(begin)}."


def left(run: Run, here: Machines, history: History, data_dir: Path) -> float | None:
    """Estimated seconds until a run that trains or waits is done; None where nothing like it was
    measured."""
    found = make_plan(run.config, here, data_dir)
    if found.config is None or found.plan is None:
        return None
    if run.steps_per_epoch and run.images_per_second:
        return runtime_estimation.seconds_left(
            runtime_estimation.images_left(run), run.images_per_second
        )
    expected = estimate(found.config, here, history)
    return (
        expected.likely * found.plan.total_steps * found.config.batch_size
        + (expected.beside or 0.0)
        if expected
        else None
    )


def preset_values(name: str) -> dict[str, Any]:
    """All settings of a preset, defaults included."""
    return presets.load(name).model_dump(mode="json")
