"""What quality costs: all evaluated runs as dots, the front, and the cheapest configuration that
reaches a target."""

from __future__ import annotations

import streamlit as st

from ganboard.app import errors, navigation
from ganboard.app.frontier import controls, points, view
from ganboard.app.frontier.controls import Options
from ganboard.app.runs import listing, saved_views
from ganboard.app.theme import style
from ganboard.worker.context import Context

SECONDS = 5.0  # between two looks for new evaluations


def render() -> None:
    context = navigation.context()
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        st.title("Quality per second", anchor=False, width="content")
        saved_views.show("frontier")
    waiting = st.skeleton(height=style.CHART)
    known = points.read(context)
    if not known.groups:
        waiting.empty()
        _nothing_yet()
        st.fragment(_wait, run_every=SECONDS)(context)
        return
    options = controls.show(known)
    offered = _offered(known)
    live = listing.read(context).training
    st.fragment(_tick, run_every=SECONDS if live else None)(context, options, offered, live)
    waiting.empty()


def _offered(known: points.Evaluated) -> list[tuple[str, str]]:
    """What there is to choose from."""
    return [(data, evaluation) for data, own in known.groups.items() for evaluation in own]


def _tick(
    context: Context, options: Options, offered: list[tuple[str, str]], was_live: bool
) -> None:
    with errors.sentences():
        known = points.read(context)
        live = listing.read(context).training
        if live != was_live or _offered(known) != offered:
            st.rerun()  # the controls are outside the part that updates
        view.draw(context, known, options)


def _nothing_yet() -> None:
    with st.container(border=True):
        st.subheader("No run has been evaluated yet", anchor=False)
        st.markdown(
            "Each evaluated run becomes a dot here: what its training cost and how good its images"
            " were. A run is evaluated while it trains if **quality_every** is set; the preset"
            " **mnist** does so every 5 epochs. Runs"
            " without it can be evaluated from their checkpoints: select them under Runs, then"
            " Evaluate."
        )
        with st.container(horizontal=True, gap="medium"):
            st.page_link(
                navigation.LAUNCH_PAGE,
                label="Launch a run with evaluations",
                icon=":material/rocket_launch:",
                query_params={"preset": "mnist"},
            )
            st.page_link(navigation.RUNS_PAGE, label="All runs", icon=":material/list:")


def _wait(context: Context) -> None:
    with errors.sentences():
        if points.read(context).groups:
            st.rerun()


render()
