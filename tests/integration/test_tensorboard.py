"""The real TensorBoard, serving what a training and an export wrote."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ganboard.worker.context import Context
from ganboard.worker.tensorboard import stored
from tests.factories import make_run, png
from tests.polling import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def served(context: Context, tmp_path: Path) -> Iterator[httpx.Client]:
    run = make_run(context, "one", epochs=2, steps_per_epoch=4, quality_every=1, seed=5)
    stored.write(context, run, tmp_path / "logs")
    log = tmp_path / "log"
    command = [sys.executable, "-m", "tensorboard.main", "--port", "0", "--logdir"]
    with log.open("w") as output:
        server = subprocess.Popen(
            [*command, str(tmp_path / "logs")], stdout=output, stderr=subprocess.STDOUT
        )
    try:
        address = wait_until(
            lambda: re.search(r"at (http://\S+?)/? ", log.read_text()),
            seconds=60,
            what="TensorBoard",
        )
        with httpx.Client(base_url=address[1]) as client:
            yield client
    finally:
        server.terminate()
        server.wait(20)


def test_it_shows_scalars_images_histograms_and_settings(served: httpx.Client) -> None:
    def asked(path: str, **parameters: Any) -> Any:
        return served.get(f"/data/{path}", params=parameters).raise_for_status().json()

    wait_until(lambda: asked("runs"), seconds=60, what="the run")
    (run,) = asked("runs")
    assert run.startswith("one-")
    losses = asked("plugin/scalars/scalars", run=run, tag="g_loss")
    assert [step for _, step, _ in losses] == list(range(1, 9))
    assert asked("plugin/scalars/scalars", run=run, tag="quality/fid")[1][1] == 8
    histogram = asked("plugin/histograms/histograms", run=run, tag="losses/d_loss")
    assert sum(count for _, _, count in histogram[0][2]) == 4
    first = asked("plugin/images/images", run=run, tag="images/fixed_latents", sample=0)[0]
    shown = served.get(f"/data/plugin/images/individualImage?{first['query']}")
    assert shown.content == png(5)
    request = {
        "experimentName": "",
        "allowedStatuses": ["STATUS_SUCCESS"],
        "colParams": [],
        "startIndex": 0,
        "sliceSize": 5,
    }
    groups = served.post("/data/plugin/hparams/session_groups", json=request).raise_for_status()
    (group,) = groups.json()["sessionGroups"]
    assert group["hparams"]["batch_size"] == 32.0
    text = asked("plugin/text/text", run=run, tag="configuration")
    assert "<table>" in text[0]["text"]
