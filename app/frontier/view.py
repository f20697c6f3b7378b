"""The answer to a target, the dots of all runs, the one that was chosen, and the configurations as
a table."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

import pandas as pd
import pyarrow as pa
import streamlit as st

from ganboard.app import navigation
from ganboard.app.frontier import answer, controls, points, preview
from ganboard.app.frontier.answer import Configuration
from ganboard.app.frontier.controls import Options
from ganboard.app.frontier.points import COSTS, Evaluated
from ganboard.app.widgets.live_plotly import Chart
from ganboard.gan.settings.features import DESCRIPTIONS
from ganboard.gan.studies.reference_results import REFERENCES
from ganboard.worker import formatting
from ganboard.worker.comparison.choices import words
from ganboard.worker.comparison.comparable import Entry, configs
from ganboard.worker.context import Context
from ganboard.worker.figures.many import frontier
from ganboard.worker.figures.template import plain

ROWS = 50  # of the table
UNMEASURED = "Energy and money are not recorded, so neither can be chosen as the cost."
_DOT = re.compile(r"([a-z0-9]{1,32})@(\d{1,9})", re.ASCII)


@dataclass(frozen=True)
class Dots:
    """The runs of one choice, whatever the target and the axes."""

    entries: list[Entry]
    points: pd.DataFrame
    groups: list[str]  # in the order of their colours
    words: dict[str, str]  # by run id

    def entry(self, run_id: str) -> Entry | None:
        return next((one for one in self.entries if one.run.id == run_id), None)


@dataclass(frozen=True)
class View:
    """What is known of one choice."""

    dots: Dots
    found: list[Configuration]  # of the target, the cheapest first


def draw(context: Context, known: Evaluated, options: Options) -> None:
    chosen = dot_param()
    view = _view(known, options)
    if view.dots.points.empty:
        st.caption(f"None of these runs has a finite {options.metric.label} yet.")
        return
    _answer(view, options)
    left, right = st.columns([3, 1], gap="medium")
    with left:
        clicked = _chart(known, view.dots, options, chosen).show_runs()
        if clicked is not None and clicked != chosen:
            st.query_params["dot"] = f"{clicked[0]}@{clicked[1]}"
            st.rerun()
    with right:
        _preview(context, view, options, chosen)
    st.caption(_about(view, options))
    if options.goal is not None:
        _table(view, options)


def dot_param() -> tuple[str, int] | None:
    """The evaluation that `?dot=RUN@EPOCH` names."""
    named = _DOT.fullmatch(st.query_params.get("dot", ""))
    return (named[1], int(named[2])) if named else None


def _view(known: Evaluated, options: Options) -> View:
    dots = known.made.of(("dots", options.of_dots), lambda: _dots(known, options))

    def build() -> list[Configuration]:
        reached = (
            {}
            if options.goal is None
            else answer.first_reached(dots.points, options.goal, lower=options.lower)
        )
        by_machine = COSTS[options.cost].of_machine
        return answer.configurations(dots.entries, reached, by_machine=by_machine)

    return View(dots, known.made.of(("configurations", options.of_dots, options.goal), build))


def _dots(known: Evaluated, options: Options) -> Dots:
    entries = known.groups.get(options.data, {}).get(options.evaluation, [])
    said = words(configs(entries))
    names = {one.run.id: plain(formatting.shorten(one.run.name, 60)) for one in entries}
    lines = {
        text: "".join(f"<br>{plain(line)}" for line in wrap(formatting.shorten(text, 160), 60))
        for text in set(said.values())
    }
    settings = {run_id: lines[text] for run_id, text in said.items()}
    own, order = controls.groups_of(entries, options.colour)
    found = known.improvements(options.metric.name, lower=options.lower)
    frame = points.points(found, entries, options.cost, names, settings, own)
    return Dots(entries, frame, order, said)


def _chart(known: Evaluated, dots: Dots, options: Options, chosen: tuple[str, int] | None) -> Chart:
    cost = COSTS[options.cost]

    def build() -> Chart:
        plot = frontier.scatter(
            dots.points,
            x=cost.label,
            y=options.metric.label,
            unit=cost.unit,
            lower=options.lower,
            goal=options.goal,
            groups=dots.groups,
            courses=options.courses,
            chosen=chosen,
            log_x=options.log_x,
            log_y=options.log_y and bool((dots.points["y"] > 0).all()),
        )
        # another choice is another chart, whose zoom is its own
        key = (
            f"frontier-{options.data}-{options.evaluation}-{options.metric.name}-{options.cost}-"
            f"{options.log_x:d}{options.log_y:d}"
        )
        return Chart.of(plot, key)

    return known.made.of(("chart", options, chosen), build)


def _answer(view: View, options: Options) -> None:
    """The sentence, and the ways to what it names."""
    with st.container(border=True, key="answer", gap="xsmall"):
        if options.goal is None:
            st.markdown("Enter a target to see which configuration reaches it at the lowest cost.")
            return
        best = view.found[0] if view.found else None
        target = f"{options.metric.label} {options.goal:g}"
        if best is None or not best.reached:
            values = view.dots.points["y"]
            nearest = values.min() if options.lower else values.max()
            said = answer.apart(nearest, options.goal, options.metric.digits)
            st.markdown(
                f"No run has reached **{formatting.escape(target)}** yet; the best value is"
                f" **{said}**."
            )
            return
        st.markdown(sentence(best, view.dots.words, target, options.cost))
        _links(best)


def sentence(best: Configuration, words: dict[str, str], target: str, cost: str) -> str:
    """The answer as Markdown."""
    said = formatting.escape(_named(best, words))
    runs = f"{best.reached} of {formatting.plural(len(best.costs), 'run')}"
    if not math.isfinite(best.cost):
        return (
            f"No configuration reaches **{formatting.escape(target)}** in most of its runs. The"
            f" cheapest run that did: **{said}**, {COSTS[cost].words(min(best.costs))} ({runs} of"
            " this configuration)."
        )
    median = "median " if len(best.costs) > 1 else ""
    return (
        f"The cheapest configuration that reaches **{formatting.escape(target)}**: **{said}**,"
        f" {median}{COSTS[cost].words(best.cost)} ({runs})."
    )


def _named(configuration: Configuration, words: dict[str, str]) -> str:
    """The settings that set it apart, or a run's name where all are equal."""
    run = configuration.typical.run
    return words[run.id] or f"“{formatting.shorten(run.name, 60)}”"


