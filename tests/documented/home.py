"""What the documentation assumes to be there: a state directory with runs, models, a study, a
claim and a search, in `.ganboard` of a working directory, and the files beside it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ganboard.db import versions
from ganboard.db.runs import holders
from ganboard.db.settings import Settings
from ganboard.gan.models.pix2pix.flow import frames
from ganboard.gan.models.pix2pix.flow.obstacle import Obstacle
from ganboard.gan.models.pix2pix.flow.recording import Case, Recording
from ganboard.worker.context import Context, open_context
from tests.cli import document, ganboard
from tests.factories import make_run, make_worker, png
from tests.receivers import web_receiver
from tests.unit.worker.claims.pairs import stated
from tests.versions import add_version

PICTURES = 80
SCRIPT = """
import ganboard
with ganboard.start("mine", {"batch_size": 16}) as run:
    for step in range(1, 9):
        run.log(step, g_loss=1 / step, d_loss=1.0)
"""
Words = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Prepared:
    """The working directory, and what placeholders stand for, by the beginning of a command."""

    folder: Path
    words: Words


def prepare(migrated_file: Path, folder: Path, address: str) -> Prepared:
    """Fill the empty `folder`, which is the working directory; alerts go to `address`."""
    shutil.copyfile(migrated_file, Settings().prepare_home() / migrated_file.name)
    context = open_context()
    _files(folder, address)
    _data(folder / ".ganboard" / "data")
    words = {**_claims_and_searches(context), **_runs(context)}
    _models(context)
    ganboard("alerts", "add-channel", "hook", "--kind", "webhook", "--secret-file", "address")
    _written(words[""]["RUN"])
    context.engine.dispose()
    return Prepared(folder, words)


def _claims_and_searches(context: Context) -> dict[str, dict[str, str]]:
    """One stopped and, of searches, one running."""
    claim = stated(context).id
    ganboard("claims", "stop", claim)
    start = ("search", "start", "--preset", "tiny", "--vary", "g_learning_rate=1e-5..1e-2")
    stopped = document(*start)["search"]
    ganboard("search", "stop", stopped)
    document(*start)
    ganboard("study", "paper", "--preset", "tiny", "--set", "dataset=digits", "--seeds", "1")
    token = document("token", "create", "old", "--owner", "olga")["id"]
    return {
        "ganboard claims": {"k7m": claim},
        "ganboard search": {"k7m": stopped},
        "ganboard token": {"k7m2abcdef": token},
    }


def _runs(context: Context) -> dict[str, dict[str, str]]:
    """One of each state that the commands need, and last a finished one with quality: `latest`."""
    sweep = document("sweep", "--preset", "tiny", "--vary", "batch_size=16,32")["sweep"]
    make_worker(context)
    queued = make_run(context, "queued", status="queued").id
    stopped = make_run(context, "stopped", status="stopped").id
    checkpoint = holders.newest(context.engine, stopped)
    assert checkpoint is not None
    holders.adopt(context.engine, checkpoint, "lab3")
    deleted = make_run(context, "deleted").id
    ganboard("delete", deleted)
    archived = make_run(context, "archived").id
    ganboard("archive", archived)
    ganboard("export", make_run(context, "exported").id, "exported")
    ganboard("delete", "latest", "--permanently", "--yes")
    other = make_run(context, "paper", quality_every=1, seed=1).id
    run = make_run(context, "paper", quality_every=1).id
    return {
        "": {"RUN": run, "7k3": run, "9xq": other, "ID": sweep, "01j9": sweep},
        "ganboard show": {"latest": run},
        "ganboard explain": {"latest": run},
        "ganboard stop": {"RUN": queued},
        "ganboard resume": {"RUN": stopped, "MACHINE": "lab3"},
        "ganboard priority": {"RUN": queued},
        "ganboard undelete": {"RUN": deleted},
        "ganboard unarchive": {"RUN": archived},
    }


def _models(context: Context) -> None:
    first = add_version(context)
    add_version(context, parent=first)
    versions.alias(context.engine, first, "production")


def _files(folder: Path, address: str) -> None:
    for name in ("address", "slack-address"):
        (folder / name).write_text(address)
    for name in ("password", "client-secret", "ganboard.dump", "state.tar"):
        (folder / name).write_text("secret")
    (folder / "train.py").write_text(SCRIPT)
    (folder / "pod.yaml").write_text("spec: {containers: [{name: ganboard, image: ganboard}]}")
    pd.DataFrame({"_step": [0, 1], "_timestamp": [0, 1], "g_loss": [1.0, 2.0]}).to_csv(
        folder / "history.csv", index=False
    )


def _data(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    images = np.random.default_rng(0).integers(0, 256, (600, 28, 28), np.uint8)
    labels = np.arange(600, dtype=np.uint8) % 10
    sets = {"x_train": images, "x_test": images[:9], "y_train": labels, "y_test": labels[:9]}
    np.savez(folder / "mnist.npz", **sets)
    pictures = folder / "emoji"
    pictures.mkdir()
    for number in range(PICTURES):
        (pictures / f"{number}.png").write_bytes(png(number))
    (folder.parents[1] / "user").mkdir()
    shutil.copytree(pictures, folder.parents[1] / "user" / "pictures")
    circle = Obstacle("circle", 6)
    cases = (Case(circle, 60), Case(circle, 70, held_out=True))
    frames.write(folder / "street", Recording(cases, (64, 64), frames=30, discard=20, every=2))


def _written(run: str) -> None:
    """What other commands, or other machines, would have left in the working directory."""
    ganboard("tensorboard", run, "events")
    ganboard("backup", "backup.zip")
    ganboard("data", "showers", "a.h5", "--events", "20")
    shutil.copy("a.h5", "b.h5")
    shutil.copytree(".ganboard/data/street", "streets")


@contextmanager
def receiver() -> Iterator[str]:
    """The address of a web server that takes alerts."""
    with web_receiver() as found:
        yield found.url
