"""Starting, stopping and continuing runs."""

from __future__ import annotations

from fastapi import APIRouter

from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import queries
from ganboard.gan import presets
from ganboard.gan.config import parse
from ganboard.gan.settings.metadata import defaults
from ganboard.worker.api import answers, bodies, views
from ganboard.worker.api.callers import Writing
from ganboard.worker.submission import evaluation, forking, submit, sweep

CREATED = 201
router = APIRouter(tags=["launching"])


@router.post("/runs", summary="Queue a run", status_code=CREATED)
def launch(context: Writing, asked: bodies.Launch) -> answers.RunSummary:
    """Checked as the page Launch does: settings, data, and whether a live worker's machine can run
    it."""
    tags = [run_annotations.check_tag(tag) for tag in asked.tags]
    config = (
        parse(asked.settings)
        if asked.preset is None
        else presets.load(asked.preset, asked.settings)
    )
    run = submit.submit(
        context, config, name=asked.name, preset=asked.preset or "", priority=asked.priority
    )
    if tags:
        run_annotations.add_tags(context.engine, run_ids=[run.id], tags=tags)
    return views.summary(context, run.id)


@router.post("/sweeps", summary="Queue a sweep", status_code=CREATED)
def launch_sweep(context: Writing, asked: bodies.Sweep) -> answers.Swept:
    """All runs are stored, or none. They are evaluated after their last epoch, unless the preset or
    the settings say quality_every."""
    base = {**(presets.values(asked.preset) if asked.preset is not None else {}), **asked.settings}
    given = {name: sweep.typed(name, values) for name, values in asked.values.items()}
    varied = sweep.repeated(given, base, asked.seeds)
    title = sweep.check_title(asked.name, asked.preset or "", {**defaults(base), **base})
    evaluated = evaluation.of_sweep(context, base, varied)
    grid = sweep.examine(context, base, varied, title=title, evaluation=evaluated)
    sweep_id = sweep.launch(context, grid, preset=asked.preset or "")
    runs = queries.sweep_runs(context.engine, sweep_id)
    return answers.Swept(sweep=sweep_id, runs=views.summaries(context, runs))


@router.post("/runs/{run}/clone", summary="Clone a run", status_code=CREATED)
def clone(context: Writing, run: str, asked: bodies.Settings) -> answers.RunSummary:
    parent = views.find(context, run)
    cloned = submit.clone(context, parent.id, asked.settings, name=asked.name)
    return views.summary(context, cloned.id)


@router.post("/runs/{run}/fork", summary="Fork a run from a checkpoint", status_code=CREATED)
def fork(context: Writing, run: str, asked: bodies.Fork) -> answers.RunSummary:
    parent = views.find(context, run)
    forked = forking.fork(context, parent.id, asked.settings, step=asked.step, name=asked.name)
    return views.summary(context, forked.id)


@router.post("/runs/{run}/stop", summary="Stop a run at its next step")
def stop(context: Writing, run: str) -> answers.RunSummary:
    """It saves a checkpoint and can be resumed."""
    found = views.find(context, run)
    submit.stop(context, found.id)
    return views.summary(context, found.id)


@router.post("/runs/{run}/resume", summary="Resume a stopped or failed run")
def resume(context: Writing, run: str, asked: bodies.Resume | None = None) -> answers.RunSummary:
    """It goes on from its latest checkpoint."""
    found = views.find(context, run)
    submit.resume(context, found.id, asked.without if asked else None)
    return views.summary(context, found.id)