def _links(best: Configuration) -> None:
    run, ids = best.typical.run, [entry.run.id for entry in best.entries]
    with st.container(horizontal=True, gap="medium"):
        st.page_link(
            navigation.RUN_PAGE,
            label=formatting.escape(formatting.shorten(run.name, 60)),
            icon=formatting.STATUS[run.shown_status].icon,
            query_params={"run": run.id},
        )
        st.page_link(
            navigation.LAUNCH_PAGE,
            label="Clone",
            icon=":material/content_copy:",
            query_params={"clone": run.id},
            help="Open the launch form with these settings.",
        )
        if 2 <= len(ids) <= navigation.MAX_COMPARED:
            st.page_link(
                navigation.COMPARE_PAGE,
                label=f"Compare its {len(ids)} runs",
                icon=":material/compare_arrows:",
                query_params={"runs": ",".join(ids)},
            )


def _preview(
    context: Context, view: View, options: Options, chosen: tuple[str, int] | None
) -> None:
    """The chosen evaluation; at first that of the answer, or the best one."""
    frame = view.dots.points
    rows = frame.iloc[:0]
    if chosen is not None:
        rows = frame[(frame["run_id"] == chosen[0]) & (frame["epoch"] == chosen[1])]
    if rows.empty:
        best = view.found[0].typical.run.id if view.found and view.found[0].reached else None
        dots = frame[frame["best"]].sort_values("y", ascending=options.lower)
        rows = dots[dots["run_id"] == best] if best else dots
    row = rows.iloc[0]
    entry = view.dots.entry(row["run_id"])
    if entry is not None:
        preview.draw(context, entry, row, view.dots.words[entry.run.id], options)


def _about(view: View, options: Options) -> str:
    """How to read the figure, and what is not in it."""
    dots = view.dots
    machines = len({entry.machine for entry in dots.entries})
    said = [
        f"{formatting.plural(int(dots.points['best'].sum()), 'run')}. The front is the best value"
        " that any evaluation of any run had found at that cost; click a dot to see its images.",
        COSTS[options.cost].meaning,
    ]
    if machines > 1 and COSTS[options.cost].of_machine:
        said.append(f"These times are of {machines} machines.")
    if options.metric.by_features:
        said.append(DESCRIPTIONS[dots.entries[0].source.name])
    said += [
        UNMEASURED,
        f"None of the {len(REFERENCES)} published results states how good its images were, so none"
        " can be drawn here.",
    ]
    return " ".join(map(formatting.escape, said))


def _table(view: View, options: Options) -> None:
    """The configurations that reached the target."""
    found = [one for one in view.found if one.reached][:ROWS]
    if not found:
        return
    cost, metric = COSTS[options.cost], options.metric
    frame = view.dots.points
    dots = frame[frame["best"]]
    best = dict(zip(dots["run_id"], dots["y"], strict=True))
    rows = {
        "Configuration": [_named(one, view.dots.words) for one in found],
        cost.label: [one.cost if math.isfinite(one.cost) else None for one in found],
        "Reached by": [f"{one.reached} of {len(one.costs)}" for one in found],
        f"Best {metric.label}": [_best(one.entries, best, options.lower) for one in found],
        "Run": [f"/run?run={one.typical.run.id}" for one in found],
    }
    target = f"{metric.label} {options.goal:g}"
    st.markdown(f"**Configurations that reach {formatting.escape(target)}**")
    number = st.column_config.NumberColumn
    st.dataframe(
        pa.table(rows),
        hide_index=True,
        key="configurations",
        height="content" if len(found) <= 10 else 400,
        placeholder="–",
        column_config={
            "Configuration": st.column_config.TextColumn(width="large"),
            cost.label: number(
                format="localized",
                help="Median over its runs, where most of them reached it: a run that did not"
                " counts as infinitely expensive.",
            ),
            "Reached by": st.column_config.TextColumn(
                help="Runs that differ only in the seed; those that still train count once they"
                " have reached it."
            ),
            f"Best {metric.label}": number(format="%.4g", help=metric.meaning),
            "Run": st.column_config.LinkColumn(
                display_text="Open", help="The run whose cost is nearest to the median."
            ),
        },
    )


def _best(entries: Sequence[Entry], best: Mapping[str, float], lower: bool) -> float | None:
    """The best value of a configuration's runs, of which some may have none."""
    values = [best[entry.run.id] for entry in entries if entry.run.id in best]
    return (min if lower else max)(values, default=None)
