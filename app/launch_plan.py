"""What the launch form amounts to: whether it can run, how many steps it takes, how long that will last, and what is special about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pandas as pd
import streamlit as st

from app import errors, text
from db import queries
from gan import capabilities, costs, presets
from gan.config import ConfigError, Plan, RunConfig, diff, fields_by_group, parse, plan
from gan.data import catalog
from gan.data.dataset import DatasetError
from worker.context import Context

# stands for a machine that nobody has described yet: it rules out only what no machine can do in this version
ANY_MACHINE: dict[str, Any] = {"gpus": [{}] * 1024, "tpus": []}


@dataclass(frozen=True)
class Machines:
    """The machines of the live workers, as `gan.hardware.describe` reported them."""

    workers: int
    devices: list[dict[str, Any]]

    def refusal(self, config: RunConfig) -> str | None:
        """Why none of them can run `config`; None if one can."""
        lacks = [capabilities.check(config, device) for device in self.devices or [ANY_MACHINE]]
        return None if None in lacks else lacks[0]

    def able(self, config: RunConfig) -> dict[str, Any] | None:
        """The first of them that can run `config`."""
        return next((device for device in self.devices if capabilities.check(config, device) is None), None)


def machines(context: Context) -> Machines:
    alive = [state.worker for state in queries.workers(context.engine) if state.alive]
    return Machines(len(alive), [worker.devices for worker in alive if worker.devices])


def limits(here: Machines) -> tuple[set[tuple[str, str]], str]:
    """The options of the Acceleration group that cannot be had here, and sentences that say why."""
    refused = {}
    choices = [(name, field) for name, field in fields_by_group()["Acceleration"].items() if get_origin(field.annotation) is Literal]
    for name, field in choices:
        for option in get_args(field.annotation):
            replicas = 2 if option in ("mirrored", "multi_worker", "tpu") else 1
            if reason := here.refusal(parse({"replicas": replicas, name: option})):
                refused[name, option] = reason
    return set(refused), "  \n".join(text.escape(f"Off: {reason}") for reason in dict.fromkeys(refused.values()))


@dataclass(frozen=True)
class Outlook:
    """A configuration that can run, and what it amounts to; or the sentence that says why not."""

    config: RunConfig | None
    plan: Plan | None
    problem: str | None


def outlook(values: Mapping[str, Any], here: Machines, data_dir: Path) -> Outlook:
    try:
        config = parse(values)
        if refusal := here.refusal(config):
            return Outlook(config, None, refusal)
        return Outlook(config, plan(config, _count(config.dataset, config.images_path, str(data_dir))), None)
    except (ConfigError, DatasetError) as error:
        return Outlook(None, None, str(error))


@st.cache_data(ttl=10, max_entries=64, show_spinner=False)
def _count(dataset: str, images_path: str, data_dir: str) -> int:
    return catalog.count(parse({"dataset": dataset, "images_path": images_path}), Path(data_dir))


def show(context: Context, found: Outlook, here: Machines) -> None:
    """The plan as figures, or the sentence why there is none."""
    if found.problem is not None:
        errors.tell(found.problem)
    if found.config is None or found.plan is None:
        return
    config, steps = found.config, found.plan
    pace = queries.seconds_per_image(context.engine, config.model_dump(mode="json"))
    machine = here.able(config)
    with st.grid(2, gap="small"):
        st.metric(
            "Steps per epoch", text.integer(steps.steps_per_epoch), help=f"{steps.examples:,} images in batches of {config.batch_size:,}"
        )
        st.metric("Steps in all", text.integer(steps.total_steps))
        st.metric("Replicas", text.integer(config.replicas), help=f"Strategy: {config.effective_strategy}")
        st.metric("Batch per replica", text.integer(steps.per_replica_batch))
        st.metric("Dropped per epoch", text.integer(steps.dropped_per_epoch), help="Images of the incomplete last batch; others each epoch")
        st.metric(
            "Training time",
            text.duration(pace * steps.total_steps * config.batch_size) if pace else "unknown",
            help=f"{'Measured' if pace else 'Known after the first epoch'} on a run with the same networks, batch, precision, XLA and "
            "replicas; starting and compiling come on top",
        )
        _memory(config, steps.examples, machine)
    for remark in capabilities.remarks(config, machine) if machine else []:
        st.caption(text.escape(remark))


def _memory(config: RunConfig, examples: int, machine: dict[str, Any] | None) -> None:
    """Metrics of what has to fit into memory; `machine` is the first that can run `config`, None if there is none yet."""
    gpu = machine is not None and costs.on_gpu(config, machine)
    each = "each GPU" if gpu else "each process" if config.effective_strategy == "multi_worker" else "the trainer"
    st.metric(
        "Images at a time",
        text.integer(config.micro_batch),
        help="What one replica passes through the networks at once: the batch divided by replicas and by accumulate",
    )
    st.metric(
        "Memory",
        text.size(costs.estimate(config, examples, on_gpu=gpu)),
        help=f"Estimated for {each} from the shapes of the layers; the first steps measure it",
    )
    largest = costs.largest_batch(config, costs.available(config, machine), examples, on_gpu=gpu) if machine else None
    st.metric(
        "Largest batch",
        "unknown" if largest is None else text.integer(largest),
        help="By the same estimate, in the memory of the first machine that can run these settings; known while a worker is alive",
    )


def differences(values: Mapping[str, Any], bases: Mapping[str, Mapping[str, Any]]) -> None:
    """What sets the form apart from each of `bases`, one tab for each."""
    found = {name: diff(base, values) for name, base in bases.items()}
    tabs = st.tabs([f"vs {text.escape(text.shorten(name, 24))} ({len(changes)})" for name, changes in found.items()], key="differences")
    for tab, (name, changes) in zip(tabs, found.items(), strict=True):
        with tab:
            if not changes:
                st.caption("No differences.")
                continue
            rows = [(setting, _shown(before), _shown(after)) for setting, (before, after) in changes.items()]
            st.dataframe(pd.DataFrame(rows, columns=["Setting", text.shorten(name, 24), "This run"]), hide_index=True, row_height=32)


def preset_values(name: str) -> dict[str, Any]:
    """All settings of a preset, defaults included."""
    return presets.load(name).model_dump(mode="json")


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "all" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
