"""What README.md and the documentation link to is there."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from docs.generator.pages import generated

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
# by `make docs`, which follows links to them
GENERATED = {ROOT / "docs" / name for name in generated()} | {ROOT / "docs/reference/index.md"}
SOURCES = re.compile(r'(?:src|srcset|href)="([^"]+)"')


def tokens(page: Path) -> list[Token]:
    parsed = MarkdownIt("gfm-like", {"linkify": False}).parse(page.read_text())
    return [token for one in parsed for token in (one, *(one.children or ()))]


def links(page: Path) -> set[str]:
    """Targets of links and pictures, in Markdown and in HTML."""
    found: set[str] = set()
    for token in tokens(page):
        found |= {str(token.attrs[name]) for name in ("href", "src") if name in token.attrs}
        if token.type in ("html_block", "html_inline"):
            found |= set(SOURCES.findall(token.content))
    return found


def anchors(page: Path) -> set[str]:
    """Of the headings, as GitHub makes them."""
    found: dict[str, int] = {}
    parsed = MarkdownIt("gfm-like", {"linkify": False}).parse(page.read_text())
    for token, following in pairwise(parsed):
        if token.type == "heading_open":
            text = "".join(child.content for child in following.children or ())
            name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            found[name] = found.get(name, -1) + 1
    return {f"{name}-{number}" if number else name for name, most in found.items()
            for number in range(most + 1)}  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        if (page.parent / path).resolve() in GENERATED:
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert ROOT in (target, *target.parents), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link


def test_the_readme_has_one_film_and_three_pictures_in_both_themes() -> None:
    pictures = {link for link in links(ROOT / "README.md") if "docs/images/" in link}
    shown = {link for link in pictures if link.endswith(("gif", "webp"))}
    light = {link for link in shown if link.endswith("-light.webp")}
    dark = {link.replace("-light", "-dark") for link in light}
    assert len(light) == 3
    assert shown == {"docs/images/tour.gif"} | light | dark
