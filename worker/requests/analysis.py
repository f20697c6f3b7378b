"""`python -m ganboard.worker.requests.analysis`, the analysis worker: computes the requested loss
surfaces, predictions, evaluations, versions of models and files of networks, one after another, and
ends when none waits.

The inference worker starts it (`AnalysisWorker.ensure`), so that TensorFlow's memory goes when it
ends and images are generated meanwhile.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

from ganboard.db import requests
from ganboard.db.models import Request
from ganboard.db.runs import queries
from ganboard.gan import config as configs
from ganboard.gan.config import ConfigError
from ganboard.gan.landscape import geometry
from ganboard.gan.landscape.geometry import LandscapeError
from ganboard.gan.settings import registry
from ganboard.gan.settings.references import resolve
from ganboard.worker import logs
from ganboard.worker.artifacts import picture_caches, transfers
from ganboard.worker.context import Context, open_context
from ganboard.worker.process.parent_death import die_with_named_parent, environment_for_child
from ganboard.worker.requests import evaluation, loop, network_files, versions
from ganboard.worker.requests.loop import OnProgress

NICE = 10  # trainings go first
QUEUES = (
    requests.MODELS,
    requests.NETWORK_FILES,
    requests.ANALYSES,
    requests.EVALUATIONS,
)  # in the order in which they are looked at


def compute(
    context: Context, request: Request, on_progress: OnProgress
) -> tuple[bytes, dict[str, Any]]:
    """The result and the facts of a surface, a prediction, an evaluation, a version of a model or a
    network as a file. Raises errors in one sentence, and Withdrawn."""
    picture_caches.offer(context)
    if request.kind in (requests.REGISTRATION, requests.QUANTIZATION):
        return versions.compute(context, request, on_progress)
    if request.kind == requests.NETWORK_FILE:
        return network_files.compute(context, request, on_progress)
    if request.kind == requests.SURFACE:
        return _compute_surface(context, request, on_progress)
    if request.kind == requests.EVALUATION:
        return evaluation.compute(context, request.run_id, on_progress)
    run = queries.find_run(context.engine, request.run_id)
    analyses = registry.known(run.config).spec.analyses
    if request.kind not in analyses:
        raise ConfigError(
            f"Run {run.id} has model={configs.model_of(run.config)}, which offers no"
            f" {request.kind}. Choose a run of another model."
        )
    found: tuple[bytes, dict[str, Any]] = resolve(analyses[request.kind])(
        context, run, request.options, on_progress
    )
    return found


def _compute_surface(
    context: Context, request: Request, on_progress: OnProgress
) -> tuple[bytes, dict[str, Any]]:
    asked = geometry.parse(request.options)
    ids = [request.run_id, *request.others]
    found = {run.id: run for run in queries.get_runs(context.engine, ids)}
    if gone := [run_id for run_id in ids if run_id not in found]:
        raise LandscapeError(f"Run {gone[0]} has been deleted. Repeat the request without it.")
    for run_id in ids:
        transfers.ensure(context, run_id)
        transfers.fetch_snapshots(context, run_id)
    on_progress("warming", 0.0)
    from ganboard.gan.landscape import compute as landscape

    runs = [
        (configs.parse(found[run_id].config), context.settings.run_dir(run_id)) for run_id in ids
    ]
    arrays, facts = landscape.compute(runs, asked, context.settings.data, on_progress)
    return geometry.pack(arrays), facts


def _compute_here(
    context: Context, request: Request, on_progress: OnProgress
) -> tuple[bytes, dict[str, Any]]:
    """`compute`, but another process takes what this one would compute with other bits: it gives
    the claim back and ends."""
    run = queries.get_run(context.engine, request.run_id)
    is_evaluation = request.kind == requests.EVALUATION
    if not evaluation.fits(is_evaluation and run is not None and bool(run.config.get("xla"))):
        sys.exit(0)
    return compute(context, request, on_progress)


class AnalysisWorker:
    """The process, started when a request waits and none is running."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._process: subprocess.Popen[bytes] | None = None

    def ensure(self) -> None:
        """To be called again and again. Raises SQLAlchemyError."""
        if self._process is not None and self._process.poll() is None:
            return
        self._process = None
        engine = self._context.engine
        if any(requests.waiting(engine, queue) for queue in QUEUES):
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ganboard.worker.requests.analysis"],
                env=environment_for_child(),
            )


def main() -> None:
    """Compute until nothing waits, or SIGTERM."""
    die_with_named_parent(signal.SIGTERM)
    os.nice(NICE)
    logs.configure()
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda *_: sys.exit(0))
    context = open_context()
    while any(loop.answer_next(context, queue, _compute_here) for queue in QUEUES):
        pass


if __name__ == "__main__":
    main()
