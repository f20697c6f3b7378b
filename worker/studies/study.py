"""A study as runs: which it needs, which of them exist, what is launched, and how far it is."""

from __future__ import annotations

import contextlib
import runpy
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import orjson

import ganboard.gan.studies as gan_studies
from ganboard import gan
from ganboard.db import requests, studies
from ganboard.db.errors import NotAllowed
from ganboard.db.models import ACTIVE, ENDED, Request, Run, new_id
from ganboard.db.models import Study as Stored
from ganboard.db.runs import queries
from ganboard.db.runs.runtime_estimation import History, seconds_left
from ganboard.gan.config import ConfigError, model_of
from ganboard.gan.data import catalog
from ganboard.gan.landscape.geometry import SurfaceRequest
from ganboard.gan.studies import FIGURES, NAMES, Study, built_in
from ganboard.worker.context import Context
from ganboard.worker.studies.comparison_groups import axis, families
from ganboard.worker.submission import submit, sweep

LIMIT = sweep.LIMIT  # runs of one study


@dataclass(frozen=True)
class Needed:
    """One run that a study needs, the parts that count it, and the run that is it already, if any."""

    member: sweep.Member
    parts: tuple[str, ...]
    run_id: str | None


def resolve(name: str, budget: str, changes: Mapping[str, Any], seeds: int | None = None) -> Study:
    """A built-in study within a budget, or that of a Python file, with settings changed for all its
    runs. Raises ConfigError."""
    study = (
        built_in(name, budget, changes)
        if name in NAMES or not name.endswith(".py")
        else _from_file(Path(name))
    )
    if unknown := next((name for name in study.figures if name not in FIGURES), None):
        raise ConfigError(
            f"The study {study.name} asks for the figure {str(unknown)[:80]!r}: choose from"
            f" {', '.join(FIGURES)}."
        )
    varied = sorted({key for part in study.parts for key in part.vary} & changes.keys())
    if varied:
        raise ConfigError(
            f"{varied[0]} is what the study {study.name} varies: leave it out, or launch a grid of"
            " your own."
        )
    return replace(
        study, settings={**study.settings, **changes}, seeds=study.seeds if seeds is None else seeds
    )


def _from_file(path: Path) -> Study:
    if not path.is_file():
        raise ConfigError(
            f"There is no study file {str(path)[:200]!r}: name a .py file, or one of"
            f" {', '.join(NAMES)}."
        )
    try:
        with _former_names():
            found = runpy.run_path(str(path)).get("STUDY")
    except (Exception, SystemExit) as error:
        cause = " ".join(str(error).split())[:200]
        raise ConfigError(
            f"The study file {path.name} ended with"
            f" {type(error).__name__}{f': {cause}' if cause else ''}. Mend it."
        ) from None
    if not isinstance(found, Study):
        raise ConfigError(
            f"The study file {path.name} sets no STUDY: write STUDY = Study(...), imported from"
            " ganboard.gan.studies."
        )
    return found


@contextlib.contextmanager
def _former_names() -> Iterator[None]:
    """Study files written before the import name was ganboard import `gan.studies`."""
    former = {"gan": gan, "gan.studies": gan_studies}
    sys.modules.update(former)
    try:
        yield
    finally:
        for name in former:
            del sys.modules[name]


def definition(study: Study) -> dict[str, Any]:
    """What is asked, as it is stored: equal for equal questions."""
    plain: dict[str, Any] = orjson.loads(orjson.dumps(asdict(study), default=list))
    return plain


def examine(context: Context, study: Study, *, within: str | None = None) -> list[Needed]:
    """Every run that the study needs, once. A run of the study `within`, or a finished one with the
    same settings, is used again.

    Raises ConfigError for a grid beyond LIMIT, or when some run cannot be, since a study with holes
    would mislead, and DatasetError when data are absent.
    """
    here, finished = submit.machines(context), sweep.finished_runs(context)
    own = {}
    for runs in studies.runs(context.engine, within).values() if within else ():
        for run in runs:
            # a run that is not finished begins anew when its data have changed
            facts = run.facts if run.status == "finished" else None
            own[sweep.digest(run.config, facts)] = run.id
    history = History(queries.measured_runs(context.engine))
    needed: dict[bytes, Needed] = {}
    for part in study.parts:
        base = {**study.settings, **part.settings}
        varied = sweep.repeated(
            {name: sweep.typed(name, values) for name, values in part.vary.items()},
            base,
            study.seeds,
        )
        title = study.name if len(study.parts) == 1 else f"{study.name}, {part.name}"
        grid = sweep.members(
            base,
            varied,
            title=title,
            data_dir=context.settings.data,
            here=here,
            history=history,
            finished=finished,
        )
        for member in grid:
            if member.problem or member.config is None:
                raise ConfigError(
                    f"The study {study.name} cannot run: {member.name} is refused. {member.problem}"
                )
            key = sweep.digest(member.config.model_dump(mode="json"))
            before = needed.get(key)
            parts = (*before.parts, part.name) if before else (part.name,)
            needed[key] = Needed(
                before.member if before else member,
                tuple(dict.fromkeys(parts)),
                own.get(key) or member.finished,
            )
    if len(needed) > LIMIT:
        raise ConfigError(
            f"The study {study.name} has {len(needed):,} runs: {LIMIT} is the limit, so give it"
            " fewer values or seeds."
        )
    if not needed:
        raise ConfigError(f"The study {study.name} has no run: give it a part.")
    configs = [one.member.config for one in needed.values() if one.member.config and not one.run_id]
    for config in {(config.dataset, config.images_path): config for config in configs}.values():
        catalog.check(config, context.settings.data)
    return list(needed.values())


