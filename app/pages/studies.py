"""Studies: launch, watch, and compare results with the published claims."""

from __future__ import annotations

import streamlit as st

from ganboard.app import auth, navigation
from ganboard.app.studies import launching, results
from ganboard.app.widgets import chooser
from ganboard.db import studies
from ganboard.db.models import Study
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.studies import study as work

TICK_SECONDS = 3.0


def render() -> None:
    context = navigation.context()
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        st.title("Studies", anchor=False)
        if st.button("Launch a study", type="primary", icon=":material/science:", **auth.writer()):
            launching.dialog(context)
    launching.report_refused()
    known = studies.listed(context.engine)
    if not known:
        st.info(
            "A study is a set of runs that answers a question; its results are shown next to the"
            " published claims. It can also be launched with `ganboard study paper --preset"
            " paper-small`.",
            icon=":material/science:",
        )
        launching.show_offered(context)
        results.show_published()
        return
    chosen = _choose([study for study, _ in known])
    if chosen is None:
        return
    st.markdown(formatting.escape(str(chosen.definition.get("purpose", ""))))
    now = work.progress(context, chosen.id)
    waits = _surface_waits(context, chosen)
    st.fragment(_progress, run_every=None if now.over and not waits else TICK_SECONDS)(
        context, chosen, now.finished + now.broken, waits
    )
    _results(context, chosen)
    results.show_published()


def _choose(known: list[Study]) -> Study | None:
    return chooser.choose(
        known,
        navigation.study_param(),
        param="study",
        label=lambda one: (
            f"{formatting.shorten(one.title)}, {one.created_at:%Y-%m-%d %H:%M} ({one.id})"
        ),
        missing="There is no study with this id. It was deleted, or the address is incomplete.",
        width=480,
    )


def _surface_waits(context: Context, study: Study) -> bool:
    surface = work.surface(context, study)
    return surface is not None and surface.answered_at is None


def _progress(context: Context, study: Study, ended: int, waited: bool) -> None:
    """Progress; redraws the whole page once a run has ended or resumed, or the loss surface is
    available."""
    now = work.progress(context, study.id)
    if now.finished + now.broken != ended or _surface_waits(context, study) != waited:
        st.rerun()
    surface = work.surface(context, study)
    if now.over and waited and surface is not None:
        st.progress(
            surface.progress,
            text=f"Loss surface of Fig. 11: {surface.phase or 'waiting for the analysis worker'}",
        )
        return
    left = (
        f" · about {formatting.duration(now.seconds_left)} left"
        if now.seconds_left and not now.over
        else ""
    )
    broken = f" · {now.broken} stopped or failed" if now.broken else ""
    st.progress(
        now.done,
        text=f"{now.finished} of {formatting.plural(now.runs, 'run')} finished{broken}{left}",
    )
    for run in now.training:
        st.page_link(
            navigation.RUN_PAGE,
            label=formatting.escape(formatting.shorten(run.name)),
            icon=formatting.STATUS[run.shown_status].icon,
            query_params={"run": run.id},
        )


def _results(context: Context, study: Study) -> None:
    runs = [run for part in studies.runs(context.engine, study.id).values() for run in part]
    surface = work.surface(context, study)
    results.show(context, study, runs, str(surface and (surface.id, surface.answered_at)))
    ids = list(dict.fromkeys(run.id for run in runs))[: navigation.MAX_COMPARED]
    st.page_link(
        navigation.RUNS_PAGE,
        label="Its runs",
        icon=":material/list:",
        query_params={"q": f"sweep:{study.id}"},
    )
    if len(ids) > 1:
        st.page_link(
            navigation.COMPARE_PAGE,
            label="Compare them",
            icon=":material/compare_arrows:",
            query_params={"runs": ",".join(ids)},
        )


render()
