"""Studies: launch, watch, and compare results with the published claims."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ganboard.app import auth, errors, navigation
from ganboard.app.widgets import chooser
from ganboard.app.widgets.live_plotly import live_plotly
from ganboard.db import studies
from ganboard.db.models import Run, Study
from ganboard.gan.studies import NAMES, budgets, built_in, predictions, reference_results
from ganboard.worker import formatting
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.studies import results
from ganboard.worker.studies import study as work
from ganboard.worker.studies.results.study_data import NOT_HERE, REPRODUCED, StudyData, StudyResult

TICK_SECONDS = 3.0
REFUSED = "study_refused"
# rows of an expanded table and of a shown one; the CSV file has all
FEW, ROWS = 8, 200
ICONS = {REPRODUCED: ":material/check_circle:", NOT_HERE: ":material/cancel:"}
COLOURS = {REPRODUCED: "green", NOT_HERE: "orange"}


def render() -> None:
    context = navigation.context()
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        st.title("Studies", anchor=False)
        if st.button("Launch a study", type="primary", icon=":material/science:", **auth.writer()):
            _launch(context)
    if refused := st.session_state.pop(REFUSED, None):
        errors.report(refused)
    known = studies.listed(context.engine)
    if not known:
        st.info(
            "A study is a set of runs that answers a question; its results are shown next to the"
            " published claims. It can also be launched with `ganboard study paper --preset"
            " paper-small`.",
            icon=":material/science:",
        )
        _offered(context)
        _published()
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
    _metrics(context, chosen)
    _published()


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


def _offered(context: Context) -> None:
    """The built-in studies with their questions."""
    for name in NAMES:
        offered = built_in(name, "tiny")
        with st.container(
            border=True,
            horizontal=True,
            vertical_alignment="center",
            horizontal_alignment="distribute",
        ):
            st.markdown(f"**{offered.title}**  \n{offered.purpose}", width="stretch")
            if st.button("Choose", key=f"study_{name}", **auth.writer()):
                st.session_state["study_name"] = name
                _launch(context)


@st.dialog("Launch a study", icon=":material/science:")
def _launch(context: Context) -> None:
    name = st.selectbox(
        "Study", NAMES, key="study_name", format_func=lambda one: built_in(one, "tiny").title
    )
    choice = budgets(name)
    budget = (
        st.segmented_control(
            "Budget", list(choice), default="paper-small", required=True, key="study_budget"
        )
        or "paper-small"
    )
    asked = built_in(name, budget)
    st.caption(formatting.escape(asked.purpose))
    st.caption(formatting.escape(f"{budget}: {choice[budget].about}."))
    with errors.sentences():
        needed = work.examine(context, asked)
        missing = [one for one in needed if not one.run_id]
        seconds = [one.member.seconds() for one in missing]
        known = [one for one in seconds if one is not None]
        time = (
            f"about {formatting.duration(sum(known))} in sequence"
            if known and len(known) == len(missing)
            else "no time estimate"
        )
        st.markdown(
            f"{formatting.plural(len(needed), 'run')}, {len(missing)} to train: {time}."
            if missing
            else "All of its runs are finished."
        )
        if st.button(
            "Launch",
            type="primary",
            key="study_launch",
            on_click=_start,
            args=(context, name, budget),
        ):
            st.rerun()  # closes the dialog


def _start(context: Context, name: str, budget: str) -> None:
    try:
        stored, _ = work.launch(context, built_in(name, budget))
        st.query_params["study"] = stored.id
    except CLEAR_ERRORS as error:
        st.session_state[REFUSED] = str(error)


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


def _metrics(context: Context, study: Study) -> None:
    runs = [run for part in studies.runs(context.engine, study.id).values() for run in part]
    surface = work.surface(context, study)
    version = *_version(study, runs), str(surface and (surface.id, surface.answered_at))
    current = _results(context, str(context.engine.url), version, study, runs)
    _verdicts(current)
    for one in current:
        _result(one)
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
            query_params={"runs": ",".join(ids[: navigation.MAX_COMPARED])},
        )


def _published() -> None:
    """The numbers of others, read-only and marked as theirs."""
    with st.expander("Published results", icon=":material/menu_book:"):
        st.caption(
            "Published claims on the authors' hardware, as printed; not measured here and not"
            " counted as runs."
        )
        for one in reference_results.DOCUMENTS.values():
            st.markdown(
                f"**{formatting.escape(one.short)}**:"
                f" {formatting.escape(f'{one.title}. {one.where}. {one.system}.')}"
            )
        table = pd.DataFrame(reference_results.table(), columns=list(reference_results.COLUMNS))
        table["Batch"] = table["Batch"].map("{:,.0f}".format, na_action="ignore").fillna("")
        st.dataframe(table, hide_index=True, key="published", height=320)


def _version(study: Study, runs: list[Run]) -> tuple[str, ...]:
    """Changes when a run is added, ends or resumes."""
    return study.id, *(
        f"{run.id} {run.status} {run.epoch * (run.status == 'finished')}" for run in runs
    )


@st.cache_resource(max_entries=4, show_spinner="Drawing the figures …")
def _results(
    _context: Context, database: str, version: object, _study: Study, _runs: list[Run]
) -> list[StudyResult]:
    return results.make(
        StudyData.of(_context.engine, _runs, _study.definition),
        list(_study.definition.get("figures", [])),
    )


def _verdicts(current: list[StudyResult]) -> None:
    st.header("Claims checked", anchor=False)
    for one in current:
        lacking = f" &ensp;:gray[{formatting.escape(one.missing)}]" if one.missing else ""
        predicted = f" &ensp;{_predicted_badge(one.predicted)}" if one.predicted else ""
        st.markdown(
            f"{_badge(one)}{lacking}{predicted} &ensp;**{formatting.escape(one.title)}**"
            f" &ensp;{formatting.escape(one.claim)}"
        )
    if any(one.predicted for one in current):
        st.caption(formatting.escape(predictions.source()))


def _badge(one: StudyResult) -> str:
    icon, colour = ICONS.get(one.verdict, ":material/help:"), COLOURS.get(one.verdict, "gray")
    return f":{colour}-badge[{icon} {one.verdict}]"


def _predicted_badge(made: predictions.Prediction) -> str:
    """A verdict of its own kind, beside those of measurements."""
    return f":violet-badge[:material/memory: predicted for {made.machine}: {made.verdict}]"


def _prediction(one: StudyResult) -> None:
    """What the claim would be on its own machine; no measurement."""
    if one.predicted is None:
        return
    st.markdown(
        f"{_predicted_badge(one.predicted)} &ensp;{formatting.escape(one.predicted.finding)}"
    )
    if one.predicted.table:
        with st.expander("Predicted numbers"):
            table = pd.DataFrame(one.predicted.table)
            st.dataframe(table, hide_index=True, key=f"study-predicted-{one.key}")


def _result(one: StudyResult) -> None:
    st.header(formatting.escape(one.title), anchor=False)
    st.markdown(f"{_badge(one)} &ensp;{formatting.escape(one.finding)}")
    if one.figure is not None:
        live_plotly(one.figure, key=f"study-{one.key}")
    if not one.table.empty:
        with st.expander("Numbers", expanded=one.figure is None or len(one.table) <= FEW):
            st.dataframe(
                one.table.head(ROWS), hide_index=True, placeholder="–", key=f"study-table-{one.key}"
            )
    _prediction(one)
    st.caption(formatting.escape(f"Published: {one.claim}"))
    st.caption(formatting.escape(one.how))
    if not one.table.empty:
        st.download_button(
            "CSV",
            one.table.to_csv(index=False).encode(),
            file_name=f"{one.key}.csv",
            mime="text/csv",
            key=f"csv-{one.key}",
            icon=":material/download:",
            on_click="ignore",
        )


render()
