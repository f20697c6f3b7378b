"""The loss surface below a run's live path: requested here, computed by the analysis worker, with
the paths of other runs if wanted."""

from __future__ import annotations

from typing import Any

import streamlit as st

from ganboard.app import auth, errors, request_progress
from ganboard.app.widgets.live_plotly import live_plotly
from ganboard.db import requests
from ganboard.db.models import Request, Run
from ganboard.db.runs import queries
from ganboard.gan.landscape import geometry
from ganboard.gan.landscape.geometry import SurfaceRequest
from ganboard.worker import formatting
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.figures import surface as figures
from ganboard.worker.requests import surfaces

TICK_SECONDS = 1.0
PLANES = {"principal": "Principal", "random": "Random"}
SIZES = {11: "Coarse", 21: "Usual", 31: "Fine"}
CANDIDATES = 100  # newest runs, of which some may share the surface
REFUSED = "surface_refused"
ABOUT = (
    "The loss in a plane in weight space through the end of this run, for fixed examples, noise"
    " and dropout; while one network varies, the other keeps its final weights. Principal: the"
    " plane in which the paths vary most. Random: two filter-normalized directions (Li et al."
    " 2018). Points of a path show their own loss, which differs from the surface where they lie"
    " outside the plane."
)


def show(context: Context, run: Run, dimensions: int) -> None:
    """Controls, then progress, a message, or the surface."""
    st.subheader("Loss surface", anchor=False)
    if why := surfaces.missing(run):
        st.caption(formatting.escape(why))
        return
    others = {
        one.id: one
        for one in queries.list_runs(context.engine, limit=CANDIDATES)
        if one.id != run.id and not surfaces.differing(run, one)
    }
    with st.container(horizontal=True, vertical_alignment="bottom"):
        plane = st.segmented_control(
            "Plane",
            list(PLANES),
            format_func=PLANES.__getitem__,
            default="principal",
            required=True,
            key="surface_plane",
        )
        size = st.segmented_control(
            "Grid",
            list(SIZES),
            format_func=SIZES.__getitem__,
            default=21,
            required=True,
            key="surface_size",
        )
        chosen = st.multiselect(
            "Include the paths of",
            list(others),
            format_func=lambda one: (
                f"{formatting.shorten(others[one].name, 30)} ({one})" if one in others else one
            ),
            key="surface_others",
            max_selections=requests.MAX_RUNS - 1,
            placeholder="no other run",
            width=420,
        )
    asked = SurfaceRequest(plane=plane or "principal", size=size or 21)
    waits = _pending(_newest(context, run, chosen, asked))
    st.fragment(_answer, run_every=TICK_SECONDS if waits else None)(
        context, run, chosen, asked, dimensions, waits
    )


def _newest(context: Context, run: Run, others: list[str], asked: SurfaceRequest) -> Request | None:
    ids = [run.id, *others]
    found = requests.of_runs(context.engine, requests.SURFACE, ids, asked.model_dump())
    return found[0] if found else None


def _pending(found: Request | None) -> bool:
    return found is not None and found.answered_at is None


def _answer(
    context: Context,
    run: Run,
    others: list[str],
    asked: SurfaceRequest,
    dimensions: int,
    waited: bool,
) -> None:
    with errors.sentences():
        found = _newest(context, run, others, asked)
        if _pending(found) != waited:
            st.rerun()  # looking every second begins or ends
        if refused := st.session_state.pop(REFUSED, None):
            errors.report(refused)
        if _pending(found):
            assert found is not None
            request_progress.progress(
                context, found, "Waiting for the runs to end or for the analysis worker."
            )
            return
        label = "Compute the surface" if found is None else "Compute again"
        if found is not None and found.error:
            st.warning(formatting.escape(found.error), icon=":material/error:")
        st.button(
            label,
            icon=":material/landscape:",
            key="surface_ask",
            on_click=_ask,
            args=(context, run, others, asked),
            **auth.writer(),
        )
        if found is None:
            st.caption(formatting.escape(ABOUT))
        elif found.result is not None:
            _metrics(context, found, dimensions)


def _ask(context: Context, run: Run, others: list[str], asked: SurfaceRequest) -> None:
    try:
        found = [queries.find_run(context.engine, other) for other in others]
        surfaces.ask(context.engine, [run, *found], asked)
    except CLEAR_ERRORS as error:
        st.session_state[REFUSED] = str(error)


def _metrics(context: Context, found: Request, dimensions: int) -> None:
    arrays = _arrays(found.id, found)
    known = {one.id: one for one in queries.get_runs(context.engine, [found.run_id, *found.others])}
    ids = [found.run_id, *found.others]
    names = [formatting.shorten(known[one].name, 40) if one in known else one for one in ids]
    numbers = [known[one].number if one in known else place for place, one in enumerate(ids)]
    plane = found.options["plane"]
    for column, (net, word) in zip(
        st.columns(2), (("g", "Generator"), ("d", "Discriminator")), strict=True
    ):
        with column:
            st.markdown(
                f"**{word}**",
                help=(
                    f"The plane explains {found.facts['shares'][net]:.1%} of the variance of the"
                    " paths."
                ),
            )
            plot = figures.landscape(
                arrays, net=net, plane=plane, names=names, numbers=numbers, dimensions=dimensions
            )
            live_plotly(plot, key=f"surface-{net}-{dimensions}-{found.id}")
    live_plotly(figures.radius(arrays, names=names, numbers=numbers), key=f"radius-{found.id}")
    shares = found.facts["shares"]
    st.caption(
        formatting.escape(
            f"The plane explains {shares['g']:.1%} of the variance of G's path and"
            f" {shares['d']:.1%} of D's; {found.facts['images']} images, computed in"
            f" {formatting.duration(found.facts['seconds'])}. The radius is the distance from the"
            f" last point over all weights. {ABOUT}"
        )
    )


@st.cache_resource(max_entries=16, show_spinner=False)
def _arrays(surface_id: str, _found: Request) -> dict[str, Any]:
    assert _found.result is not None
    return geometry.unpack(_found.result)
