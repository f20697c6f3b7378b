"""The fields of a search: which settings vary within which ranges, what is optimized, and the
budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from ganboard.app.launch import settings_form, study_diff
from ganboard.app.launch.typed import number, whole
from ganboard.gan.config import ConfigError, config_class, model_of
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.settings.metadata import options
from ganboard.worker import formatting
from ganboard.worker.searches import definition, objective, space
from ganboard.worker.searches.definition import MAX_HOURS, MAX_PARALLEL, MAX_RUNS, Budget
from ganboard.worker.searches.objective import Objective
from ganboard.worker.searches.space import Axis, Space
from ganboard.worker.submission import sweep

FIELDS = "search_fields"
USUAL = ("g_learning_rate", "d_learning_rate", "beta_1")
SUGGESTED = {
    "g_learning_rate": "1e-5..1e-3",
    "d_learning_rate": "1e-5..1e-3",
    "beta_1": "0..0.9",
    "batch_size": "32, 64, 128",
    "ema": "0, 0.99, 0.999",
    "epsilon": "1e-8..1e-4",
}
RANGE_HELP = (
    "A range such as 1e-5..1e-3, or values separated by commas. Ranges over more than a factor of"
    " 10 are logarithmic; add :linear or :log to say otherwise."
)


def key(name: str) -> str:
    """The widget's key of a setting's range or values."""
    return f"search_values_{name}"


def asked_space(base: Mapping[str, Any]) -> Space:
    """The settings that vary. Raises ConfigError with a sentence for each mistake."""
    offered = [name for name in base if space.searchable(name)]
    names = st.multiselect(
        "Settings to search",
        offered,
        default=[name for name in USUAL if name in offered],
        format_func=settings_form.label,
        key=FIELDS,
        help="Settings of data and evaluation are the same in all runs, so that results compare.",
        persist_state="session",
    )
    with st.grid(min_column_width=240, gap="small", vertical_alignment="bottom"):
        given = {name: _values(name, base) for name in names}
    mistakes = settings_form.mistakes(base)
    found: list[Axis] = []
    for name, values in given.items():
        try:
            if isinstance(values, str):
                found.append(space.axis(name, values))
            else:
                found.append(space.of_choices(name, values))
        except ConfigError as error:
            mistakes.append(str(error))
    if mistakes:
        raise ConfigError(" ".join(mistakes))
    return tuple(found)


def asked_objective(base: Mapping[str, Any]) -> Objective:
    """What is optimized. Raises ConfigError."""
    model = model_of(base)
    metrics = objective.metrics(model)
    metric = st.selectbox(
        "Metric",
        metrics,
        format_func=lambda name: METRICS[name].label,
        key=f"search_metric_{model}",
        filter_mode=None,
        help="  \n".join(f"**{METRICS[name].label}**: {METRICS[name].meaning}" for name in metrics),
        persist_state="session",
    )
    kind = st.selectbox(
        "Objective",
        list(objective.KINDS),
        format_func=objective.KINDS.__getitem__,
        key="search_objective",
        filter_mode=None,
        help="The result of a run. Only finished runs have one.",
        persist_state="session",
    )
    target = None
    if kind == "seconds":
        typed = st.text_input(
            "Target",
            key="search_target",
            placeholder="such as 20",
            help="Runs that do not reach it count as worse than all that do.",
            persist_state="session",
        )
        target = number("Target", typed or "", -1e12, 1e12)
    return objective.checked(model, metric or metrics[0], kind, target)


def asked_method() -> tuple[str, str, int]:
    """Sampler, pruner and seed. Raises ConfigError."""
    sampler = st.selectbox(
        "Sampler",
        list(definition.SAMPLERS),
        format_func=definition.SAMPLERS.__getitem__,
        key="search_sampler",
        filter_mode=None,
        help=(
            f"How the next settings are chosen. TPE draws {definition.STARTUP} at random, then"
            " learns from the results (Bergstra et al. 2011)."
        ),
        persist_state="session",
    )
    pruner = st.selectbox(
        "Pruner",
        list(definition.PRUNERS),
        format_func=definition.PRUNERS.__getitem__,
        key="search_pruner",
        filter_mode=None,
        help=(
            "How poor runs are stopped early, by their evaluations so far. **Median**: worse than"
            " half of the finished runs at the same epoch. **Successive halving**: not among the"
            f" best third at epochs that grow by a factor of {definition.REDUCTION} (ASHA, Li et"
            " al. 2020)."
        ),
        persist_state="session",
    )
    seed = st.text_input(
        "Seed of the search",
        "0",
        key="search_seed",
        help="Equal seeds propose the same settings for the same results.",
        persist_state="session",
    )
    return sampler, pruner, whole("Seed of the search", seed or "", 0, 2**31 - 1)


def asked_budget(workers: int) -> Budget:
    """Runs, hours and runs at once. Raises ConfigError."""
    runs = st.text_input(
        "Runs",
        "20",
        key="search_runs",
        help="Number of runs in all, pruned ones included.",
        persist_state="session",
    )
    hours = st.text_input(
        "Hours of training",
        key="search_hours",
        placeholder="no limit",
        help="No run starts after so many hours of training in all.",
        persist_state="session",
    )
    parallel = st.text_input(
        "At once",
        str(max(1, workers)),
        key="search_parallel",
        help="Runs that wait or train at the same time; more than workers wait.",
        persist_state="session",
    )
    limit = number("Hours of training", hours, 0, MAX_HOURS) if hours else None
    return Budget(
        whole("Runs", runs or "", 1, MAX_RUNS),
        limit,
        whole("At once", parallel or "", 1, MAX_PARALLEL),
    )


def asked_name(base: Mapping[str, Any], preset: str) -> str:
    """What the names of its runs begin with, as typed."""
    return (
        st.text_input(
            "Name of the search",
            key="search_name",
            max_chars=sweep.TITLE_LENGTH,
            placeholder=sweep.check_title("", preset, base),
            help="Prefix of the names of its runs; the searched settings follow.",
            persist_state="session",
        )
        or ""
    )


def _values(name: str, base: Mapping[str, Any]) -> str | list[Any]:
    """A widget for the range or the values of one setting."""
    field, label = config_class(base).model_fields[name], settings_form.label(name)
    choices = options(name, field, base)
    allowed = f"Allowed: {settings_form.allowed(field, choices)}. Setting: {name}"
    about = f"{field.description}. {allowed}"
    common: dict[str, Any] = {"key": key(name), "persist_state": "session"}
    if field.annotation is bool:
        choices = (False, True)
    if choices:
        return st.multiselect(
            label,
            list(choices),
            default=list(choices),
            format_func=study_diff.format_value,
            help=formatting.escape(about),
            **common,
        )
    return (
        st.text_input(
            label,
            value=SUGGESTED.get(name, ""),
            max_chars=1000,
            placeholder="low..high, or values",
            help=formatting.escape(f"{about}. {RANGE_HELP}"),
            **common,
        )
        or ""
    )
