"""What a latent wall is made of: the grids of runs, who shares latents, and quality by epoch."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
from PIL import Image
from sqlalchemy import Engine

from ganboard.app.wall.widget import Metric, Open, Wall, WallRun
from ganboard.db.curves import grids
from ganboard.db.curves.grids import StoredGrid
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.config import fixed_inputs, has_latent_space
from ganboard.gan.settings import registry
from ganboard.worker import formatting
from ganboard.worker.figures.palette import DASHES, run_colour, run_style

USUAL_SIZE = 28  # pixels of an image, should its grid be gone by now
NAMED = 3  # runs in a sentence
LISTED = 4  # groups in a sentence


@dataclass(frozen=True)
class Group:
    """Runs whose grids are made from the same inputs."""

    inputs: dict[str, object]  # the settings that decide about these
    runs: list[Run]


def groups(runs: Sequence[Run]) -> list[Group]:
    """The runs that share their latents, in their order; those are left out of which it is not
    known what their images are made from."""
    found: dict[str, Group] = {}
    for run in runs:
        if known(run):
            inputs = fixed_inputs(run.config)
            found.setdefault(repr(inputs), Group(inputs, [])).runs.append(run)
    return list(found.values())


def known(run: Run) -> bool:
    """Whether ganboard itself made the images of a run, so that it knows from what."""
    return not run.external and registry.missing(run.config) is None


def word(runs: Sequence[Run]) -> str:
    """What the images of these runs are made from, in singular."""
    if not all(known(run) for run in runs):
        return "Image"
    return "Latent" if all(has_latent_space(run.config) for run in runs) else "Input"


def sharing(runs: Sequence[Run], labels: Mapping[str, str]) -> str:
    """Who has the same latents, for the page; settings are named where they differ."""
    found, thing = groups(runs), word(runs).lower()
    unknown = [run for run in runs if not known(run)]
    said = []
    if len(found) == 1 and len(found[0].runs) == len(runs) > 1:
        equal = ", ".join(f"{name}={value}" for name, value in found[0].inputs.items() if value)
        return f"All runs have the same {thing}s ({equal}): equal rows are the same {thing}."
    if len(found) > 1:
        said.append(f"{_groups(found, labels, thing)}. Equal rows of different groups are not")
        said.append(f"the same {thing}.")
    if unknown:
        said.append(
            f"Which inputs the images of {_names(unknown, labels)} are made from is not recorded:"
            " a position is the same sample only if the script kept it."
        )
    return " ".join(said)


def _groups(found: Sequence[Group], labels: Mapping[str, str], thing: str) -> str:
    differing = [
        name
        for name in dict.fromkeys(name for group in found for name in group.inputs)
        if len({str(group.inputs.get(name)) for group in found}) > 1
    ]
    if len(found) > LISTED:
        return (
            f"These runs are {len(found)} groups with different {thing}s ({', '.join(differing)})"
        )
    parts = []
    for group in found:
        own = [f"{name}={group.inputs[name]}" for name in differing if name in group.inputs]
        parts.append(f"{_names(group.runs, labels)} ({', '.join(own)})")
    return f"These runs have different {thing}s: {'; '.join(parts)}"


def _names(runs: Sequence[Run], labels: Mapping[str, str]) -> str:
    named = ", ".join(f"“{labels[run.id]}”" for run in runs[:NAMED])
    return named + (f" and {len(runs) - NAMED} more" if len(runs) > NAMED else "")


def build(
    engine: Engine,
    runs: Sequence[Run],
    labels: Mapping[str, str],
    *,
    latents: int,
    values: Mapping[str, pd.DataFrame],
    measure: str,
    metric: Metric,
    opened: Open | None,
) -> Wall | None:
    """The wall of these runs with at most so many `latents`; None without any grid.

    `values` has of each run whose metric can be compared its rows of
    `db.curves.series.quality_frame`.
    """
    stored = {run_id: alike(own) for run_id, own in grids.stored(engine, _ids(runs)).items()}
    shown = [run for run in runs if stored[run.id]]
    if not shown:
        return None
    columns = sorted({grid.epoch for own in stored.values() for grid in own})
    found = groups(shown)
    place = {run.id: number for number, group in enumerate(found) for run in group.runs}
    blocks = []
    for run in shown:
        attempts = {grid.epoch: grid.attempt for grid in stored[run.id]}
        newest = stored[run.id][-1]
        frame = values.get(run.id)
        blocks.append(
            WallRun(
                id=run.id,
                name=labels[run.id],
                colour=run_colour(run.number),
                dash=DASHES[run_style(run.number)],
                group=place.get(run.id),
                latents=newest.rows * newest.columns,
                size=image_size(engine, str(engine.url), run.id, newest),
                attempts=[attempts.get(epoch) for epoch in columns],
                points=[] if frame is None else _points(frame, measure),
            )
        )
    has_values = any(block.points for block in blocks)
    most = max(block.latents for block in blocks)
    return Wall(
        columns=columns,
        latents=min(latents, most) if latents else most,
        word=word(shown),
        runs=blocks,
        about=[_about(group, shown, labels) for group in found],
        metric=metric if has_values else None,
        open=opened,
    )


def alike(stored: Sequence[StoredGrid]) -> list[StoredGrid]:
    """The grids that have as many rows and columns as the newest: a script may change them."""
    newest = stored[-1:]
    return [grid for grid in stored for last in newest if _layout(grid) == _layout(last)]


def _layout(grid: StoredGrid) -> tuple[int, int]:
    return grid.rows, grid.columns


def _about(group: Group, shown: Sequence[Run], labels: Mapping[str, str]) -> str:
    """For the enlarged image: which of the runs have this latent."""
    if len(shown) == 1:
        return ""
    thing = word(group.runs).lower()
    if len(group.runs) == 1:
        return f"No other of these runs has this {thing}."
    return f"{len(group.runs)} of {formatting.plural(len(shown), 'run')} have this {thing}."


def _points(frame: pd.DataFrame, measure: str) -> list[tuple[int, float]]:
    finite = frame[np.isfinite(frame[measure])]
    pairs = zip(finite["epoch"], finite[measure], strict=True)
    return [(int(epoch), float(value)) for epoch, value in pairs]


def _ids(runs: Collection[Run]) -> list[str]:
    return [run.id for run in runs]


@st.cache_data(max_entries=512, show_spinner=False)
def image_size(_engine: Engine, database: str, run_id: str, _grid: StoredGrid) -> int:
    """The longer side of an image of a run's grids, in pixels; the same in all of them."""
    stored = queries.grid(_engine, run_id, _grid.epoch)
    if stored is None:
        return USUAL_SIZE
    with Image.open(io.BytesIO(stored.png), formats=["PNG"]) as picture:
        return max(1, picture.width // stored.columns, picture.height // stored.rows)
