"""The presets: three as cards with pictures of their results, the others behind a button."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from pathlib import Path

import streamlit as st

from ganboard.app.launch import plan, settings_form
from ganboard.app.theme import style
from ganboard.db.runs.runtime_estimation import History
from ganboard.gan import presets
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.submission.submit import Machines

CARDS = ("starter", "mnist", "pictures")
PICTURES = Path(__file__).with_name("pictures")  # tests/scale/preset_pictures.py makes them
WIDTH = 104  # pixels of a picture
STYLE = """
[class*="st-key-preset_"] :is(p, [data-testid="stMarkdownContainer"],
  [data-testid="stCaptionContainer"]) { margin: 0; }
[class*="st-key-preset_"] [data-testid="stCaptionContainer"] p {
  display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden;
}
.st-key-preset_cards img { border-radius: .35rem; }
.st-key-preset_cards button { min-height: 1.9rem; padding: 0 .6rem; }
"""


def shown(chosen: str) -> tuple[str, ...]:
    """The presets that have cards: CARDS, of which a chosen preset that is none of them takes the
    last place."""
    return CARDS if chosen in CARDS else (*CARDS[:-1], chosen)


def draw(
    context: Context, here: Machines, history: History, chosen: str, choice: dict[str, str]
) -> None:
    """Cards; the button of a preset puts its name into `choice["preset"]`, `chosen` is marked."""
    style.apply(STYLE)
    with st.container(key="preset_cards"), st.grid(len(CARDS), min_column_width=280, gap="small"):
        for name in shown(chosen):
            with st.container(
                border=True, height="stretch", horizontal=True, gap="small", key=f"preset_{name}"
            ):
                if picture := _picture(name):
                    st.image(picture, width=WIDTH, alt=f"Images that a run of {name} generated")
                with st.container(gap="xxsmall"):
                    _preset(context, here, history, name, choice, chosen=name == chosen)


@cache
def _picture(name: str) -> str | None:
    """What a run of a preset generated, as a data address: Streamlit forgets a file of its own when
    the page is left, perhaps before the browser has asked for it."""
    file = PICTURES / f"{name}.webp"
    if not file.is_file():
        return None
    return f"data:image/webp;base64,{b64encode(file.read_bytes()).decode()}"


def more(
    context: Context, here: Machines, history: History, chosen: str, choice: dict[str, str]
) -> None:
    """A button that lists the other presets."""
    # another one after each choice, since a popover closes only by a click beside it
    key = f"more_presets_{st.session_state.get(settings_form.FILLED, 0)}"
    with st.popover("More presets", icon=":material/apps:", key=key):
        for name in presets.NAMES:
            if name not in shown(chosen):
                with st.container(gap="xxsmall", key=f"preset_{name}"):
                    _preset(context, here, history, name, choice, chosen=False)


def _preset(
    context: Context,
    here: Machines,
    history: History,
    name: str,
    choice: dict[str, str],
    *,
    chosen: bool,
) -> None:
    """Name, button, purpose and size of a preset."""
    purpose, command, expected = presets.description(name)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        badge = " :green-badge[:material/check: In use]" if chosen else ""
        st.markdown(f"**{name}**{badge}", width="stretch")
        st.button(
            "Reset" if chosen else f"Use {name}",
            key=f"use_{name}",
            on_click=choice.update,
            args=({"preset": name},),
            help=f"Load the settings of {name} again; your changes are lost."
            if chosen
            else f"Load the settings of {name} into the form.",
        )
    st.caption(
        formatting.escape(purpose),
        help=f"{formatting.escape(f'{purpose} {expected}')}  \n`{command}`",
    )
    st.caption(formatting.escape(_size(context, here, history, name)))


def _size(context: Context, here: Machines, history: History, name: str) -> str:
    """Data, batch, epochs and time of a preset here; or the sentence that says why it cannot
    run."""
    found = plan.make_plan(plan.preset_values(name), here, context.settings.data)
    if found.config is None or found.plan is None:
        return found.problem or ""
    config = found.config
    estimate = plan.estimate(config, here, history)
    images = found.plan.total_steps * config.batch_size
    takes = plan.span(estimate, config, images) if estimate else "no time estimate"
    epochs = formatting.plural(config.epochs, "epoch")
    return f"{config.dataset} · batch {config.batch_size} · {epochs} · {takes}"
