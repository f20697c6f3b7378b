"""The files that deploy ganboard elsewhere: they name metrics and commands that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from itertools import combinations
from pathlib import Path

import pytest
import yaml
from prometheus_client.exposition import generate_latest

from ganboard.app.web.metrics import REGISTRY, ROUTES
from ganboard.worker.context import Context
from tests.factories import make_run

FOLDER = Path(__file__).parents[2] / "docs" / "deploy"
OPERATIONS = FOLDER.parent / "operations.md"


def test_the_dashboard_of_grafana_asks_for_metrics_that_there_are(context: Context) -> None:
    make_run(context, epochs=1)
    served = generate_latest(REGISTRY).decode()
    known = set(re.findall(r"^([a-z_]+)[ {]", served, re.MULTILINE))
    dashboard = json.loads((FOLDER / "grafana.json").read_text())
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\b(?:ganboard|process)_[a-z_]+", target["expr"])
    }
    assert len(asked) > 10
    assert asked <= known


def test_the_panels_of_grafana_do_not_overlap() -> None:
    panels = json.loads((FOLDER / "grafana.json").read_text())["panels"]
    places = [panel["gridPos"] for panel in panels]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for one, other in combinations(places, 2):
        apart = (
            one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"],
            one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"],
        )
        assert any(apart)
    assert max(place["x"] + place["w"] for place in places) == 24


def test_the_collector_has_what_its_pipelines_name_and_scrapes_metrics() -> None:
    config = yaml.safe_load((FOLDER / "otel-collector.yaml").read_text())
    for pipeline in config["service"]["pipelines"].values():
        for kind in ("receivers", "processors", "exporters"):
            assert set(pipeline[kind]) <= set(config[kind])
    (scrape,) = config["receivers"]["prometheus"]["config"]["scrape_configs"]
    assert scrape["metrics_path"] in {route.path for route in ROUTES}
    endpoint = config["receivers"]["otlp"]["protocols"]["http"]["endpoint"]
    assert f"OTEL_EXPORTER_OTLP_ENDPOINT=http://{endpoint} " in OPERATIONS.read_text()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    """With a program that exists in place of /opt/ganboard."""
    unit = (FOLDER / "ganboard.service").read_text()
    assert "ExecStart=/opt/ganboard/bin/ganboard up " in unit
    path = tmp_path / "ganboard.service"
    path.write_text(unit.replace("/opt/ganboard/bin/ganboard", "/bin/true"))
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)], capture_output=True, text=True
    )
    assert "ganboard.service" not in checked.stderr, checked.stderr
