"""What is compared, by what, and how it is drawn: all of it in the URL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from ganboard.app.frontier import answer, points
from ganboard.app.frontier.points import COSTS, Evaluated
from ganboard.gan.settings.metric import Metric
from ganboard.worker.comparison.comparable import Entry, metrics
from ganboard.worker.figures.palette import CATEGORICAL

NOTHING = "nothing"  # that colours the dots
OTHER = "other values"
_NEW_GOAL = "frontier_new_goal"


@dataclass(frozen=True)
class Options:
    """The choice of a person."""

    data: str
    evaluation: str
    metric: Metric
    cost: str
    goal: float | None
    colour: str  # a setting, or NOTHING
    courses: bool
    log_x: bool
    log_y: bool

    @property
    def lower(self) -> bool:
        return self.metric.better == "lower"

    @property
    def of_dots(self) -> tuple[str, str, str, str, str]:
        """What decides where the dots are, and their colours."""
        return self.data, self.evaluation, self.metric.name, self.cost, self.colour


def show(known: Evaluated) -> Options:
    """The controls, where there is any evaluated run."""
    groups = known.groups
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        data = _select("Data", list(groups), key="data", width=180)
        evaluation = _select(
            "Evaluated with",
            list(groups[data]),
            key="evaluated",
            width=300,
            meaning="Numbers by other features, or over another number of samples, measure"
            " something else: they are never compared.",
        )
        own = groups[data][evaluation]
        offered = metrics(own)
        names = {metric.label: name for name, metric in offered.items()}
        metric = offered[names[_select("Metric", list(names), key="metric", width=170)]]
        labels = {cost.label: name for name, cost in COSTS.items()}
        cost = labels[
            _select(
                "Cost",
                list(labels),
                key="cost",
                width=210,
                meaning="  \n".join(f"**{cost.label}**: {cost.meaning}" for cost in COSTS.values()),
                of_goal=False,
            )
        ]
        goal = _goal(known, own, metric)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        colour = _select(
            "Colour by",
            [NOTHING, *known.varying(data, evaluation)],
            key="colour",
            width=210,
            of_goal=False,
        )
        courses = st.toggle(
            "Courses",
            key="courses",
            bind="query-params",
            help="Thin lines: the best value of each run so far.",
        )
        log_x = st.toggle("Log x", True, key="logcost", bind="query-params")
        log_y = st.toggle(
            "Log y",
            True,
            key="logmetric",
            bind="query-params",
            help="Logarithmic axis, where all values are positive.",
        )
    return Options(data, evaluation, metric, cost, goal, colour, courses, log_x, log_y)


def _select(
    label: str,
    options: list[str],
    *,
    key: str,
    width: int,
    meaning: str | None = None,
    of_goal: bool = True,
) -> str:
    """A choice that is kept in the URL; the first option where that names none of these. A target
    makes no sense beside another choice `of_goal`."""
    if st.session_state.get(key, options[0]) not in options:
        st.session_state[key] = options[0]
    chosen = st.selectbox(
        label,
        options,
        key=key,
        bind="query-params",
        filter_mode=None,
        width=width,
        help=meaning,
        on_change=_ask_anew if of_goal else None,
    )
    return chosen if chosen in options else options[0]


def _ask_anew() -> None:
    st.session_state[_NEW_GOAL] = True


def _goal(known: Evaluated, entries: Sequence[Entry], metric: Metric) -> float | None:
    """The target, at first one that the best run reaches."""
    lower = metric.better == "lower"
    found = known.improvements(metric.name, lower=lower)
    values = found["value"][points.of_runs(found, {entry.run.id for entry in entries})]
    best = None if values.empty else float(values.min() if lower else values.max())
    suggestion = answer.suggested(best, lower=lower)
    if st.session_state.pop(_NEW_GOAL, False):
        st.session_state["goal"] = suggestion
    return st.number_input(
        f"Target {metric.label}",
        value=suggestion,
        format="%g",
        placeholder="such as 5",
        key="goal",
        bind="query-params",
        width=150,
        help="Which configuration reaches this value at the lowest cost?",
    )


def groups_of(entries: Sequence[Entry], setting: str) -> tuple[dict[str, str], list[str]]:
    """The group of each run, by id, and the groups in the order of their colours; no groups without
    a setting. Rare values share the last one."""
    if setting == NOTHING:
        return {entry.run.id: "" for entry in entries}, []
    values = {
        entry.run.id: f"{setting} {entry.run.config.get(setting, 'none')}" for entry in entries
    }
    common = [value for value, _ in Counter(values.values()).most_common()]
    if len(common) > len(CATEGORICAL):
        common = [*common[: len(CATEGORICAL) - 1], OTHER]
    kept = set(common)
    return {run_id: value if value in kept else OTHER for run_id, value in values.items()}, sorted(
        common
    )
