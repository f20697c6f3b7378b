"""What the launch form amounts to: whether it can run, how many steps it takes, how long that will
last and when it would begin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import streamlit as st

from ganboard.app import errors
from ganboard.app.launch import remarks
from ganboard.db.models import ACTIVE, WAITING, Run
from ganboard.db.runs import queries, runtime_estimation
from ganboard.db.runs.runtime_estimation import Estimate, History
from ganboard.gan import presets
from ganboard.gan.config import ConfigError, Plan, RunConfig, parse, plan
from ganboard.gan.costs import estimate as costs
from ganboard.gan.data import catalog
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.quality import choice, inception_weights
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.submission.submit import Machines

MEASURED_EVERY = 3.0  # seconds between looks whether costs are known
UNITS = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 0.001))


def limits(here: Machines) -> tuple[set[tuple[str, str]], str]:
    """The options of the Acceleration group that cannot be had here, and sentences that say why."""
    refused = {}
    choices = [
        (name, field)
        for name, field in RunConfig.model_fields.items()
        if RunConfig.about(name).group == "Acceleration" and get_origin(field.annotation) is Literal
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
        refusal = here.refusal(config)
        if not refusal and choice.needs_weights(config):
            refusal = _absent_weights(str(data_dir))
        if refusal:
            return LaunchPlan(config, None, refusal)
        return LaunchPlan(
            config,
            plan(config, _count(catalog.data_settings(config), str(data_dir))),
            None,
            _skipped(config, data_dir),
        )
    except (ConfigError, DatasetError) as error:
        return LaunchPlan(None, None, str(error))


@st.cache_data(ttl=60, max_entries=4, show_spinner=False)
def _absent_weights(data_dir: str) -> str:
    """Why InceptionV3 cannot be used; empty if it can. Asked once a minute, since it may ask the
    network."""
    try:
        inception_weights.check(Path(data_dir))
    except ConfigError as error:
        return str(error)
    return ""


@st.cache_data(ttl=10, max_entries=64, show_spinner=False)
def _count(data: dict[str, Any], data_dir: str) -> int:
    """Examples before `limit`; `data` are the settings that say which data."""
    return catalog.count(parse(data), Path(data_dir))


def _skipped(config: RunConfig, data_dir: Path) -> str:
    """Number of pictures with unreadable headers, which will be skipped; empty if none."""
    if not getattr(config, "skip_unreadable", False):
        return ""
    whole = _count({**catalog.data_settings(config), "skip_unreadable": False}, str(data_dir))
    left = whole - _count(catalog.data_settings(config), str(data_dir))
    return (
        f"{left:,} of {formatting.plural(whole, 'picture')} have unreadable headers and will be"
        " skipped. Damage behind a header is only detected when the run loads the data."
    )


def estimate(config: RunConfig, here: Machines, history: History) -> Estimate | None:
    """Runtime estimate of `config` on the first running machine that supports it; without one,
    where the latest run trained."""
    return history.estimate(config.model_dump(mode="json"), (here.able(config) or {}).get("host"))


def show(found: LaunchPlan, here: Machines, history: History) -> None:
    """The plan as metrics, or the reason why there is none."""
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
            span(expected, config, steps.total_steps * config.batch_size)
            if expected
            else "unknown",
            help=formatting.escape(_time_help(expected)),
        )
        st.metric(
            "Total steps",
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
            help="Images of the incomplete last batch; different ones each epoch",
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
    if machine:
        remarks.show(config, machine)


def span(expected: Estimate, config: RunConfig, images: int) -> str:
    """Training time for this number of images, at most max_minutes: one value, or a range if the
    estimate is uncertain."""
    low, likely, high = (
        min(rate * images, 60 * config.max_minutes or math.inf)
        for rate in (expected.low, expected.likely, expected.high)
    )
    return formatting.duration(likely) if expected.certain or low == high else between(low, high)


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
        return "Known after the first epoch: no similar run has been measured on this machine"
    beside = (
        f"about {formatting.duration(expected.beside)} for"
        if expected.beside is not None
        else "time for"
    )
    return (
        f"Estimated {expected.basis}. In addition, {beside} starting, compiling, evaluation and"
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
            "Images that one replica processes at once: the batch divided by replicas and by"
            " accumulate"
        ),
    )
    known, problem = costs.known(config), costs.problem(config)
    if not known and not problem:
        _measuring(config)
    taken = costs.estimate(config, examples, on_gpu=gpu) if known else None
    from_shapes = f"Estimated for {each} from the layer shapes; measured in the first steps"
    st.metric(
        "Memory",
        formatting.size(taken) if taken else "unknown" if problem else "measuring",
        help=formatting.escape(problem) if problem else from_shapes,
    )
    largest = (
        costs.largest_batch(config, costs.available(config, machine), examples, on_gpu=gpu)
        if machine and known
        else None
    )
    st.metric(
        "Largest batch",
        "unknown" if largest is None else formatting.integer(largest),
        help=(
            "By the same estimate, for the memory of the first machine that can run these"
            " settings, and no larger than the data set; requires a running worker"
        ),
    )


def queue(context: Context, here: Machines, history: History) -> str:
    """One sentence: what waits and trains now, and when a run that is launched now would begin."""
    going = queries.list_runs(context.engine, statuses=(*ACTIVE, *WAITING), archived=True)
    # in the order in which they were queued; scripts take no worker
    runs = [run for run in going if not run.external][::-1]
    data = context.settings.data
    training, waiting = (
        [left(run, here, history, data) for run in runs if run.status in states]
        for states in (ACTIVE, WAITING)
    )
    if not here.workers:
        return (
            f"{formatting.plural(len(waiting), 'run')} waiting for a worker; none is running."
            if waiting
            else "No worker is running."
        )
    ahead = f"{len(training)} in training, {len(waiting)} waiting"
    begin = runtime_estimation.begins(training, waiting, here.workers)
    if begin is None:
        return (
            f"{ahead}: the start time of a run launched now is unknown, since no similar run has"
            " been measured."
        )
    if begin == 0:
        return f"{ahead}: a run launched now starts immediately."
    return f"{ahead}: a run launched now would start in about {formatting.duration(begin)}."


def left(run: Run, here: Machines, history: History, data_dir: Path) -> float | None:
    """Estimated seconds until a run that trains or waits is done; None where nothing like it was
    measured."""
    found = make_plan(run.config, here, data_dir)
    if found.config is None or found.plan is None:
        return None
    measured = runtime_estimation.time_left(run)
    if measured is not None:
        return measured
    expected = estimate(found.config, here, history)
    return expected.seconds(found.plan.total_steps * found.config.batch_size) if expected else None


@st.fragment(run_every=MEASURED_EVERY)
def _measuring(config: RunConfig) -> None:
    """Draws the page again as soon as the networks of a model of one file are measured."""
    if costs.known(config):
        st.rerun()


def preset_values(name: str) -> dict[str, Any]:
    """All settings of a preset, defaults included."""
    return presets.load(name).model_dump(mode="json")
