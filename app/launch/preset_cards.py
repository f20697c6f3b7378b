"""The presets as cards: what each is for, what it takes here, and a button to fill the form from
it."""

from __future__ import annotations

import streamlit as st

from ganboard.app.launch import plan
from ganboard.db.runs.runtime_estimation import History
from ganboard.gan import presets
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.submission.submit import Machines


def draw(
    context: Context, here: Machines, history: History, chosen: str, choice: dict[str, str]
) -> None:
    """A card for each preset; its button puts the name into `choice["preset"]`, `chosen` is
    marked."""
    with st.grid(len(presets.NAMES), min_column_width=240, gap="small"):
        for name in presets.NAMES:
            with st.container(border=True, height="stretch", key=f"preset_{name}"):
                _card(context, here, history, name, name == chosen, choice)


def _card(
    context: Context,
    here: Machines,
    history: History,
    name: str,
    chosen: bool,
    choice: dict[str, str],
) -> None:
    purpose, command, expected = presets.description(name)
    badge = " :green-badge[:material/check: In use]" if chosen else ""
    st.markdown(f"**{name}**{badge}")
    st.caption(formatting.escape(purpose))
    found = plan.make_plan(plan.preset_values(name), here, context.settings.data)
    if found.config is None or found.plan is None:
        st.caption(formatting.sentence(found.problem or ""))
    else:
        config = found.config
        estimate = plan.estimate(config, here, history)
        takes = (
            f"{plan.span(estimate, config, found.plan.total_steps * config.batch_size)} of training"
            if estimate
            else "no time estimate"
        )
        facts = (
            f"{config.dataset} · batch {config.batch_size} ·"
            f" {formatting.plural(config.epochs, 'epoch')} · {takes}"
        )
        how = (
            f"The time is {estimate.basis}."
            if estimate
            else "No similar run has been measured here yet."
        )
        st.caption(
            formatting.escape(facts),
            help=f"{formatting.escape(how)} {formatting.escape(expected)}  \n`{command}`",
        )
    again = chosen and "Load its settings into the form again; your changes are lost."
    st.button(
        f"Use {name}",
        key=f"use_{name}",
        on_click=choice.update,
        args=({"preset": name},),
        help=again or "Load its settings into the form.",
    )
