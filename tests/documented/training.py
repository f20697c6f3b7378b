"""What only a training leaves: a run with checkpoints, versions of its generator, and a run of
pix2pix. Each in a process of its own, as TensorFlow stays in the process that has loaded it."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests.documented.home import Prepared
from tests.documented.session import program
from tests.unit.gan.models.gan3d.data.test_records import events, written

DIGITS = ("dataset=digits", "latent_dim=8", "quality_images=200")
STREET = ("dataset=flow", "images_path=street", "limit=16", "epochs=1", "quality_every=0")


def trained(prepared: Prepared) -> Prepared:
    """With the runs and models in the working directory, which is that of `prepared`."""
    written(prepared.folder / "Ele_100_200_000.tfrecords", *events())
    flow = _ganboard("train", "--preset", "vortex_street_tiny", *_set(STREET))["id"]
    run = _ganboard("train", "--preset", "tiny", *_set(DIGITS))["id"]
    _ganboard("models", "add", run, "--name", "real")
    _ganboard("models", "quantize", "real:1", "--to", "float16", "--limit", "100")
    latest = {"RUN": run, "7k3": run, "9xq": run, "latest": run, "4680": "8", "--epoch 20": "2"}
    versions = {"digits:1": "real:1", "digits:2": "real:2", "digits@production": "real:1"}
    predict = {"RUN": flow}
    words = {**prepared.words, "ganboard": latest}
    for command in ("compare", "quantize", "publish"):
        words[f"ganboard models {command}"] = versions
    words["ganboard serve"] = versions
    words["ganboard predict"] = predict
    for command in ("claims", "report", "search"):
        words[f"ganboard {command}"] = {**words.get(f"ganboard {command}", {}), "latest": "latest"}
    return Prepared(prepared.folder, words)


def _set(settings: tuple[str, ...]) -> list[str]:
    return [word for one in settings for word in ("--set", one)]


def _ganboard(*words: str) -> Any:
    done = subprocess.run(
        [program("ganboard"), *words, "--json"], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
