"""The tab Quality of a 3DGAN and of a pix2pix run in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from ganboard.db.models import Run
from ganboard.db.runs import reports
from ganboard.gan.models.gan3d.data.sampler import PER_GEV, Sampler
from ganboard.gan.models.gan3d.evaluation import comparison
from ganboard.gan.models.gan3d.observables import Observed
from ganboard.worker.context import Context
from tests.e2e.sights import settled

PLOT = ".live-plotly.js-plotly-plot"


def observed(seed: int) -> Observed:
    showers = list(Sampler(seed=seed).events(60))
    cells = np.stack([shower.cells for shower in showers]) / np.float32(PER_GEV)
    return Observed.of(
        cells,
        *(np.array([getattr(shower, name) for shower in showers]) for name in ("energy", "theta")),
    )


@pytest.mark.thorough
@pytest.mark.slow
def test_showers_and_flows_are_evaluated_in_their_own_measures(
    page: Page,
    server: str,
    context: Context,
    make_run: Callable[..., Run],
    complaints: list[str],
    shot: Callable[[str], None],
) -> None:
    page.set_viewport_size({"width": 1280, "height": 2600})
    showers = make_run(
        "showers", epochs=5, status="running", quality_every=1, model="gan3d", dataset="showers"
    )
    validation = comparison.validation(comparison.compare(observed(1), observed(2)), 60)
    reports.add_facts(
        context.engine, run_id=showers.id, attempt=1, values={"validation": validation.model_dump()}
    )
    page.goto(f"{server}/run?run={showers.id}&view=Quality")
    expect(page.get_by_text("60 generated and as many real showers")).to_be_visible(timeout=90_000)
    expect(page.locator(PLOT)).to_have_count(6 + 9 + 2, timeout=90_000)
    settled(page)
    shot("run_quality_showers")

    flows = make_run(
        "flows",
        epochs=5,
        quality_every=1,
        model="pix2pix",
        dataset="vortex_street",
        geometry="64x64",
    )
    page.goto(f"{server}/run?run={flows.id}&view=Quality")
    expect(page.get_by_text("mean absolute difference of fields")).to_be_visible()
    expect(page.locator(PLOT)).to_have_count(1)
    expect(page.locator(PLOT).get_by_text("L1 of a static flow")).to_be_visible()
    shot("run_quality_flows")
    assert complaints == []
