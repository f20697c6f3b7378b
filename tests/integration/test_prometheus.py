"""A real Prometheus, with the configuration of docs/operations.md, scrapes the dashboard; what
Grafana would ask it is answered."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from starlette.applications import Starlette

from ganboard.app.web import metrics
from ganboard.worker.context import Context
from tests.documented.blocks import blocks
from tests.factories import make_run, make_worker
from tests.polling import wait_until
from tests.real_server import served

GRAFANA = Path(__file__).parents[2] / "docs" / "deploy" / "grafana.json"
Ask = Callable[[str], list[dict[str, Any]]]

pytestmark = [
    pytest.mark.skipif(
        not (shutil.which("prometheus") and shutil.which("promtool")),
        reason="prometheus is not installed (Debian: prometheus)",
    ),
    pytest.mark.thorough,
]


def documented() -> tuple[str, str]:
    """prometheus.yml and ganboard.yml, as the page shows them in one block."""
    (found,) = (block.text for block in blocks() if block.text.startswith("# prometheus.yml\n"))
    config, rules = found.split("# ganboard.yml\n")
    return config, rules


@pytest.fixture
def dashboard(context: Context) -> Iterator[str]:
    """Serves /metrics over a database with a run and a worker."""
    make_run(context, epochs=3, steps_per_epoch=4, batch_size=32)
    make_worker(context)
    with served(Starlette(routes=metrics.ROUTES)) as address:
        yield address.removeprefix("http://")


@pytest.fixture
def ask(dashboard: str, tmp_path: Path) -> Iterator[Ask]:
    """Queries a Prometheus that has scraped the dashboard twice, as a rate needs."""
    config, rules = documented()
    config = config.replace("127.0.0.1:8501", dashboard).replace("interval: 15s", "interval: 200ms")
    (tmp_path / "prometheus.yml").write_text(config)
    (tmp_path / "ganboard.yml").write_text(rules)
    subprocess.run(["promtool", "check", "config", "prometheus.yml"], cwd=tmp_path, check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data"]
    with subprocess.Popen(
        [*command, f"--web.listen-address={address}", "--log.level=error"], cwd=tmp_path
    ) as server:
        with httpx.Client(base_url=f"http://{address}/api/v1") as client:

            def answer(query: str) -> list[dict[str, Any]]:
                got = client.get("query", params={"query": query}).json()
                assert got["status"] == "success", got
                result: list[dict[str, Any]] = got["data"]["result"]
                return result

            def scraped_twice() -> bool:
                try:
                    (count,) = answer("count_over_time(up[1m])") or [{"value": (0, "0")}]
                except httpx.TransportError:
                    return False
                return int(count["value"][1]) >= 2

            wait_until(scraped_twice, seconds=20, what="two scrapes")
            yield answer
        server.terminate()


def test_prometheus_accepts_what_is_served(dashboard: str) -> None:
    served_text = httpx.get(f"http://{dashboard}/metrics").text
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=served_text, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_panel_of_grafana_has_values(ask: Ask) -> None:
    (up,) = ask('up{job="ganboard"}')
    assert up["value"][1] == "1"
    targets = [
        target["expr"].replace("$job", "ganboard")
        for panel in json.loads(GRAFANA.read_text())["panels"]
        for target in panel["targets"]
    ]
    assert {query for query in targets if not ask(query)} == set()
    (images,) = ask("ganboard_images_total")
    assert int(images["value"][1]) == 3 * 4 * 32


def test_every_alert_can_be_evaluated(ask: Ask) -> None:
    (group,) = yaml.safe_load(documented()[1])["groups"]
    assert len(group["rules"]) == 3
    for rule in group["rules"]:
        assert ask(rule["expr"]) == []
    # the same expressions find what they are for
    assert ask("ganboard_queue_oldest_seconds >= 0 and ganboard_workers_alive == 1")
