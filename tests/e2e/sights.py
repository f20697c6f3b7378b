"""Every page of the dashboard with something on it: what the tests of appearance, access and errors
walk through."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from playwright.sync_api import Page, expect

from ganboard.db import studies
from ganboard.db.models import Run, Study
from ganboard.gan.studies import FIGURES
from ganboard.worker.context import Context
from tests.factories import make_worker
from tests.scale.tab import new_tab
from tests.surfaces import make_surface

VIEWPORTS = {"desktop": {"width": 1280, "height": 720}, "phone": {"width": 390, "height": 844}}
TABS = "[data-testid=stTabs] [role=tab]"
PATIENCE = 60_000  # milliseconds


def furnish(context: Context, make_run: Callable[..., Run]) -> list[Run]:
    """Runs as a person would have them: two to compare, one that trains, one that waits, one that
    failed."""
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
    asked = {
        "purpose": "What does bfloat16 cost?",
        "parts": [{"vary": {"precision": []}}],
        "figures": list(FIGURES),
    }
    study = Study(name="mine", title="Precision", definition=asked)
    studies.store(
        context.engine, study, counted={"precision": [run.id for run in runs[:2]]}, missing=[]
    )
    make_surface(context, [run.id for run in runs[:2]])
    make_surface(context, [runs[0].id])
    return runs


def walk(page: Page, server: str, runs: list[Run]) -> Iterator[str]:
    """Open every page that there is, and every tab of those that have some; yields the name of what
    is open."""
    queries = {"run": f"?run={runs[0].id}", "compare": f"?runs={runs[0].id},{runs[1].id}"}
    with new_tab(server) as tab:  # a phone shows the navigation behind a button
        tab.open()
        paths = tab.pages
    assert {"launch", "run", "compare", "system"} <= set(paths), paths
    for path in paths:
        page.goto(f"{server}/{path}{queries.get(path, '')}")
        settled(page)
        yield path or "runs"
        if path in queries:
            tabs = page.locator(TABS)
            for label in tabs.all_inner_texts()[1:]:
                tabs.get_by_text(label, exact=True).click()
                settled(page)
                yield f"{path}-{label.lower().replace(' ', '-')}"


def settled(page: Page) -> None:
    """Wait until the script has run and what it drew stands."""
    expect(page.get_by_test_id("stHeading").first).to_be_visible(timeout=PATIENCE)
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible(
        timeout=PATIENCE
    )
    expect(page.locator(".live-plotly:empty")).to_have_count(0, timeout=PATIENCE)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=PATIENCE)
