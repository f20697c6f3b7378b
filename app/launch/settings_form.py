"""A form for the settings of a model, generated from their fields: types give the widgets,
descriptions the help, limits the ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import annotated_types
import streamlit as st
from pydantic.fields import FieldInfo

from ganboard.app.launch import study_diff
from ganboard.gan.config import ConfigError, parse_value
from ganboard.gan.settings import metadata, registry
from ganboard.gan.settings.metadata import about, fields_by_group, has_effect, options
from ganboard.worker import formatting

SEARCH = "launch_search"
FILLED = "settings_filled"  # how often the form was filled
FILLING = "settings_filling"  # what it was filled with last
CLICKED = "settings_clicked"
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


def key(name: str) -> str:
    """The widget's key of a field.

    Another one after each filling: a click that the browser sends before it has seen the new values
    carries the old ones along, and would put them back. And one for each model where models
    declare a field of this name differently.
    """
    filled = st.session_state.get(FILLED, 0)
    if name == "model" or registry.same(fields()[name], registry.declared(name)[0]):
        return f"set_{name}_{filled}"
    return f"set_{model()}__{name}_{filled}"


def model() -> str:
    """The model that is chosen."""
    begins = st.session_state.get(FILLING, {}).get("model", registry.usual())
    return str(st.session_state.get(key("model"), begins))


def fields() -> Mapping[str, FieldInfo]:
    """The settings of the chosen model."""
    return registry.get(model()).config.model_fields


def _begins(name: str) -> Any:
    """What a field was filled with; the default for one that the model for which the form was
    filled has not, or has with another meaning."""
    filling = st.session_state[FILLING]
    if name == "model":
        return filling[name]
    mine = fields()[name]
    as_filled = registry.get(filling["model"]).config.model_fields.get(name)
    kept = as_filled is not None and registry.same(mine, as_filled)
    return filling[name] if kept else mine.default


def is_filled() -> bool:
    """Whether the form holds values already."""
    return FILLING in st.session_state


def fill(values: Mapping[str, Any]) -> None:
    """Put these settings into the widgets, and the defaults where `values` says nothing. Call it
    before `draw`."""
    held = f"_{st.session_state.get(FILLED, 0)}"
    for name in [name for name in st.session_state if _is_field(name, held)]:
        del st.session_state[name]
    st.session_state[FILLED] = st.session_state.get(FILLED, 0) + 1
    usual = metadata.defaults(values)
    st.session_state[FILLING] = {name: values.get(name, usual[name]) for name in usual}


def clicked() -> dict[str, Any]:
    """What buttons put into the form at its next drawing, by setting: changed in place, since a
    next click can cut a callback short."""
    values: dict[str, Any] = st.session_state.setdefault(CLICKED, {})
    return values


def _is_field(name: object, ending: str) -> bool:
    return isinstance(name, str) and name.startswith("set_") and name.endswith(ending)


def values() -> dict[str, Any]:
    """What the widgets hold now, unchecked; the default for those that are hidden, so that nobody
    is asked to fix a hidden setting."""
    held = _held()
    return {
        name: value if has_effect(name, held) else fields()[name].default
        for name, value in held.items()
    }


def _held() -> dict[str, Any]:
    state = st.session_state
    return {name: read(name, state.get(key(name), _begins(name))) for name in fields()}


def read(name: str, held: Any) -> Any:
    """The value of a setting that its widget holds; a text that is no such value stays a text.

    `gan.config.parse` refuses that text with its reason, so a run cannot start with another value.
    """
    if not isinstance(held, str):
        return held
    if not held.strip() and _is_optional(name):
        return None
    try:
        return parse_value(name, held)
    except ConfigError:
        return held


def mistakes(values: Mapping[str, Any]) -> list[str]:
    """A sentence for each setting that cannot have its value, whatever the others are."""
    found = []
    for name, value in values.items():
        try:
            parse_value(name, value)
        except ConfigError as error:
            found.append(str(error))
    return found


def written(value: Any) -> str:
    """The text of a number, from which `read` gets the same number."""
    return "" if value is None else str(value).removesuffix(".0")


def _is_optional(name: str) -> bool:
    return any(NoneType in get_args(field.annotation) for field in registry.declared(name))


def label(name: str) -> str:
    """What a setting is called on the screen."""
    unit = about(name).unit
    return metadata.label(name) + (f" ({unit})" if unit not in ("", name) else "")


def allowed(field: FieldInfo, options: Sequence[Any] = ()) -> str:
    """The values that a setting may have, in words; `options` are those of a choice."""
    kind = field.annotation
    if options := options or (get_args(kind) if get_origin(kind) is Literal else ()):
        return ", ".join(map(str, options))
    if kind is bool:
        return "on or off"
    if kind is str:
        return "text"
    text = {
        annotated_types.Ge: "at least",
        annotated_types.Gt: "more than",
        annotated_types.Le: "at most",
        annotated_types.Lt: "less than",
    }
    limits = [
        f"{text[type(limit)]} {astuple(limit)[0]:,.15g}"
        for limit in field.metadata
        if type(limit) in text
    ]
    return (
        f"a {'number' if kind is float else 'whole number'},"
        f" {' and '.join(limits)}{'' if kind in (int, float) else '; or all'}"
    )


def matches(name: str, search: str) -> bool:
    """Whether every word of `search` occurs in what is known of a setting."""
    described = " ".join(str(field.description) for field in registry.declared(name))
    known = f"{name} {label(name)} {described}".lower()
    return all(word in known for word in search.lower().split())


def draw(
    offered: Callable[[str, str], bool],
    notes: Mapping[str, str],
    base: Mapping[str, Any],
    base_name: str,
) -> None:
    """A search box and the widgets of all groups.

    `offered(field, option)` says whether an option of a choice can be had here, `notes` are
    sentences under a group, and settings that differ from `base`, which is called `base_name`, are
    counted in the headings.
    """
    search = st.text_input(
        "Search settings",
        key=SEARCH,
        type="search",
        icon=":material/search:",
        placeholder="Search settings, such as rate or memory",
        max_chars=80,
        label_visibility="collapsed",
        live=True,
    )
    if clicked():
        fill({**base, **_held(), **clicked()})
        clicked().clear()
    present = values()
    sought = {name for name in present if matches(name, search or "")}
    relevant = {name for name in sought if has_effect(name, present)}
    if search and not relevant:
        st.caption("No matching settings.")
    for group, members in fields_by_group(present).items():
        changed = [name for name in members if present[name] != base.get(name)]
        if not relevant & set(members):
            continue
        heading = f"{group} :gray[· {len(changed)} changed]" if changed else group
        opened = bool(search) or group in OPEN_GROUPS or bool(changed)
        # a browser opens an expander only when it is new
        state = "found" if search else "all"
        with st.expander(heading, expanded=opened, icon=ICONS[group], key=f"group_{group}_{state}"):
            with st.grid(min_column_width=210, gap="small", vertical_alignment="bottom"):
                for name, field in members.items():
                    if name in relevant:
                        _widget(name, field, options(name, field, present), offered)
            if notes.get(group):
                st.caption(notes[group])
            if changed:
                st.button(
                    f"Reset {group} to {formatting.escape(base_name)}",
                    key=f"reset_{group}",
                    type="tertiary",
                    icon=":material/restart_alt:",
                    on_click=clicked().update,
                    args=({name: base.get(name, members[name].default) for name in members},),
                )
    if search and (hidden := sought - relevant):
        names = ", ".join(sorted(map(label, hidden)))
        st.caption(formatting.escape(f"Hidden (no effect with the current settings): {names}."))


def _widget(
    name: str, field: FieldInfo, choices: Sequence[Any], offered: Callable[[str, str], bool]
) -> None:
    """One field, with what it can be chosen from.

    It begins with what `fill` was given: a value put into the session's state would reach the
    browser only with the first drawing, and never if the next click cuts that short.
    """
    usual = study_diff.format_value(field.default) or "empty"
    permitted = allowed(field, choices)
    help_text = f"{field.description}. Allowed: {permitted}; default: {usual}. Setting: {name}"
    common: dict[str, Any] = {
        "key": key(name),
        "help": formatting.escape(help_text),
        "persist_state": "session",
    }
    kind, text = field.annotation, label(name)
    begins = _begins(name)
    if choices:
        present = st.session_state.get(common["key"], begins)
        shown = [
            option for option in choices if option in (present, begins) or offered(name, option)
        ]
        st.selectbox(text, shown, index=shown.index(begins), filter_mode=None, **common)
    elif kind is bool:
        st.toggle(text, begins, **common)
    elif kind is str:
        st.text_input(text, begins, max_chars=300, **common)
    else:
        # st.number_input keeps what it cannot take from the server, which would go on with the
        # value before
        begins = written(begins)
        with st.container(gap="xxsmall"):
            empty = "all" if _is_optional(name) else None
            typed = st.text_input(text, begins, placeholder=empty, **common)
            _refuse(name, typed)


def _refuse(name: str, typed: str) -> None:
    """Mark a number that cannot be; the sentence stands beside the button."""
    if mistakes({name: read(name, typed)}):
        limits = formatting.escape(allowed(fields()[name]))
        st.markdown(f":small[:red[:material/error: {limits}]]")
