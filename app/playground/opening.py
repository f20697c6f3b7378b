"""Which model the playground opens on, and why: one that people have named, else the best by a
metric, else the newest finished one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from ganboard.app import navigation
from ganboard.db import versions
from ganboard.db.models import Run
from ganboard.db.runs import evaluations, queries
from ganboard.gan.config import model_of
from ganboard.gan.quality.declared import OF_MODEL, headline
from ganboard.gan.settings.features import Source, recorded
from ganboard.worker import formatting
from ganboard.worker.context import Context

ALIASES = ("production", "best")  # the first that there is
OPENED = "playground_opened"


@dataclass(frozen=True)
class Opening:
    """A run, the step of its checkpoint (None: the newest), and the reason in a sentence."""

    run_id: str
    step: int | None
    reason: str


def choose(context: Context, offered: Mapping[str, Run]) -> str:
    """The id of the run to open; the address gets its step, and `explain` says why."""
    found = _named(context, offered) or _best(context, offered) or _newest(offered)
    if found.step is not None:
        st.query_params["step"] = str(found.step)
    else:
        st.query_params.pop("step", None)
    st.session_state[OPENED] = found
    return found.run_id


def explain(run_id: str, step: int) -> None:
    """Why this one was opened, for as long as nothing else has been chosen."""
    opened: Opening | None = st.session_state.get(OPENED)
    if opened is None or opened.run_id != run_id or opened.step not in (None, step):
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(formatting.escape(opened.reason), width="content")
        st.page_link(
            navigation.RUN_PAGE,
            label="Open the run",
            icon=":material/show_chart:",
            query_params={"run": run_id},
        )


def _named(context: Context, offered: Mapping[str, Run]) -> Opening | None:
    aliases = versions.aliases(context.engine)
    if not aliases:
        return None
    listed = sorted(versions.listed(context.engine), key=lambda one: one.created_at, reverse=True)
    for word in ALIASES:
        for one in listed:
            if word not in aliases.get(one.id, []) or one.run_id not in offered:
                continue
            if any(c.step == one.step for c in queries.checkpoints(context.engine, one.run_id)):
                called = f"{one.name}:{one.version}"
                reason = f"Opened because {called} has the alias {word}; this is its checkpoint."
                return Opening(one.run_id, one.step, reason)
    return None


@dataclass(frozen=True)
class _Kind:
    """What must be equal to compare two numbers of quality."""

    data: str
    metric: str
    source: Source | None
    images: int | None


def _best(context: Context, offered: Mapping[str, Run]) -> Opening | None:
    """By the headline that most runs on the data set of the newest evaluated run have."""
    kinds: dict[_Kind, list[evaluations.AtCheckpoint]] = {}
    for one in evaluations.at_checkpoints(context.engine, list(offered)):
        kind = _kind(offered[one.run_id])
        if kind is not None and one.name == kind.metric:
            kinds.setdefault(kind, []).append(one)
    if not kinds:
        return None
    evaluated = {one.run_id for found in kinds.values() for one in found}
    newest = next(run for run in offered.values() if run.id in evaluated)  # the newest come first
    data = _data(newest)
    own = {kind: found for kind, found in kinds.items() if kind.data == data}
    kind = max(own, key=lambda one: len({row.run_id for row in own[one]}))
    best = min(own[kind], key=lambda row: row.value)
    metric = headline(model_of(offered[best.run_id].config))
    label = metric.called(recorded(offered[best.run_id].facts))
    runs = len({row.run_id for row in own[kind]})
    among = f"of {runs} runs" if runs > 1 else "of the only run"
    value = formatting.decimal(best.value, metric.digits)
    return Opening(
        best.run_id,
        best.step,
        f"Opened for the best {label}, {value} after epoch {best.epoch}, {among} on {data}"
        " evaluated alike at a stored checkpoint.",
    )


def _kind(run: Run) -> _Kind | None:
    model = model_of(run.config)
    if not OF_MODEL.get(model):
        return None
    metric = headline(model)
    source = recorded(run.facts) if metric.by_features else None
    return _Kind(_data(run), metric.name, source, run.config.get("quality_images"))


def _data(run: Run) -> str:
    return str(run.config.get("images_path") or run.config.get("dataset", "its data"))


def _newest(offered: Mapping[str, Run]) -> Opening:
    finished = next((run for run in offered.values() if run.status == "finished"), None)
    chosen = finished or next(iter(offered.values()))
    which = "newest finished run" if finished else "newest run with a checkpoint"
    return Opening(
        chosen.id,
        None,
        f"Opened as the {which}: no run was evaluated at a stored checkpoint, so none is known to"
        " be better.",
    )
