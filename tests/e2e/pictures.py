"""Draws docs/images anew from a running dashboard with at least two finished runs, or the pages
that are named from any:

python -m tests.e2e.pictures http://127.0.0.1:8501 docs/images --colour RUN
python -m tests.e2e.pictures http://127.0.0.1:8501 docs/images launch models

The pictures as they were before are kept in docs/images/before, and shown beside the new ones.
"""

from __future__ import annotations

import argparse
import io
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from tests import chromium
from tests.e2e.sights import TABS, settled
from tests.e2e.until import until

SCHEMES = ("light", "dark")
TALL = {"width": 1280, "height": 960}
PLOT = ".js-plotly-plot"
QUALITY = 88  # of WebP
WITH_CHARTS = ("run", "compare", "frontier", "searches", "claims")
TABBED = ("run", "compare")
OF_COLOURS = ("Images", "Latent wall")


def main(url: str, folder: Path, only: list[str], run: str, colour: str) -> None:
    with urllib.request.urlopen(f"{url}/api/runs?status=finished") as answer:
        found = json.load(answer)
    finished = [run["id"] for run in found]
    assert only or len(finished) >= 2, "at least two finished runs are needed"
    shown = run or next(iter(finished), "")
    data = {run["id"]: run["config"].get("dataset") for run in found}
    alike = [one for one in finished if one != shown and data[one] == data.get(shown)]
    compared = [shown, *alike[-3:]]
    sights = {
        "runs": "", "launch": "launch", "run": f"run?run={shown}",
        "compare": f"compare?runs={','.join(compared)}", "frontier": "frontier",
        "searches": "searches", "studies": "studies", "claims": "claims", "models": "models",
        "playground": f"playground?run={shown}", "system": "system",
    }  # fmt: skip
    if colour:
        sights |= {
            f"colour-{view.lower().split()[-1]}": f"run?run={colour}&view={view}"
            for view in OF_COLOURS
        }
    names: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium.find(), args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        for scheme in SCHEMES:
            page = browser.new_page(viewport=TALL, color_scheme=scheme)  # type: ignore[arg-type]
            for name in only or sights:
                page.goto(f"{url}/{sights[name]}")
                names += _draw(page, folder, name, scheme)
        browser.close()
    if not only:
        _list(folder, list(dict.fromkeys(names)))


def _list(folder: Path, names: list[str]) -> None:
    """The page that shows all pictures."""

    def shown(name: str) -> Iterator[str]:
        yield f"## {name}\n"
        for scheme in SCHEMES:
            yield f"![{name}, {scheme}]({name}-{scheme}.webp)"
        if (folder / "before" / f"{name}.webp").exists():
            yield f"\nBefore:\n\n![{name}, before](before/{name}.webp)"

    head = (
        "# Pictures\n\nEvery page of the dashboard in light and dark, as headless Chromium drew it"
        " on two CPU cores (1280x960), and what it looked like before.\n\n"
    )
    parts = ["\n".join(shown(name)) for name in names]
    (folder / "README.md").write_text(head + "\n\n".join(parts) + "\n")


def _shoot(page: Page, path: Path) -> None:
    """Once every image that can be seen is loaded."""
    until(
        page,
        "() => [...document.images].every(i => !i.offsetParent || (i.complete && i.naturalWidth))",
        seconds=60,
    )
    page.wait_for_timeout(700)  # transitions of Streamlit and Plotly
    with Image.open(io.BytesIO(page.screenshot())) as image:
        image.convert("RGB").save(path, quality=QUALITY, method=6)


def _wall(page: Page) -> None:
    """Until all images that can be seen on a latent wall are there."""
    expect(page.locator("canvas.tiles")).to_have_attribute("aria-busy", "false", timeout=60_000)


def _draw(page: Page, folder: Path, name: str, scheme: str) -> list[str]:
    settled(page)
    if name in WITH_CHARTS:
        expect(page.locator(PLOT).first).to_be_visible(timeout=60_000)
    if name == "playground":
        # the first drawing loads TensorFlow
        expect(page.locator(".picture").nth(15)).to_be_visible(timeout=90_000)
    if name == "colour-wall":
        _wall(page)
    _shoot(page, folder / f"{name}-{scheme}.webp")
    drawn = [name]
    if name in TABBED:
        tabs = page.locator(TABS)
        for label in tabs.all_inner_texts()[1:]:
            tabs.get_by_text(label, exact=True).click()
            settled(page)
            if label == "Latent wall":
                _wall(page)
            drawn.append(f"{name}-{label.lower().split()[-1]}")
            _shoot(page, folder / f"{drawn[-1]}-{scheme}.webp")
    return drawn


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.pictures")
    parser.add_argument("url")
    parser.add_argument("folder", type=Path)
    parser.add_argument("only", nargs="*", help="pages to draw; all by default")
    parser.add_argument("--run", default="", help="run to show; the newest finished by default")
    parser.add_argument("--colour", default="", help="run whose images have colours")
    options = parser.parse_args()
    main(options.url.rstrip("/"), options.folder, options.only, options.run, options.colour)
