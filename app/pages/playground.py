"""The latent playground: draw with a stored generator, walk between two images, and look at the
training images nearest to them.

The address says everything: run, step of the checkpoint, seed, and which images are picked. Without
a run it opens on the best model, and says why (`app.playground.opening`).
"""

from __future__ import annotations

import streamlit as st

from ganboard.app import auth, navigation
from ganboard.app.playground import opening, picks, views
from ganboard.app.playground.views import Chosen
from ganboard.db.models import ENDED, Checkpoint, Run
from ganboard.db.runs import queries
from ganboard.gan.config import ConfigError, has_latent_space, invalid_reason, model_of, parse
from ganboard.gan.settings import registry
from ganboard.gan.settings.adversarial import AdversarialConfig
from ganboard.worker import formatting
from ganboard.worker.context import Context

OFFERED = 200  # newest runs in the chooser
ALL_CLASSES = "All, one after the other"


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
                "Scales the latents. Values below 1 give cleaner but more similar images; values"
                " above 1 the opposite."
            ),
        )
        conditions = _conditions(run)
    opening.explain(run.id, checkpoint.step)
    if asked not in (None, checkpoint.step):
        st.info(
            f"There is no checkpoint of step {asked:,}, since the run keeps its"
            f" {run.config['keep_checkpoints']} newest. Showing the latest one.",
            icon=":material/history:",
        )
    if reason := auth.read_only():  # a request costs the inference worker's time
        st.info(formatting.escape(reason), icon=":material/visibility:")
        return
    views.show(Chosen(context, run, checkpoint, seed, psi, conditions))


def _conditions(run: Run) -> dict[str, float | int]:
    """What the generator is given beside noise: what the model declares, or a class."""
    declared = registry.known(run.config).spec.conditions
    if not declared:
        return _class(run)
    return {
        one.name: float(
            st.slider(
                one.label,
                one.low,
                one.high,
                one.usual,
                key=one.name,
                bind="query-params",
                format=one.format,
                width=180,
                help=one.help,
            )
        )
        for one in declared
        if not one.when or run.config[one.when[0]] in one.when[1:]
    }


def _class(run: Run) -> dict[str, float | int]:
    try:
        config = parse(run.config)
    except ConfigError:  # the answer says so
        return {}
    if not isinstance(config, AdversarialConfig) or not config.label_count:
        return {}
    chosen = st.selectbox(
        "Class",
        (ALL_CLASSES, *map(str, range(config.label_count))),
        key="class",
        bind="query-params",
        width=220,
        help="Class that the generator is given for every image, as a number from 0.",
    )
    return {} if chosen == ALL_CLASSES else {"label": int(chosen)}


def choose_run(context: Context) -> Run | None:
    """The run of the address, or the best one with a checkpoint; None, with a message, if there is
    none."""
    offered = {
        run.id: run for run in queries.drawable_runs(context.engine, limit=OFFERED) if _draws(run)
    }
    asked = navigation.run_param()
    named = queries.get_run(context.engine, asked) if asked else None
    if named is not None and _draws(named) and queries.checkpoints(context.engine, named.id):
        offered.setdefault(named.id, named)
    elif "run" in st.query_params or not offered:
        _nothing(named, offered)
        return None
    chosen = named.id if named else opening.choose(context, offered)
    st.session_state["playground_run"] = chosen
    st.query_params["run"] = chosen
    # Streamlit keeps the function for as long as the session: it must not hold the runs
    labels = {run.id: f"{formatting.shorten(run.name)} ({run.id})" for run in offered.values()}
    st.selectbox(
        "Run",
        list(labels),
        format_func=labels.__getitem__,
        key="playground_run",
        on_change=_go_to_run,
        width=320,
        help="Runs with a stored checkpoint, newest first.",
    )
    return offered[chosen]


def _draws(run: Run) -> bool:
    if run.external or invalid_reason(run.config) or registry.missing(run.config):
        return False
    return has_latent_space(run.config)


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
    # a training run continues: the screen must not change because of it
    st.query_params["step"] = str(chosen)
    st.selectbox(
        "After epoch",
        sorted(stored, reverse=True),
        format_func=lambda step: _moment(run, stored[step]),
        key="playground_step",
        on_change=_go_to_step,
        width=200,
        help="Stored checkpoints; keep_checkpoints sets how many a run keeps.",
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
    if named is not None and (why := registry.missing(named.config)):
        st.info(formatting.sentence(why), icon=":material/palette:")
    elif named is not None and not has_latent_space(named.config):
        text = (
            f"model={model_of(named.config)} has no latent space. Use the Prediction tab of the"
            " run's page to predict flows."
        )
        st.info(formatting.sentence(text), icon=":material/palette:")
        query = {"run": named.id, "view": "Prediction"}
        st.page_link(
            navigation.RUN_PAGE,
            label="Open its predictions",
            icon=":material/water:",
            query_params=query,
        )
    elif named is not None:
        coming = (
            ""
            if named.status in ENDED
            else " The first one is saved after an epoch or five minutes."
        )
        st.info(
            f"{formatting.escape(formatting.shorten(named.name))} has no checkpoint yet.{coming}",
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
            "There is no run with this id. It was deleted, or the address is incomplete.",
            icon=":material/search_off:",
        )
    else:
        st.info(
            "The playground generates images with stored checkpoints: new samples, interpolations"
            " between two of them, and their nearest training images. It needs a run with a"
            " checkpoint; every run saves one after its first epoch.",
            icon=":material/palette:",
        )
        st.page_link(navigation.LAUNCH_PAGE, label="Launch a run", icon=":material/rocket_launch:")
    if offered:
        st.page_link(
            navigation.PLAYGROUND_PAGE, label="Use the best run", icon=":material/palette:"
        )


page()
