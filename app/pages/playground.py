"""The latent playground: draw with a stored generator, walk between two images, and look at the
training images nearest to them.

The address says everything: run, step of the checkpoint, seed, and which images are picked.
"""

from __future__ import annotations

import streamlit as st

from ganboard.app import auth, navigation
from ganboard.app.playground import picks, views
from ganboard.app.playground.views import Chosen
from ganboard.db import requests
from ganboard.db.models import ENDED, Checkpoint, Run
from ganboard.db.runs import queries
from ganboard.gan.config import DRAWN, foreign, model_of
from ganboard.worker import formatting
from ganboard.worker.context import Context

OFFERED = 200  # newest runs in the chooser


def page() -> None:
    context = navigation.context()
    st.title("Playground", anchor=False)
    asked = navigation.step_param()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        run = choose_run(context)
        if run is None:
            return
        checkpoint = choose_epoch(context, run)
        seed = picks.seed("seed", "Seed", on_change=picks.clear)
        psi = st.slider(
            "Truncation ψ",
            0.0,
            1.5,
            1.0,
            step=0.05,
            key="psi",
            bind="query-params",
            width=180,
            help=(
                "Multiplies the latents. Below 1 they lie nearer to the mean: cleaner, but more"
                " alike; above 1 the other way round."
            ),
        )
        conditions = _conditions(run)
    if asked not in (None, checkpoint.step):
        st.info(
            f"There is no checkpoint of step {asked:,}: the run keeps its"
            f" {run.config['keep_checkpoints']} newest. Here is the last one.",
            icon=":material/history:",
        )
    if reason := auth.read_only():  # a request costs the inference worker's time
        st.info(formatting.escape(reason), icon=":material/visibility:")
        return
    views.show(Chosen(context, run, checkpoint, seed, psi, conditions))


def _conditions(run: Run) -> dict[str, float]:
    """The particle of a 3DGAN's showers; the network of 25 cells knows no angle."""
    if model_of(run.config) != "gan3d":
        return {}
    energy = st.slider(
        "Energy, GeV",
        2,
        500,
        100,
        key="energy",
        bind="query-params",
        width=180,
        help="Of the particle of every shower.",
    )
    if run.config["geometry"] != "51x51x25":
        return {"energy": float(energy)}
    angle = st.slider(
        "Angle",
        60,
        120,
        90,
        key="angle",
        bind="query-params",
        format="%d°",
        width=180,
        help="At which it enters.",
    )
    return {"energy": float(energy), "angle": float(angle)}


def choose_run(context: Context) -> Run | None:
    """The run of the address, else the newest that has a checkpoint; None, and words about it, when
    there is none."""
    offered = {
        run.id: run for run in requests.drawable_runs(context.engine, limit=OFFERED) if _draws(run)
    }
    asked = navigation.run_param()
    named = queries.get_run(context.engine, asked) if asked else None
    if named is not None and _draws(named) and queries.checkpoints(context.engine, named.id):
        offered.setdefault(named.id, named)
    elif "run" in st.query_params or not offered:
        _nothing(named, offered)
        return None
    st.session_state["playground_run"] = chosen = named.id if named else next(iter(offered))
    st.query_params["run"] = chosen
    st.selectbox(
        "Run",
        list(offered),
        format_func=lambda run_id: f"{formatting.shorten(offered[run_id].name)} ({run_id})",
        key="playground_run",
        on_change=_go_to_run,
        width=320,
        help="Runs with a stored checkpoint, the newest first.",
    )
    return offered[chosen]


def _draws(run: Run) -> bool:
    return not foreign(run.config) and model_of(run.config) in DRAWN


def _go_to_run() -> None:
    st.query_params["run"] = st.session_state["playground_run"]
    st.query_params.pop("step", None)


def choose_epoch(context: Context, run: Run) -> Checkpoint:
    """The checkpoint of the address, else the newest."""
    stored = {
        one.step: one
        for one in sorted(
            queries.checkpoints(context.engine, run.id), key=lambda one: (one.step, one.attempt)
        )
    }
    asked = navigation.step_param()
    st.session_state["playground_step"] = chosen = asked if asked in stored else max(stored)
    # a training run goes on: what is on the screen must not change for it
    st.query_params["step"] = str(chosen)
    st.selectbox(
        "After epoch",
        sorted(stored, reverse=True),
        format_func=lambda step: _moment(run, stored[step]),
        key="playground_step",
        on_change=_go_to_step,
        width=200,
        help="Stored checkpoints; the setting keep_checkpoints says how many a run keeps.",
    )
    return stored[chosen]


def _go_to_step() -> None:
    st.query_params["step"] = str(st.session_state["playground_step"])


def _moment(run: Run, checkpoint: Checkpoint) -> str:
    """The epoch, and the step too when the checkpoint lies within one."""
    whole = run.steps_per_epoch is None or checkpoint.step == checkpoint.epoch * run.steps_per_epoch
    return f"{checkpoint.epoch}" if whole else f"{checkpoint.epoch}, at step {checkpoint.step:,}"


def _nothing(named: Run | None, offered: dict[str, Run]) -> None:
    """Why nothing can be drawn, and the way on."""
    if named is not None and model_of(named.config) not in DRAWN:
        words = (
            f"model={model_of(named.config)} has no latent space to draw from: the tab Prediction"
            " of its page continues flows instead."
        )
        st.info(formatting.sentence(words), icon=":material/palette:")
        query = {"run": named.id, "view": "Prediction"}
        st.page_link(
            navigation.RUN_PAGE,
            label="To its predictions",
            icon=":material/water:",
            query_params=query,
        )
    elif named is not None:
        coming = (
            ""
            if named.status in ENDED
            else " Its first one is saved after an epoch or five minutes."
        )
        st.info(
            f"{formatting.escape(formatting.shorten(named.name))} has no checkpoint to draw"
            f" with.{coming}",
            icon=":material/palette:",
        )
        st.page_link(
            navigation.RUN_PAGE,
            label="To the run",
            icon=":material/show_chart:",
            query_params={"run": named.id},
        )
    elif "run" in st.query_params:
        st.info(
            "There is no run with this id: it was deleted, or the address is not complete.",
            icon=":material/search_off:",
        )
    else:
        st.info(
            "Here stored generators draw on request: new images, walks between two of them, and the"
            " training images nearest to them. That needs a run with a checkpoint, which every run"
            " saves after its first epoch.",
            icon=":material/palette:",
        )
        st.page_link(navigation.LAUNCH_PAGE, label="Launch a run", icon=":material/rocket_launch:")
    if offered:
        st.page_link(
            navigation.PLAYGROUND_PAGE, label="Draw with the newest run", icon=":material/palette:"
        )


page()
