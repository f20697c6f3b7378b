"""Loss surfaces as people ask for them: of which runs there can be one, and taken back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine

from ganboard.db import requests
from ganboard.db.errors import NotAllowed
from ganboard.db.models import Request, Run
from ganboard.gan.checkpoint.snapshots import NETS
from ganboard.gan.landscape.geometry import COLUMNS, LandscapeError, SurfaceRequest, unpack
from ganboard.gan.settings.metadata import fields_by_group

SAME = ("dataset", *fields_by_group()["Model"])  # of all runs on one surface


def missing(run: Run) -> str | None:
    """Why there can be no surface of a run, in a sentence."""
    if run.external:
        return f"Run {run.id} was trained by a script, which keeps no snapshots of its weights."
    if run.config.get("snapshots") == 0:
        return (
            f"Run {run.id} kept no snapshots of its weights, so no surface can be computed. Train a"
            " clone with snapshots=10."
        )
    return None


def differing(run: Run, other: Run) -> str | None:
    """The setting for which the path of another run does not fit on the surface of a run."""
    return next((one for one in SAME if run.config.get(one) != other.config.get(one)), None)


def ask(engine: Engine, runs: Sequence[Run], asked: SurfaceRequest) -> str:
    """Ask for the surface through the end of the first run, with the paths of all; returns the id
    of the request. Raises LandscapeError, NotAllowed and UnknownRun."""
    first = runs[0]
    for run in runs:
        if why := missing(run):
            raise LandscapeError(why)
        if name := differing(first, run):
            raise LandscapeError(
                f"Run {run.id} has {name}={run.config.get(name)}, run {first.id}"
                f" {first.config.get(name)}: their paths do not fit on one surface. Leave it out."
            )
    ids = [run.id for run in runs]
    return requests.ask(engine, requests.SURFACE, ids, asked.model_dump())


def withdraw(engine: Engine, found: Request) -> None:
    """Take back a request that waits or is being computed. Raises NotAllowed."""
    if not requests.withdraw(engine, found.id):
        raise NotAllowed(f"Surface {found.id} has been computed or has failed: nothing is left.")


def values(found: Request) -> dict[str, dict[str, Any]]:
    """A computed surface as lists, for either net: `x` and `y` [size], `surface` [size][size] with
    y first, `path`, each point with the id of its run. Raises NotAllowed."""
    if found.result is None:
        why = found.error or "It waits, or is being computed: try again later."
        raise NotAllowed(f"Surface {found.id} has no values. {why}")
    arrays = unpack(found.result)
    ids = [found.run_id, *found.others]
    return {
        net: {
            **{part: arrays[f"{net}.{part}"].tolist() for part in ("x", "y", "surface")},
            "path": [
                {**dict(zip(COLUMNS, row, strict=True)), "run": ids[int(row[0])]}
                for row in arrays[f"{net}.path"].tolist()
            ],
        }
        for net in NETS
    }
