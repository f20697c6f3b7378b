"""Draws docs/images/tour.gif, the main journey on a running dashboard: choose a preset, launch,
watch digits appear, compare with stored runs, ask what quality costs, draw new images.

    ganboard up        # over a state directory with two or more evaluated runs
    python -m tests.e2e.film http://127.0.0.1:8501 docs/images/tour.gif

It launches a run and waits for its end. The film shows a frame for each moment, not for each
second: how much faster than life the training is shown stands below the frames.
"""

from __future__ import annotations

import io
import json
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Page, expect, sync_playwright

from tests import chromium
from tests.e2e.sights import settled
from tests.e2e.table import tick

VIEWPORT = {"width": 1280, "height": 960}
SIZE = (960, 720)
STRIP = 44  # pixels below a frame, for the words
COLOURS = 255
PRESET = DATASET = "mnist"
EVALUATED = "Quality every (epochs)"
LIMIT = 8 * 10**6  # bytes
PLOT = ".live-plotly .main-svg"
PATIENCE = 120_000  # milliseconds
SECONDS_BETWEEN = 4.0  # while a run trains
SHOWN_EACH = 0.5


@dataclass
class Film:
    page: Page
    words: str = ""
    frames: list[Image.Image] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def take(self, seconds: float) -> None:
        """What is on the page now, to be seen for so long."""
        shot = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        whole = Image.new("RGB", (SIZE[0], SIZE[1] + STRIP), "#1d2733")
        whole.paste(shot.resize(SIZE, Image.Resampling.LANCZOS))
        font = ImageFont.load_default(size=22)
        ImageDraw.Draw(whole).text((16, SIZE[1] + 8), self.words, "white", font=font)
        self.frames.append(whole)
        self.seconds.append(seconds)

    def scene(self, words: str, seconds: float = 4.0) -> None:
        settled(self.page)
        self.page.wait_for_timeout(700)  # transitions of Streamlit and Plotly
        self.words = words
        self.take(seconds)

    def save(self, path: Path) -> None:
        """With one palette for all frames, so that what stands still costs nothing."""
        chosen = self.frames[:: max(1, len(self.frames) // 12)]
        wall = Image.new("RGB", (SIZE[0], SIZE[1] * len(chosen)))
        for place, frame in enumerate(chosen):
            wall.paste(frame, (0, SIZE[1] * place))
        palette = wall.quantize(COLOURS, method=Image.Quantize.FASTOCTREE)  # keeps the rare ones
        first, *others = (
            frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in self.frames
        )
        durations = [round(1000 * seconds) for seconds in self.seconds]
        first.save(
            path, save_all=True, append_images=others, duration=durations, loop=0, optimize=True
        )


def journey(film: Film, url: str) -> None:
    page = film.page
    page.goto(url)
    film.scene("Every run that was trained: losses, images/s, quality, settings")
    table = page.get_by_test_id("stDataFrame")
    for row in range(3):
        tick(table, row)
        expect(page.get_by_text(f"{row + 1} run{'s' * (row > 0)} selected")).to_be_visible()
    film.scene("Curves of the selected runs, live, beside the table")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Commands")).to_be_visible()
    film.scene("Everything by keyboard too: a command palette, and ? lists the keys", 3.0)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Launch a run").click()
    expect(page.get_by_role("heading", name="Launch")).to_be_visible(timeout=PATIENCE)
    film.scene("A preset, or settings of your own; how long it takes is said before the start")
    page.get_by_role("button", name=f"Use {PRESET}").click()
    film.scene("The preset mnist: legible digits in minutes, on two cores", 3.0)
    faster = page.get_by_role("button", name="Use float32")
    if faster.is_visible():  # where the processor would emulate bfloat16
        faster.click()
        expect(faster).to_be_hidden()
        film.scene("Without bfloat16 instructions float32 is faster: one click", 3.0)
    search = page.get_by_placeholder("Search settings")
    search.fill("quality")
    field = page.get_by_role("textbox", name=EVALUATED, exact=True)
    expect(field).to_be_visible(timeout=PATIENCE)
    field.fill("1")
    field.press("Enter")
    film.scene("Any setting is a search away: evaluate after every epoch", 3.5)
    search.fill("")
    page.get_by_role("button", name="Launch", exact=True).click()
    expect(page.get_by_role("tab", name="Images")).to_be_visible(timeout=PATIENCE)
    training(film, url)
    player(film)
    for tab, words in (
        ("Latent wall", "The wall: each row the same noise, each column an epoch"),
        ("Quality", "FID and more after every epoch, beside that of real images"),
        ("Timings", "Where the seconds of each epoch went"),
        ("Explain", "What happened in this run, and which setting would change it"),
    ):
        page.get_by_role("tab", name=tab).click()
        film.scene(words, 4.5)
    stored = finished(url, preset=PRESET)
    page.goto(f"{url}/compare?runs={','.join(stored[:4])}")
    expect(page.locator(PLOT).first).to_be_visible(timeout=PATIENCE)
    film.scene("Stored runs side by side: what each choice gained, in words and in curves", 6.0)
    page.get_by_role("tab", name="Images").click()
    film.scene("The same noise in every run, epoch by epoch", 5.0)
    page.get_by_role("tab", name="Quality").click()
    expect(page.locator(PLOT).first).to_be_visible(timeout=PATIENCE)
    film.scene("Their quality, epoch by epoch or second by second", 4.0)
    page.goto(f"{url}/frontier?data={DATASET}")
    expect(page.locator(PLOT).first).to_be_visible(timeout=PATIENCE)
    film.scene("What quality costs: every evaluation of every run, and the front", 5.0)
    for address, words in (
        ("searches", "A search for good settings within a budget of runs"),
        ("claims", "A claim, tested with pairs of runs until the interval decides"),
    ):
        page.goto(f"{url}/{address}")
        expect(page.locator(PLOT).first).to_be_visible(timeout=PATIENCE)
        film.scene(words, 5.0)
    page.goto(f"{url}/models")
    expect(page.get_by_role("heading", name="Models")).to_be_visible(timeout=PATIENCE)
    film.scene("Versions with pictures, quality, aliases; quantised, downloaded or served", 5.0)
    page.goto(f"{url}/playground?run={stored[0]}")
    expect(page.locator(".picture").nth(15)).to_be_visible(timeout=PATIENCE)
    film.scene("New images from any stored generator", 5.0)


def training(film: Film, url: str) -> None:
    """Losses at first, then the images, until the run has ended."""
    page = film.page
    expect(page.locator(PLOT).first).to_be_visible(timeout=PATIENCE)
    [run_id] = [run["id"] for run in stored_runs(url) if run["status"] == "running"]
    speed = f"(training at {SECONDS_BETWEEN / SHOWN_EACH:.0f} times its speed)"
    for _ in range(8):
        film.scene(f"Losses arrive live, step by step {speed}", SHOWN_EACH)
        time.sleep(SECONDS_BETWEEN)
    page.get_by_role("tab", name="Images").click()
    while run_id not in finished(url):
        film.scene(f"Digits come out of the noise {speed}", SHOWN_EACH)
        time.sleep(SECONDS_BETWEEN)
    film.scene("Finished: the images of the last epoch beside real ones", 4.0)


def player(film: Film) -> None:
    """The images of all epochs, from the first one on."""
    slider = film.page.get_by_role("slider").first
    slider.press("Home")
    for _ in range(int(slider.get_attribute("max") or 0) + 1):
        film.scene("The same noise, epoch by epoch", 1.5)
        slider.press("ArrowRight")


def stored_runs(url: str) -> list[dict[str, str]]:
    """Newest first."""
    with urllib.request.urlopen(f"{url}/api/runs") as answer:
        found: list[dict[str, str]] = json.load(answer)
    return found


def finished(url: str, preset: str = "") -> list[str]:
    """Of this preset, or of all where it is empty."""
    return [
        run["id"]
        for run in stored_runs(url)
        if run["status"] == "finished" and preset in ("", run["preset"])
    ]


def main(url: str, path: str) -> None:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium.find(), args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        film = Film(browser.new_page(viewport=VIEWPORT))  # type: ignore[arg-type]
        journey(film, url)
        browser.close()
    film.save(Path(path))
    size = Path(path).stat().st_size
    print(f"{len(film.frames)} frames, {sum(film.seconds):.0f} s, {size / 1e6:.1f} MB")
    assert size <= LIMIT, f"{size:,} bytes are more than {LIMIT:,}: take fewer colours or frames"


if __name__ == "__main__":
    main(*sys.argv[1:])
