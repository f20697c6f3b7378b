"""A form for RunConfig, generated from its fields: types give the widgets, descriptions the help, limits the ranges."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args, get_origin

import annotated_types
import streamlit as st
from pydantic.fields import FieldInfo

from app import text
from gan.config import RunConfig, fields_by_group, unit

OPEN_GROUPS = ("Data", "Training", "Acceleration")  # the others wait in closed expanders
ICONS = {
    "Data": ":material/dataset:",
    "Model": ":material/account_tree:",
    "Training": ":material/model_training:",
    "Optimizer": ":material/tune:",
    "Schedule": ":material/show_chart:",
    "Acceleration": ":material/speed:",
    "Quality": ":material/grade:",
    "Safety": ":material/health_and_safety:",
    "Output": ":material/photo_library:",
}
WORDS = {
    "xla": "XLA",
    "ema": "EMA of G",
    "r1": "R1 penalty",
    "rho": "RMSprop's rho",
    "g_learning_rate": "G learning rate",
    "d_learning_rate": "D learning rate",
    "d_steps": "D steps",
    "beta_1": "Beta 1",
    "warmup_epochs": "Warm-up",
    "lr_scaling": "Rate scaling",
    "lr_base_batch": "Base batch",
    "on_non_finite": "When not finite",
    "stall_seconds": "Stalled after",
}
# settings that mean something only beside others; without those they are hidden and count as their default
RELEVANT: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "images_path": lambda v: v["dataset"] == "images",
    "gradient_penalty": lambda v: v["loss"] == "wgan_gp",
    "label_smoothing": lambda v: v["loss"] in ("non_saturating", "saturating"),
    "beta_1": lambda v: v["optimizer"] in ("adam", "sgd"),
    "beta_2": lambda v: v["optimizer"] == "adam",
    "rho": lambda v: v["optimizer"] == "rmsprop",
    "epsilon": lambda v: v["optimizer"] in ("adam", "rmsprop"),
    "schedule_for": lambda v: v["schedule"] != "constant",
    "schedule_period": lambda v: v["schedule"] != "constant",
    "schedule_minimum": lambda v: v["schedule"] == "cyclic",
    "schedule_depth": lambda v: v["schedule"] != "constant",
    "lr_base_batch": lambda v: v["lr_scaling"] != "none",
    "quality_images": lambda v: v["quality_every"] != 0,
}


def key(name: str) -> str:
    """The widget's key of a field."""
    return f"set_{name}"


def is_filled() -> bool:
    """Whether the form holds values already."""
    return all(key(name) in st.session_state for name in RunConfig.model_fields)


def fill(values: Mapping[str, Any]) -> None:
    """Put these settings into the widgets, and the defaults where `values` says nothing. Call it before `draw`, or in a callback."""
    for name, field in RunConfig.model_fields.items():
        st.session_state[key(name)] = values.get(name, field.default)


def values() -> dict[str, Any]:
    """What the widgets hold now, unchecked; the default for those that are hidden, so that nobody is told to mend what is not there."""
    held = {name: st.session_state[key(name)] for name in RunConfig.model_fields}
    return {name: value if _shown(name, held) else RunConfig.model_fields[name].default for name, value in held.items()}


def _shown(name: str, held: Mapping[str, Any]) -> bool:
    return name not in RELEVANT or RELEVANT[name](held)


def draw(offered: Callable[[str, str], bool], notes: Mapping[str, str], base: Mapping[str, Any]) -> None:
    """The widgets of all groups.

    `offered(field, option)` says whether an option of a choice can be had here, `notes` are sentences under a group, and settings
    that differ from `base` are counted in the headings.
    """
    present = values()
    for group, fields in fields_by_group().items():
        changed = sum(present[name] != base.get(name) for name in fields)
        label = f"{group} :gray[· {changed} changed]" if changed else group
        with st.expander(label, expanded=group in OPEN_GROUPS or bool(changed), icon=ICONS[group], key=f"group_{group}"):
            with st.grid(min_column_width=210, gap="small", vertical_alignment="bottom"):
                for name, field in fields.items():
                    if _shown(name, present):
                        _widget(name, field, offered)
            if group in notes:
                st.caption(notes[group])


def _widget(name: str, field: FieldInfo, offered: Callable[[str, str], bool]) -> None:
    """One field; its value comes from the session's state, where `fill` put it."""
    label = WORDS.get(name, name.replace("_", " ").capitalize())
    label += f" ({unit(field)})" if unit(field) not in ("", name) else ""
    common: dict[str, Any] = {"key": key(name), "help": text.escape(f"{field.description}. Setting: {name}"), "persist_state": "session"}
    kind = field.annotation
    if get_origin(kind) is Literal:
        present = st.session_state[common["key"]]
        options = [option for option in get_args(kind) if option == present or offered(name, option)]
        st.selectbox(label, options, filter_mode=None, **common)
    elif kind is bool:
        st.toggle(label, **common)
    elif kind is str:
        st.text_input(label, max_chars=300, **common)
    elif kind is float:
        st.number_input(label, format="%g", step=_step(field), **common)
    else:
        low, high = _limits(field)
        st.number_input(label, min_value=low, max_value=high, step=1, placeholder="all", **common)


def _step(field: FieldInfo) -> float:
    """A tenth of the default's order of magnitude: 1e-4 moves by 1e-5, 0.9 by 0.01; from zero 0.01 where 1 is the limit, else 1."""
    if field.default:
        return float(10.0 ** (math.floor(math.log10(field.default)) - 1))
    below_one = any(isinstance(limit, annotated_types.Lt) and float(str(limit.lt)) <= 1 for limit in field.metadata)
    return 0.01 if below_one else 1.0


def _limits(field: FieldInfo) -> tuple[int | None, int | None]:
    low = next((int(str(limit.ge)) for limit in field.metadata if isinstance(limit, annotated_types.Ge)), None)
    high = next((int(str(limit.le)) for limit in field.metadata if isinstance(limit, annotated_types.Le)), None)
    return low, high
