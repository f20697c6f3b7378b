"""The fields of a sweep: which settings vary, over which values, and how often all is repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from ganboard.app.launch import settings_form, study_diff
from ganboard.app.launch.typed import whole
from ganboard.gan import presets
from ganboard.gan.config import ConfigError, config_class
from ganboard.gan.settings.metadata import options
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.submission import sweep

FIELDS = "grid_fields"
SEEDS = "grid_seeds"
NAME = "grid_name"
EVALUATE = "grid_evaluate"
EVERY = "quality_every"
USUAL = ("batch_size", "precision")  # what a sweep varies by default
SUGGESTED = {
    "batch_size": "32, 64, 128, 256",
    "precision": ["float32", "mixed_bfloat16"],
    "replicas": "1, 2",
}


def key(name: str) -> str:
    """The widget's key of a setting's values."""
    return f"grid_values_{name}"


def asked(base: Mapping[str, Any], preset: str) -> tuple[str, dict[str, Sequence[Any]], int]:
    """What the names begin with, the settings that vary, and how often all is repeated.

    Raises ConfigError (a sentence for each mistake) and BadName.
    """
    names = st.multiselect(
        "Settings to vary",
        list(base),
        default=list(USUAL),
        format_func=settings_form.label,
        key=FIELDS,
        help="Any setting in the form. The last one varies fastest.",
        persist_state="session",
    )
    with st.grid(min_column_width=240, gap="small", vertical_alignment="bottom"):
        given = {name: _values(name, base) for name in names}
        repetitions = st.text_input(
            "Repetitions",
            "1",
            key=SEEDS,
            help=(
                "Repetitions per combination, with consecutive seeds: shows the variation between"
                " seeds."
            ),
            persist_state="session",
        )
        typed = st.text_input(
            "Name of the sweep",
            key=NAME,
            max_chars=sweep.TITLE_LENGTH,
            placeholder=sweep.check_title("", preset, base),
            help="Prefix of the names of its runs; the varied settings follow.",
            persist_state="session",
        )
    varied: dict[str, Sequence[Any]] = {}
    mistakes = settings_form.mistakes(base)
    for name, values in given.items():
        try:
            varied[name] = (
                sweep.values(name, values) if isinstance(values, str) else sweep.typed(name, values)
            )
        except ConfigError as error:
            mistakes.append(str(error))
    if mistakes:
        raise ConfigError(" ".join(mistakes))
    seeds = whole("Repetitions", repetitions or "", 1, sweep.LIMIT)
    if not varied and seeds == 1:
        raise ConfigError("Nothing to vary: choose a setting above, or more than one repetition.")
    return sweep.check_title(typed, preset, base), varied, seeds


def evaluation(
    context: Context, base: Mapping[str, Any], varied: Mapping[str, Sequence[Any]], preset: str
) -> sweep.Evaluation:
    """How the runs are evaluated: as the form says where it does, else after the last epoch unless
    the person or the preset says never."""
    if base.get(EVERY) or EVERY in varied:
        return sweep.as_set(base, varied)
    wanted = st.toggle(
        "Evaluate after the last epoch",
        EVERY not in presets.values(preset) if preset else True,
        key=EVALUATE,
        help=(
            "So that the sweep says which run is best. Setting: quality_every, which the form can"
            " also set to evaluate more often."
        ),
        persist_state="session",
    )
    return sweep.by_default(context, base, varied) if wanted else sweep.as_set(base, varied)


def _values(name: str, base: Mapping[str, Any]) -> str | list[Any]:
    """A widget for the values of one setting, which begins with that of the form."""
    field, label = config_class(base).model_fields[name], settings_form.label(name)
    choices = options(name, field, base)
    about = formatting.escape(
        f"{field.description}. Allowed: {settings_form.allowed(field, choices)}. Setting: {name}"
    )
    common: dict[str, Any] = {"key": key(name), "help": about, "persist_state": "session"}
    kind, suggested = field.annotation, SUGGESTED.get(name)
    if kind is bool:
        return st.multiselect(
            label,
            [False, True],
            default=[False, True],
            format_func=study_diff.format_value,
            **common,
        )
    if choices:
        return st.multiselect(label, list(choices), default=suggested or [base[name]], **common)
    first = suggested or study_diff.format_value(base[name])
    return (
        st.text_input(
            label, value=first, max_chars=1000, placeholder="values, separated by commas", **common
        )
        or ""
    )
