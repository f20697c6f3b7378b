"""Runs of a comparison in groups: by a setting, or all that differ in nothing but the seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from ganboard.db.models import Run
from ganboard.worker import formatting
from ganboard.worker.comparison.choices import choice, varying, words
from ganboard.worker.figures.many.bands import Spread
from ganboard.worker.studies.comparison_groups import but_for_seed

NONE = "nothing"
SEEDS = "everything but the seed"
SPREADS: dict[str, Spread] = {"Min to max": "range", "Standard error": "error"}


@dataclass(frozen=True)
class Grouping:
    """By what runs are grouped, and what the band around their mean shows."""

    by: str  # a setting, or SEEDS
    spread: Spread


def control(runs: Sequence[Run]) -> Grouping | None:
    """The choice, kept in the URL; None where runs are drawn one by one."""
    offered = [NONE, SEEDS, *varying([run.config for run in runs])]
    if st.session_state.get("group", NONE) not in offered:
        st.session_state["group"] = NONE
    by = st.selectbox(
        "Group by",
        offered,
        key="group",
        bind="query-params",
        filter_mode=None,
        width=230,
        help="Each group is drawn as its mean with a band.",
    )
    if by not in offered or by == NONE:
        return None
    spread = st.segmented_control(
        "Band",
        tuple(SPREADS),
        default="Min to max",
        required=True,
        key="band",
        bind="query-params",
        help="Standard error of the mean: the standard deviation over the root of the number of"
        " runs.",
    )
    return Grouping(by, SPREADS.get(str(spread), "range"))


def groups(runs: Sequence[Run], by: str) -> dict[str, list[Run]]:
    """The runs of each group by its name, in the order of the values, or of the runs."""
    if by != SEEDS:
        ordered = sorted(runs, key=lambda run: _order(run.config.get(by)))
        found: dict[str, list[Run]] = {}
        for run in ordered:
            value = run.config.get(by)
            found.setdefault(formatting.shorten(choice(by, value), 60), []).append(run)
        return found
    members: dict[bytes, list[Run]] = {}
    for key, run in zip(but_for_seed(run.config for run in runs), runs, strict=True):
        members.setdefault(key, []).append(run)
    said = words({own[0].id: own[0].config for own in members.values()})
    names = {
        own[0].id: said[own[0].id] or formatting.shorten(own[0].name) for own in members.values()
    }
    repeated = {name for name, count in Counter(names.values()).items() if count > 1}
    return {
        f"{name} ({run_id})" if name in repeated else name: own
        for (run_id, name), own in zip(names.items(), members.values(), strict=True)
    }


def _order(value: object) -> tuple[bool, float, str]:
    """Numbers by size, then words."""
    is_number = isinstance(value, int | float)
    return not is_number, float(value) if isinstance(value, int | float) else 0.0, str(value)
