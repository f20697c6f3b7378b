"""A study as runs: which it needs, which of them exist, what is launched, and how far it is."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from ganboard.db import requests, studies
from ganboard.db.errors import NotAllowed
from ganboard.db.ids import new_id
from ganboard.db.models import ACTIVE, ENDED, Request, Run
from ganboard.db.models import Study as Stored
from ganboard.db.runs import queries
from ganboard.db.runs.runtime_estimation import History, time_left
from ganboard.gan.config import ConfigError, model_of
from ganboard.gan.data import catalog
from ganboard.gan.landscape.geometry import SurfaceRequest
from ganboard.gan.studies import Study
from ganboard.worker.context import Context
from ganboard.worker.studies.comparison_groups import axis, families
from ganboard.worker.studies.definition import definition
from ganboard.worker.submission import submit, sweep

LIMIT = sweep.LIMIT  # runs of one study


@dataclass(frozen=True)
class Needed:
    """One run that a study needs, the parts that count it, and the run that is it already, if
    any."""

    member: sweep.Member
    parts: tuple[str, ...]
    run_id: str | None


def examine(context: Context, study: Study, *, within: str | None = None) -> list[Needed]:
    """Every run that the study needs, once. A run of the study `within`, or a finished one with the
    same settings, is used again.

    Raises ConfigError for a grid beyond LIMIT, or when some run cannot be, since a study with holes
    would mislead, and DatasetError when data are absent.
    """
    here, finished = submit.machines(context), sweep.finished_runs(context)
    own = {}
    for run in runs_of(context, within) if within else ():
        # a run that is not finished begins anew when its data have changed
        facts = run.facts if run.status == "finished" else None
        own[sweep.digest(run.config, facts)] = run.id
    history = submit.run_history(context)
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
    _check_number(study, len(needed))
    missing = [one.member.config for one in needed.values() if one.member.config and not one.run_id]
    for config in {(config.dataset, config.images_path): config for config in missing}.values():
        catalog.check(config, context.settings.data)
    return list(needed.values())


def runs_of(context: Context, study_id: str) -> list[Run]:
    """The runs of a study, each once, part by part."""
    parts = studies.runs(context.engine, study_id).values()
    return list({run.id: run for runs in parts for run in runs}.values())


def _check_number(study: Study, count: int) -> None:
    """Raises ConfigError for a study of no run or too many."""
    if count > LIMIT:
        raise ConfigError(
            f"The study {study.name} has {count:,} runs; the limit is {LIMIT}. Use fewer"
            " values or seeds."
        )
    if not count:
        raise ConfigError(f"The study {study.name} has no runs. Add a part to it.")


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
    made = studies.store(
        context.engine, stored, counted=counted, missing=missing, owner=context.user
    )
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
    """The runs of Fig. 11: one of each value that distinguishes the study's curves."""
    if "fig11" not in stored.definition["figures"]:
        return []
    runs = runs_of(context, stored.id)
    family = next(
        (one for one in families(runs, axis(stored.definition)) if model_of(one.common) == "dcgan"),
        None,
    )
    return [run.id for run in family.first_seeds][: requests.MAX_RUNS] if family else []


def surface(context: Context, stored: Stored) -> Request | None:
    """The most recently requested loss surface of Fig. 11."""
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
            except NotAllowed:  # it has been resumed concurrently
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
    runs = runs_of(context, study_id)
    history = submit.run_history(context)
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
    """Seconds, from the run's own speed, that of similar runs, or `usual`, the study's seconds per
    image so far."""
    measured = time_left(run)
    if measured is not None:
        return measured
    estimate = history.estimate(run.config, None)
    if estimate is not None:
        return estimate.seconds(images)
    return None if usual is None else usual * images
