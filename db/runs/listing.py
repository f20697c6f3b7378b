"""The list of runs as pages and the command line show it: what a table needs of each run, and
nothing more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from sys import intern
from typing import Any

from sqlalchemy import Engine, and_, case, func, not_, or_
from sqlmodel import col, select

from ganboard.db.engine import PORTION, TRASH_TOO, reading
from ganboard.db.models import ENDED, STATUSES, Event, Grid, Metric, Quality, Run, Tag, shown_status

# texts that many runs, or several lists, have in common
_SHARED = ("id", "name", "status", "preset", "sweep")
_FEATURES = "quality_features"  # the fact of a run
CLASSIFIER = "classifier"  # the features of a run that has not recorded any
# by features, the field of `Listed` with their distance: those of different ones are not compared
DISTANCES = {CLASSIFIER: "fid", "encoder": "fid_encoder", "inception": "fid_inception"}


@dataclass(frozen=True, slots=True)
class Listed:
    """A run as a list shows it; the fields down to `external` are columns of `Run`."""

    id: str
    name: str
    status: str
    number: int
    preset: str
    sweep: str | None
    config: Mapping[str, Any]
    note: str | None
    archived_at: datetime | None
    deleted_at: datetime | None
    pruned_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    steps_per_epoch: int | None
    epoch: int
    step: int
    seconds: float
    g_loss: float | None
    d_loss: float | None
    images_per_second: float | None
    external: bool
    grid_epoch: int | None  # of the newest image grid
    tags: tuple[str, ...]  # in alphabetical order
    # the best so far, by the features that it was evaluated with: see `gan.settings.features`
    fid: float | None
    fid_encoder: float | None
    fid_inception: float | None
    memorization: float | None  # the highest so far

    @property
    def shown_status(self) -> str:
        """As that of `Run`."""
        return shown_status(self.status, self.pruned_at)


def list_all(
    engine: Engine,
    *,
    statuses: tuple[str, ...] = STATUSES,
    run_ids: Sequence[str] | None = None,
    trash: bool = False,
    kept: Callable[[dict[str, Any], bool], Mapping[str, Any]] = lambda config, external: config,
) -> list[Listed]:
    """Every run in these states, or those of them that are named, archived ones included, newest
    first; or those in the `trash`, the last deleted first.

    `kept` makes what the list has of a configuration, given that and whether the run is a script's.
    """
    of_run: list[Any] = [getattr(Run, name) for name in tuple(Listed.__dataclass_fields__)[:-6]]
    of_run += (_newest_grid(), _recorded())
    place = col(Run.deleted_at).is_not(None) if trash else col(Run.deleted_at).is_(None)
    chosen = [place, col(Run.status).in_(statuses)]
    if run_ids is not None:
        chosen.append(col(Run.id).in_(run_ids))
    listed = select(Run.id).where(*chosen)
    # a share is 1 or less, NaN is not: SQL counts it as the highest
    distance = case((col(Metric.name) == "fid", col(Metric.value)))
    copied = case(
        (and_(col(Metric.name) == "memorization", col(Metric.value) <= 1), col(Metric.value))
    )
    found = (
        select(Metric.run_id, func.min(distance), func.max(copied))
        .where(col(Metric.run_id).in_(listed), col(Metric.name).in_(("fid", "memorization")))
        .group_by(col(Metric.run_id))
    )
    tagged = select(Tag.run_id, Tag.tag).where(col(Tag.run_id).in_(listed)).order_by(col(Tag.tag))
    order = col(Run.deleted_at if trash else Run.created_at).desc()
    with reading(engine) as session:
        tags: dict[str, tuple[str, ...]] = {}
        for run_id, tag in session.execute(tagged, execution_options=TRASH_TOO):
            tags[run_id] = (*tags.get(run_id, ()), tag)
        evaluated: dict[str, tuple[float | None, float | None]] = {
            run_id: (best, most)
            for run_id, best, most in session.execute(found, execution_options=TRASH_TOO)
        }
        # in portions: all rows and their list at once would be twice the memory
        rows: Any = session.execute(
            select(*of_run).where(*chosen).order_by(order, col(Run.id)),
            execution_options=TRASH_TOO | {"yield_per": PORTION},
        )
        listing = []
        for row in rows:
            best, memorization = evaluated.get(row.id, (None, None))
            values = dict(row._mapping)
            values["config"] = kept(row.config, row.external)
            values |= {name: intern(values[name]) for name in _SHARED if values[name]}
            distances: dict[str, Any] = dict.fromkeys(DISTANCES.values())
            distances[_distance(values.pop(_FEATURES))] = best
            own = tags.get(row.id, ())
            listing.append(Listed(**values, tags=own, **distances, memorization=memorization))
        return listing


def _newest_grid() -> Any:
    """The epoch of a run's newest image grid; -1 would be real images."""
    newest = select(func.max(Grid.epoch)).where(
        col(Grid.run_id) == col(Run.id), col(Grid.epoch) >= 0
    )
    return newest.correlate(Run).scalar_subquery().label("grid_epoch")


def _distance(features: str | None) -> str:
    """The field of `Listed` with the distance of these features, as a run's facts name them."""
    return DISTANCES.get((features or "").partition(" ")[0], DISTANCES[CLASSIFIER])


def names(engine: Engine, *, limit: int) -> list[tuple[str, str]]:
    """Id and name of the newest runs that are not archived, the newest first."""
    newest = (
        select(Run.id, Run.name)
        .where(col(Run.archived_at).is_(None))
        .order_by(col(Run.created_at).desc(), col(Run.id))
    )
    with reading(engine) as session:
        found = session.execute(newest.limit(limit))
        return [(intern(run_id), intern(name)) for run_id, name in found]


def ended_version(engine: Engine) -> tuple[Any, ...]:
    """Changes whenever the list of the runs that have ended would look different: a cheap key for
    caches."""
    counted: tuple[Any, ...] = (
        func.count(),
        # those in the trash are counted: once they are removed, their events' numbers return
        func.count(col(Run.deleted_at)),
        func.count(col(Run.archived_at)),
        func.sum(Run.note_version),
        func.sum(Run.attempt),
    )
    with reading(engine) as session:
        # ending, tagging and the like each leave one
        newest_event = session.scalar(select(func.max(Event.id)))
        ended = select(*counted).where(col(Run.status).in_(ENDED))
        return (*session.execute(ended, execution_options=TRASH_TOO).one(), newest_event)


def _recorded() -> Any:
    """The fact of a run that names its features; NULL where it has none, or no text."""
    return col(Run.facts)[_FEATURES].as_string().label(_FEATURES)


def seconds_to_fid(
    engine: Engine, fid: float, run_ids: list[str] | None = None, features: str = CLASSIFIER
) -> dict[str, float]:
    """Seconds of training until an evaluation first found a distance of at most `fid`, for those of
    the runs with these `features` that got there."""
    reached = (
        select(Quality.run_id, func.min(Quality.training_seconds))
        .join(Metric)
        .join(Run, col(Run.id) == Quality.run_id)
        .where(col(Metric.name) == "fid", col(Metric.value) <= fid)
        .group_by(col(Quality.run_id))
    )
    if features == CLASSIFIER:  # also where a run has not recorded them
        others = [_recorded().startswith(f"{name} ") for name in DISTANCES if name != features]
        reached = reached.where(or_(_recorded().is_(None), not_(or_(*others))))
    else:
        reached = reached.where(_recorded().startswith(f"{features} "))
    if run_ids is not None:
        reached = reached.where(col(Quality.run_id).in_(run_ids))
    with reading(engine) as session:
        return dict(session.execute(reached).all())
