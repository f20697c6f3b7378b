"""What a person would have stored: of everything that pages show, something."""

from __future__ import annotations

from collections.abc import Callable

from ganboard.db import studies
from ganboard.db.alerts import rules
from ganboard.db.models import Run, Study
from ganboard.gan.studies import FIGURES
from ganboard.worker.alerts import configuration
from ganboard.worker.context import Context
from ganboard.worker.searches import rounds
from tests.factories import make_worker
from tests.surfaces import make_surface
from tests.unit.worker.claims import pairs
from tests.unit.worker.searches.conftest import RATE, start, train
from tests.versions import add_version


def furnish(context: Context, make_run: Callable[..., Run]) -> list[Run]:
    """Two runs to compare, one that trains, one that waits, one that failed; returns these. Beside
    them a claim and a search that have ended, a study, loss surfaces, a model, and an alert."""
    _claim(context)
    _search(context)
    runs = [
        make_run("float32, batch 64", epochs=6, quality_every=1, replicas=2),
        make_run(
            "bfloat16, batch 64",
            epochs=6,
            seed=3,
            precision="mixed_bfloat16",
            quality_every=1,
            seconds_per_epoch=1.4,
            replicas=2,
        ),
        make_run("trains now", status="running", epochs=2, seed=5),
        make_run("waits", status="queued", seed=6),
        make_run("broke", status="failed", epochs=1, seed=7),
    ]
    make_worker(context, run_id=runs[2].id)
    _study(context, runs[:2])
    make_surface(context, [run.id for run in runs[:2]])
    make_surface(context, [runs[0].id])
    add_version(context, add_version(context, run_id=runs[0].id), run_id=runs[0].id)
    address = "https://hooks.example.org/services/T00/B00/word"
    channel = configuration.add_channel(context, name="lab", kind="slack", secret=address)
    rules.add(context.engine, channel_id=channel.id, event=rules.FAILED)
    return runs


def _claim(context: Context) -> None:
    pairs.play(
        context,
        pairs.stated(context),
        lambda treatment, seed: (0.5 if treatment else 1.0) * (1 + 0.01 * seed),
        lambda treatment, seed: 5.0 + 0.01 * seed,
    )


def _search(context: Context) -> None:
    search = start(context, RATE, "batch_size=16,32", name="rates", runs=3)
    while made := rounds.make(context, search):
        for run in made:
            train(context.engine, run.id)


def _study(context: Context, runs: list[Run]) -> None:
    asked = {
        "purpose": "What does bfloat16 cost?",
        "parts": [{"vary": {"precision": []}}],
        "figures": list(FIGURES),
    }
    study = Study(name="mine", title="Precision", definition=asked)
    studies.store(
        context.engine, study, counted={"precision": [run.id for run in runs]}, missing=[]
    )
