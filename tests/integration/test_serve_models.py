"""`ganboard serve` as a process: it announces itself, answers, and at SIGTERM finishes what it
has."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from ganboard.worker.context import Context
from ganboard.worker.registry import versions
from tests.integration.test_serve import environment
from tests.polling import wait_until
from tests.registered import GAN3D, config, finished


@pytest.fixture
def served(context: Context) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The process, and its address."""
    run, _ = finished(context, config(GAN3D))
    versions.add(context, run, "showers")
    path = context.settings.state / "serve.log"
    words = [
        sys.executable,
        "-c",
        "from ganboard.worker.cli.main import app; app()",
        "serve",
        "showers",
        "--port",
        "0",
    ]
    with path.open("wb") as log:
        process = subprocess.Popen(
            words, env=environment(context.settings.state), stdout=log, stderr=log
        )
    try:
        found = wait_until(
            lambda: re.search(r"Serving showers:1 \(float32\) on (\S+)", path.read_text()),
            seconds=60,
            what="the address",
        )
        yield process, found[1]
    finally:
        process.kill()
        process.wait(10)


@pytest.mark.thorough
def test_sigterm_lets_it_finish_what_it_has(served: tuple[subprocess.Popen[bytes], str]) -> None:
    process, address = served
    asked, each = 8, 16

    def ask(seed: int) -> int:
        return httpx.post(
            f"{address}/generate", json={"energies": [100.0] * each, "seed": seed}, timeout=60
        ).status_code

    def arrived() -> bool:
        metrics = httpx.get(f"{address}/metrics", timeout=60).text
        figures = re.findall(
            r"^ganboard_serve_(?:waiting_examples|examples_total)\{.*\} (\S+)$",
            metrics,
            re.MULTILINE,
        )
        return sum(map(float, figures)) >= asked * each

    with ThreadPoolExecutor(asked) as pool:
        answers = [pool.submit(ask, seed) for seed in range(asked)]
        wait_until(arrived, seconds=30, every=0.01, what="all requests")
        process.send_signal(signal.SIGTERM)
        statuses = [answer.result(60) for answer in answers]
    assert set(statuses) == {200}
    assert process.wait(30) in (0, -signal.SIGTERM)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/healthz", timeout=5)
