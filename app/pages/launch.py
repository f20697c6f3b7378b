"""Set up a run or a sweep, see what it amounts to, launch it.

`?preset=NAME` starts from a preset, `?clone=ID` from the settings of a run, and with
`&set=beta_1=0.5,ema=0.999` some of them changed; with `&step=N` that run is forked.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ganboard.app import auth, errors, navigation
from ganboard.app.launch import (
    cloned,
    forked,
    picture_sheet,
    plan,
    preset_cards,
    settings_form,
    study_diff,
    sweep_kinds,
)
from ganboard.app.launch.forked import Fork
from ganboard.app.run import devices
from ganboard.app.theme import style
from ganboard.db.runs import queries
from ganboard.db.runs.runtime_estimation import History
from ganboard.gan import presets
from ganboard.gan.data import catalog
from ganboard.gan.settings import metadata, registry
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.errors import BadName
from ganboard.worker.submission import forking, naming, submit

SOURCE = "launch_source"  # ("preset", name) or ("run", id): what the form was filled from
CHANGES = "launch_changes"  # of a run's settings, which the form was filled with
# {"run": id} after a click; changed in place, which no rerun can interrupt
LAUNCHED = "launch_last"
# {"preset": name} after a click on a card; changed in place, since a next click can cut a callback
# short
CHOSEN = "launch_chosen"
# the preset that the address named before that, and the clock's seconds: the browser sends it with
# each click until it has received the new address, and again when somebody goes back
STALE = "launch_stale_address"
NAME = "launch_name"
MODE = "launch_mode"
ONE, GRID = "One run", "Sweep"
QUEUE_EVERY = 5.0  # seconds between reads of the queue
SETTLED = 5.0  # seconds after a choice of preset until the browser has the new address


def render() -> None:
    context = navigation.context()
    style.apply(style.LAUNCH_PLAN)
    top = st.container(horizontal=True, vertical_alignment="center", gap="medium", key="launch_top")
    with top:
        st.title("Launch", anchor=False, width="content")
        mode = st.segmented_control(
            "What to launch",
            (ONE, GRID),
            key=MODE,
            default=ONE,
            required=True,
            label_visibility="collapsed",
            persist_state="session",
            disabled=navigation.step_param() is not None,  # a fork is one run
        )
    for problem in registry.refused().values():
        errors.report(f"A model is not offered. {problem}", "warning")
    parent = _fill(context)
    here, history = submit.machines(context), submit.run_history(context)
    if not here.workers:
        st.warning(
            "No worker is running. The run waits in the queue until one starts: use `ganboard up`"
            " for the dashboard with workers, or `ganboard worker` for one worker.",
            icon=":material/hourglass_empty:",
        )
    fork = forked.asked(context, parent)
    base_name, base = _source(context, here, history, parent, fork, top)
    mode = ONE if fork else mode
    preset, parent_id = (
        (parent["preset"], parent["id"]) if parent else (st.session_state[SOURCE][1], None)
    )
    grid = st.container()  # its place is above the form, whose widgets say what it starts from
    form, side = st.columns([3, 2], gap="large")
    with form:
        refused, reasons = plan.limits(here)
        notes = {"Data": _data_notes(context), "Acceleration": reasons}
        settings_form.draw(
            lambda name, option: (name, option) not in refused,
            notes,
            base,
            formatting.shorten(base_name, 20),
        )
    values = settings_form.values()
    with grid:
        if mode == GRID:
            queue = partial(_queue, context)
            sweep_kinds.draw(
                context, values, here, history, preset=preset, parent_id=parent_id, queue=queue
            )
    with side, st.container(border=True, key="launch_plan"):
        found = plan.make_plan(values, here, context.settings.data)
        if fork:
            found = fork.checked(found)
        if mode == GRID:
            st.caption("Settings of the form, which the sweep varies:")
        else:
            _launch(context, found, preset, parent_id, fork)
        plan.show(found, here, history)
        if found.config is not None:
            devices.lines(context.engine, found.config, preset or presets.NAMES[0])
            picture_sheet.show(found.config, context.settings.data)
        study_diff.tabs(
            values, {base_name: base, study_diff.STUDY: plan.preset_values(study_diff.STUDY)}
        )


def _fill(context: Context) -> dict[str, Any] | None:
    """Fill the form when it is empty or the URL asks for other settings; returns what is known of
    the run that it starts from."""
    clone = navigation.clone_param()
    if clone is None:
        _fill_from_preset()
        return None
    source = st.session_state.get(SOURCE)
    run = queries.get_run(context.engine, clone)
    if run is None:
        st.query_params.pop("clone")
        if source == ("run", clone) and settings_form.is_filled():
            errors.report(f"Run {clone} has been deleted; the form keeps its settings.", "warning")
            st.session_state[SOURCE] = ("preset", presets.NAMES[0])
        else:
            errors.report(
                f"There is no run {clone}; it may have been deleted. The form starts from a preset"
                " instead."
            )
            _use_preset(presets.NAMES[0])
        return None
    if why := registry.missing(run.config):
        st.query_params.pop("clone")
        errors.report(f"{why} The form starts from a preset instead.")
        _use_preset(presets.NAMES[0])
        return None
    known, unknown = cloned.known(run.config)
    if unknown:
        errors.report(
            f"This version does not support {', '.join(unknown)} of that run; the defaults are"
            " used.",
            "warning",
        )
    changes = navigation.changes_param()
    as_asked = source == ("run", clone) and st.session_state.get(CHANGES) == changes
    if not as_asked or not settings_form.is_filled():
        forks = navigation.step_param() is not None
        settings_form.fill(cloned.longer(run, known, forks) | cloned.changed(changes))
        st.session_state[SOURCE] = ("run", clone)
        st.session_state[CHANGES] = changes
        suffix = forking.FORKED if forks else submit.CLONED
        st.session_state[NAME] = run.name[: naming.NAME_LENGTH - len(suffix)] + suffix
    return {
        "id": run.id,
        "name": run.name,
        "preset": run.preset,
        "config": {**metadata.defaults(known), **known},
    }


def _fill_from_preset() -> None:
    asked = st.query_params.get("preset")
    asked = asked and presets.current(asked)
    if asked is not None and asked not in presets.NAMES:
        st.query_params.pop("preset")
        errors.report(
            f"There is no preset {asked[:40]!r}: choose one of {', '.join(presets.NAMES)}."
        )
        asked = None
    chosen = st.session_state.setdefault(CHOSEN, {})
    if "preset" in chosen:
        _use_preset(chosen["preset"])
        st.session_state[STALE] = asked, time.monotonic()
        st.query_params["preset"] = chosen["preset"]
        chosen.clear()  # when all of it is done
        return
    kind, name = st.session_state.get(SOURCE, ("", ""))
    fresh = kind != "preset" or not settings_form.is_filled()
    stale, since = st.session_state.get(STALE, (None, -SETTLED))
    late = asked == stale and time.monotonic() - since < SETTLED
    if fresh or (asked not in (None, name) and not late):
        _use_preset(asked or presets.NAMES[0])
    elif asked == name:
        st.session_state.pop(STALE, None)
    elif asked is not None:
        st.query_params["preset"] = name


def _use_preset(name: str) -> None:
    settings_form.fill(plan.preset_values(name))
    st.session_state[SOURCE] = ("preset", name)
    st.session_state[NAME] = ""


def _source(
    context: Context,
    here: submit.Machines,
    history: History,
    parent: dict[str, Any] | None,
    fork: Fork | None,
    top: DeltaGenerator,
) -> tuple[str, dict[str, Any]]:
    """Say what the form starts from, and let it be another preset, of which `top` lists more;
    returns its name and settings."""
    if parent is not None:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            settings = f"Starts from the settings of “{formatting.shorten(parent['name'], 60)}”"
            st.text(fork.source if fork else f"{settings} ({parent['id']})")
            if st.button("Use a preset instead", icon=":material/close:", type="tertiary"):
                navigation.open_launch()
        return f"“{formatting.shorten(parent['name'], 20)}”", parent["config"]
    name = st.session_state[SOURCE][1]
    choice = st.session_state.setdefault(CHOSEN, {})
    with top:
        preset_cards.more(context, here, history, name, choice)
    preset_cards.draw(context, here, history, name, choice)
    return name, plan.preset_values(name)


def _data_notes(context: Context) -> str:
    """Why the chosen data set is not here; empty if it is."""
    reasons = catalog.available(context.settings.data)
    return formatting.escape(reasons.get(settings_form.values()["dataset"]) or "")


@st.fragment(run_every=QUEUE_EVERY)
def _queue(context: Context) -> None:
    """What waits now, and when a run that is launched now would begin."""
    here, history = submit.machines(context), submit.run_history(context)
    st.caption(formatting.escape(plan.queue(context, here, history)))


def _launch(
    context: Context, found: plan.LaunchPlan, preset: str, parent_id: str | None, fork: Fork | None
) -> None:
    """Name and button; on a click the run is stored and its page opened."""
    usual = naming.default_name(found.config, preset) if found.config else ""
    name = st.text_input(
        "Name",
        key=NAME,
        max_chars=naming.NAME_LENGTH,
        placeholder=usual,
        live=True,
        persist_state="session",
    )
    try:
        checked = naming.check_name(name) if name else None
    except BadName as error:
        checked, found = None, plan.LaunchPlan(found.config, found.plan, str(error))
        errors.report(str(error))
    ready = found.config is not None and found.problem is None
    launched: dict[str, str] = st.session_state.setdefault(LAUNCHED, {})
    with st.container(key="launch_bar"):
        clicked = st.button(
            "Launch",
            type="primary",
            icon=":material/rocket_launch:",
            width="stretch",
            **auth.writer(found.problem, disabled=not ready),
        )
    _queue(context)
    if not clicked:
        launched.clear()
    elif found.config is not None and ready:  # a click reaches a button that is off by now
        # a double click draws the page with the button pressed twice in a row
        if "run" not in launched:
            run = (
                fork.launch(found.config, checked)
                if fork
                else submit.submit(
                    context, found.config, name=checked, preset=preset, parent_id=parent_id
                )
            )
            launched["run"] = run.id
        navigation.open_run(launched["run"])


render()
