"""The latent wall in a real browser: pointer, keys, the curve, one latent enlarged, its address."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from ganboard.db.models import Run
from tests.e2e.until import until

MakeRun = Callable[..., Run]
# dark and light pixels where tiles are
SHOWN = """() => {
    const roots = (root) => [...root.querySelectorAll('*')].map((e) => e.shadowRoot);
    const find = (root) => root.querySelector('canvas.tiles')
        ?? roots(root).filter(Boolean).map(find).find(Boolean);
    const canvas = find(document);
    const pixels = canvas.getContext('2d').getImageData(200, 60, 40, 40).data;
    return new Set(pixels).size > 20;
}"""


def test_tiles_and_points_belong_together(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    runs = [
        make_run("one", epochs=4, quality_every=1),
        make_run("two", epochs=4, quality_every=2, xla=True),
        make_run("other seed", epochs=4, seed=1),
    ]
    asked: list[str] = []
    page.on("request", lambda request: "strips.png" in request.url and asked.append(request.url))
    address = f"{server}/compare?runs={','.join(run.id for run in runs)}&part=Latent+wall"
    page.goto(address)
    tiles, said = page.locator("canvas.tiles"), page.locator("#wall-said")
    expect(page.get_by_text("different latents")).to_contain_text("“other seed” (seed=1)")
    tiles.scroll_into_view_if_needed()
    until(page, SHOWN)
    assert all(any(run.id in url for url in asked) for run in runs[:1])
    # a tile marks its point
    tiles.hover(position={"x": 150 + 30, "y": 24 + 30})
    expect(said).to_contain_text("one · epoch 1 · latent 2 of 16 · FID")
    tiles.hover(position={"x": 20, "y": 5})
    expect(said).to_have_text("")
    # keys move from tile to tile, and say where nothing was evaluated
    tiles.focus()
    page.keyboard.press("Home")
    for _ in range(16):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("two · epoch 1 · latent 1 of 16 · FID (classifier) not evaluated")
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("two · epoch 2 · latent 1 of 16 · FID (classifier) ")
    # a point marks its column
    page.locator("canvas.curve").focus()
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("two · epoch 4 · FID")
    page.keyboard.press("ArrowUp")
    expect(said).to_contain_text("one · epoch 4 · FID")
    # one latent, in the runs that share it; the address reopens it
    tiles.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_have_text("Latent 1 of 16")
    expect(dialog.get_by_text("2 of 3 runs have this latent.")).to_be_visible()
    expect(dialog.locator("figure")).to_have_count(2)
    dialog.get_by_role("button", name="The next one").click()
    dialog.get_by_role("button", name="The epoch before").click()
    expect(dialog.get_by_role("status")).to_have_text("After epoch 3 · 4 of 5")
    assert f"latent=2&of={runs[0].id}&at=3" in page.url
    page.goto(page.url)
    expect(dialog.get_by_role("heading")).to_have_text("Latent 2 of 16")
    expect(dialog.get_by_role("status")).to_have_text("After epoch 3 · 4 of 5")
    dialog.get_by_role("button", name="Play").click()
    expect(dialog.get_by_role("status")).to_have_text("After epoch 4 · 5 of 5")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    until(page, "() => !location.search.includes('latent')")
    assert complaints == []


def test_many_runs_stand_in_bands(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    runs = [make_run(name, epochs=2, seed=seed) for seed, name in enumerate("abcdef")]
    page.goto(f"{server}/compare?runs={','.join(run.id for run in runs)}&part=Latent+wall")
    expect(page.get_by_text("6 groups with different latents (seed)")).to_be_visible()
    tiles, said = page.locator("canvas.tiles"), page.locator("#wall-said")
    tiles.scroll_into_view_if_needed()
    until(page, SHOWN)
    # all six are in sight
    box = tiles.bounding_box()
    assert box
    seen = set()
    for across in range(60, int(box["width"]), 30):
        for down in range(40, int(box["height"]), 150):
            tiles.hover(position={"x": across, "y": down})
            seen.add((said.text_content() or "")[:1])
    assert set("abcdef") <= seen
    # keys cross the border between two blocks
    tiles.focus()
    page.keyboard.press("End")
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("b · before training · latent 1 of 16")
    page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text("a · epoch 2 · latent 1 of 16")
    assert complaints == []


def test_a_click_in_the_player_enlarges_one_image(
    make_run: MakeRun, server: str, page: Page, complaints: list[str]
) -> None:
    run = make_run(epochs=3, quality_every=1)
    page.goto(f"{server}/run?run={run.id}&view=Images&at=2")
    image = page.locator(".generated img")
    expect(image).to_be_visible()
    box = image.bounding_box()
    assert box
    # the second of the third row of 4 x 4
    image.click(position={"x": box["width"] * 0.4, "y": box["height"] * 0.6})
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_have_text("Latent 10 of 16")
    expect(dialog.get_by_role("status")).to_have_text("After epoch 2 · 3 of 4")
    expect(dialog.locator("figcaption")).to_contain_text("FID (classifier)")
    dialog.get_by_role("button", name="Close").click()
    until(page, "() => location.search.endsWith('at=2')")
    assert complaints == []
