"""Draws docs/images anew from a running dashboard with at least two finished runs, or the pages
that are named from any:

python -m tests.e2e.pictures http://127.0.0.1:8501 docs/images
python -m tests.e2e.pictures http://127.0.0.1:8501 docs/images launch models
"""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from tests import chromium
from tests.e2e.sights import TABS, settled
from tests.e2e.until import until

SCHEMES = ("light", "dark")
TALL = {"width": 1280, "height": 960}


def main(url: str, folder: str, *only: str) -> None:
    with urllib.request.urlopen(f"{url}/api/runs?status=finished") as answer:
        finished = [run["id"] for run in json.load(answer)]
    assert only or len(finished) >= 2, "at least two finished runs are needed"
    newest = next(iter(finished), "")
    sights = {
        "runs": "", "launch": "launch", "run": f"run?run={newest}",
        "compare": f"compare?runs={','.join(finished[-3:])}",
        "playground": f"playground?run={newest}", "studies": "studies", "models": "models",
        "system": "system",
    }  # fmt: skip
    names = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium.find(), args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        for scheme in SCHEMES:
            page = browser.new_page(viewport=TALL, color_scheme=scheme)  # type: ignore[arg-type]
            for name in only or sights:
                page.goto(f"{url}/{sights[name]}")
                names += _draw(page, Path(folder), name, scheme)
        browser.close()
    if only:
        return
    parts = [
        f"## {name}\n\n"
        + "\n".join(f"![{name}, {scheme}]({name}-{scheme}.png)" for scheme in SCHEMES)
        for name in dict.fromkeys(names)
    ]
    head = (
        "# Pictures\n\nEvery page of the dashboard in light and dark, as headless Chromium drew it"
        " on two CPU cores (1280x960).\n\n"
    )
    Path(folder, "README.md").write_text(head + "\n\n".join(parts) + "\n")


def _shoot(page: Page, path: Path) -> None:
    """Once every image that can be seen is loaded."""
    until(
        page,
        "() => [...document.images].every(i => !i.offsetParent || (i.complete && i.naturalWidth))",
        seconds=60,
    )
    page.screenshot(path=path)


def _draw(page: Page, folder: Path, name: str, scheme: str) -> list[str]:
    settled(page)
    if name in ("run", "compare"):
        expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=60_000)
    if name == "playground":
        # the first drawing loads TensorFlow
        expect(page.locator(".picture").nth(15)).to_be_visible(timeout=90_000)
    _shoot(page, folder / f"{name}-{scheme}.png")
    drawn = [name]
    if name in ("run", "compare"):
        tabs = page.locator(TABS)
        for label in tabs.all_inner_texts()[1:]:
            tabs.get_by_text(label, exact=True).click()
            settled(page)
            drawn.append(f"{name}-{label.lower().split()[-1]}")
            _shoot(page, folder / f"{drawn[-1]}-{scheme}.png")
    return drawn


if __name__ == "__main__":
    main(*sys.argv[1:])
