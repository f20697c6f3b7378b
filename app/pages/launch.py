"""Set up a run, see what it amounts to, launch it. `?clone=ID` starts from the settings of a run."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import errors, launch_plan, settings_form, state, text
from db import queries
from gan import presets
from gan.config import RunConfig
from gan.data import catalog
from worker import submit
from worker.context import Context
from worker.errors import BadName

SOURCE = "launch_source"  # ("preset", name) or ("run", id): what the form was filled from
LAUNCHED = "launch_last"  # the run that the click before made: a double click draws the page with the button pressed twice in a row
PRESET = "launch_preset"
NAME = "launch_name"


def render() -> None:
    context = state.context()
    st.title("Launch a run", anchor=False)
    parent = _fill(context)
    here = launch_plan.machines(context)
    if not here.workers:
        st.warning(
            "No worker is alive: the run will wait in the queue until one is. `ganboard up` starts them with this page, "
            "`ganboard worker` starts one alone.",
            icon=":material/hourglass_empty:",
        )
    form, side = st.columns([3, 2], gap="large")
    with form:
        base_name, base = _source(parent)
        refused, reasons = launch_plan.limits(here)
        notes = {"Data": _data_notes(context), **({"Acceleration": reasons} if reasons else {})}
        settings_form.draw(lambda name, option: (name, option) not in refused, notes, base)
    with side, st.container(border=True):
        found = launch_plan.outlook(settings_form.values(), here, context.settings.data)
        _launch(context, found, parent)
        launch_plan.show(context, found, here)
        bases = {base_name: base, "paper": launch_plan.preset_values("paper")}
        launch_plan.differences(settings_form.values(), bases)


def _fill(context: Context) -> dict[str, Any] | None:
    """Fill the form when it is empty or the URL asks for another run's settings; returns that run's id, name, preset and settings."""
    clone = state.clone_param()
    if clone is None:
        if not settings_form.is_filled() or st.session_state.get(SOURCE, ("", ""))[0] != "preset":
            _use_preset(presets.NAMES[0])
        return None
    run = queries.get_run(context.engine, clone)
    if run is None:
        st.query_params.pop("clone")
        errors.tell(f"There is no run {clone}: it may have been deleted. The form starts from a preset instead.")
        _use_preset(presets.NAMES[0])
        return None
    known = {name: value for name, value in run.config.items() if name in RunConfig.model_fields}
    if st.session_state.get(SOURCE) != ("run", clone) or not settings_form.is_filled():
        settings_form.fill(known)
        st.session_state[SOURCE] = ("run", clone)
        st.session_state[NAME] = f"{run.name[: submit.NAME_LENGTH - 7]} (clone)"
    return {"id": run.id, "name": run.name, "preset": run.preset, "config": {**RunConfig().model_dump(mode="json"), **known}}


def _use_preset(name: str) -> None:
    settings_form.fill(launch_plan.preset_values(name))
    st.session_state[SOURCE] = ("preset", name)
    st.session_state[PRESET] = name
    st.session_state[NAME] = ""


def _preset_chosen() -> None:
    _use_preset(st.session_state[PRESET])


def _source(parent: dict[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """Say what the form starts from, and let it be another preset; returns its name and settings."""
    if parent is not None:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.text(f"Starts from the settings of “{text.shorten(parent['name'], 60)}” ({parent['id']})")
            if st.button("Use a preset instead", icon=":material/close:", type="tertiary"):
                state.open_launch()
        return f"“{text.shorten(parent['name'], 20)}”", parent["config"]
    st.segmented_control("Start from a preset", presets.NAMES, key=PRESET, required=True, on_change=_preset_chosen, persist_state="session")
    name = st.session_state[SOURCE][1]
    paragraphs = [" ".join(paragraph.split()) for paragraph in presets.about(name).split("\n\n")]
    st.caption(f"{text.escape(paragraphs[0])}  \n{text.escape(paragraphs[-1])}  \n`{paragraphs[1]}`")
    return name, launch_plan.preset_values(name)


def _data_notes(context: Context) -> str:
    """Why data sets are not here."""
    return "  \n".join(text.escape(reason) for reason in catalog.available(context.settings.data).values() if reason)


def _launch(context: Context, found: launch_plan.Outlook, parent: dict[str, Any] | None) -> None:
    """Name and button; on a click the run is stored and its page opened."""
    preset = parent["preset"] if parent else st.session_state[SOURCE][1]
    usual = submit.default_name(found.config, preset) if found.config else ""
    name = st.text_input("Name", key=NAME, max_chars=submit.NAME_LENGTH, placeholder=usual, live=True, persist_state="session")
    try:
        checked = submit.check_name(name) if name else None
    except BadName as error:
        checked, found = None, launch_plan.Outlook(found.config, found.plan, str(error))
        errors.tell(str(error))
    ready = found.config is not None and found.problem is None
    clicked = st.button("Launch", type="primary", icon=":material/rocket_launch:", width="stretch", disabled=not ready)
    if not clicked:
        st.session_state.pop(LAUNCHED, None)
    elif found.config is not None:
        if LAUNCHED not in st.session_state:
            run = submit.submit(context, found.config, name=checked, preset=preset, parent_id=parent["id"] if parent else None)
            st.session_state[LAUNCHED] = run.id
        state.open_run(st.session_state[LAUNCHED])


render()