def launch(context: Context, study: Study) -> tuple[Stored, list[Run]]:
    """Have a study done: what is finished is used again, what is missing queued; a study that asks
    the same is gone on with.

    Returns the study and the runs that were queued now. Raises ConfigError.
    """
    asked = definition(study)
    stored = studies.of_definition(context.engine, asked) or Stored(
        id=new_id(), name=study.name, title=study.title, definition=asked
    )
    needed = examine(context, study, within=stored.id)
    counted: dict[str, list[str]] = {}
    missing = []
    for one in needed:
        for part in one.parts:
            if one.run_id:
                counted.setdefault(part, []).append(one.run_id)
        if not one.run_id:
            assert one.member.config is not None
            missing.append(
                ((one.member.name, one.member.config.model_dump(mode="json")), one.parts)
            )
    made = studies.store(context.engine, stored, counted=counted, missing=missing)
    submit.call(context, made)
    queued = made + _again(context, [one.run_id for one in needed if one.run_id])
    _ask_for_surface(context, stored, anew=bool(queued))
    return studies.find(context.engine, stored.id), queued


def _ask_for_surface(context: Context, stored: Stored, *, anew: bool) -> None:
    """Have the paths of Fig. 11 laid over one surface as soon as their runs have ended."""
    ids = _on_surface(context, stored)
    if ids and (anew or surface(context, stored) is None):
        with contextlib.suppress(NotAllowed):  # `ganboard surface` asks again
            requests.ask(context.engine, requests.SURFACE, ids, SurfaceRequest().model_dump())


def _on_surface(context: Context, stored: Stored) -> list[str]:
    """The runs of Fig. 11: one of each value by which the study's curves are told apart."""
    if "fig11" not in stored.definition["figures"]:
        return []
    runs = {
        run.id: run for part in studies.runs(context.engine, stored.id).values() for run in part
    }.values()
    family = next(
        (one for one in families(runs, axis(stored.definition)) if model_of(one.common) == "dcgan"),
        None,
    )
    return [run.id for run in family.first_seeds][: requests.MAX_RUNS] if family else []


def surface(context: Context, stored: Stored) -> Request | None:
    """The newest loss surface of Fig. 11 that was asked for."""
    ids = _on_surface(context, stored)
    if not ids:
        return None
    asked = SurfaceRequest().model_dump()
    return next(iter(requests.of_runs(context.engine, requests.SURFACE, ids, asked)), None)


def _again(context: Context, run_ids: list[str]) -> list[Run]:
    """Queue those that were stopped or failed once more."""
    resumed = []
    for run in queries.get_runs(context.engine, run_ids):
        if run.status in ENDED and run.status != "finished":
            try:
                resumed.append(submit.resume(context, run.id))
            except NotAllowed:  # somebody else has resumed it meanwhile
                continue
    return resumed


@dataclass(frozen=True)
class Progress:
    """How far a study is. Seconds are those of one worker, None while nothing near was measured."""

    runs: int
    finished: int
    broken: int  # stopped or failed
    training: list[Run]
    done: float  # 0 to 1, by steps
    seconds_left: float | None

    @property
    def over(self) -> bool:
        return self.finished + self.broken == self.runs


def progress(context: Context, study_id: str) -> Progress:
    """From the database alone."""
    runs = list(
        {
            run.id: run for part in studies.runs(context.engine, study_id).values() for run in part
        }.values()
    )
    history = History(queries.measured_runs(context.engine))
    images = {run.id: _images(run) for run in runs}
    finished = [run for run in runs if run.status == "finished" and run.seconds > 0]
    usual = (
        sum(run.seconds for run in finished) / sum(images[run.id] for run in finished)
        if finished
        else None
    )
    left = [_left(run, images[run.id], history, usual) for run in runs if run.status not in ENDED]
    whole = sum(images.values())
    done = sum(
        images[run.id] if run.status in ENDED else run.step * int(run.config["batch_size"])
        for run in runs
    )
    return Progress(
        len(runs),
        sum(run.status == "finished" for run in runs),
        sum(run.status in ENDED and run.status != "finished" for run in runs),
        [run for run in runs if run.status in ACTIVE],
        min(1.0, done / whole) if whole else 0.0,
        None if None in left else sum(seconds for seconds in left if seconds is not None),
    )


def _images(run: Run) -> int:
    """Images that pass through training in all, as near as is known before its start."""
    if run.steps_per_epoch:
        return run.steps_per_epoch * int(run.config["epochs"]) * int(run.config["batch_size"])
    return int(run.config["limit"] or 60_000) * int(run.config["epochs"])


def _left(run: Run, images: int, history: History, usual: float | None) -> float | None:
    """Seconds, from the run's own pace, that of runs like it, or else `usual`, the study's seconds
    per image so far."""
    remaining = max(0, images - run.step * int(run.config["batch_size"]))
    if run.images_per_second:
        return seconds_left(remaining, run.images_per_second)
    estimate = history.estimate(run.config, None)
    if estimate is None:
        return None if usual is None else usual * remaining
    return estimate.likely * remaining + (estimate.beside or 0.0)
