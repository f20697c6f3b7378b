"""docs.generator.links: what is wrong with a built site."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.generator.links import problems


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "below").mkdir()
    (tmp_path / "style.css").write_text("")
    (tmp_path / "below" / "other.html").write_text('<h2 id="part one">x</h2>')
    return tmp_path


def page(site: Path, html: str) -> list[str]:
    (site / "index.html").write_text(html)
    return problems(site)


@pytest.mark.parametrize(
    "html",
    [
        '<a href="below/other.html#part%20one">x</a><link rel="stylesheet" href="style.css?v=1">',
        '<a href="#">top</a><a href="#here">x</a><p id="here">',
        '<a href="https://example.org/far#away">x</a><a href="mailto:a@example.org">x</a>',
        '<img src="data:image/png;base64,AA=="><link rel="index" href="below/other.html">',
    ],
)
def test_what_exists_may_be_linked_to(site: Path, html: str) -> None:
    assert page(site, html) == []


@pytest.mark.parametrize(
    ("html", "sentence"),
    [
        ('<a href="gone.html">x</a>', "index.html links to gone.html, which does not exist."),
        ('<a href="below">x</a>', "index.html links to below, which does not exist."),
        ('<img src="gone.png">', "index.html links to gone.png, which does not exist."),
        (
            '<a href="below/other.html#two">x</a>',
            "index.html links to below/other.html#two, and that page has no such anchor.",
        ),
        ('<a href="#two">x</a>', "index.html links to #two, and that page has no such anchor."),
        (
            '<script src="https://example.org/x.js"></script>',
            "index.html loads https://example.org/x.js from another host.",
        ),
        (
            '<link rel="preconnect" href="//example.org/">',
            "index.html loads //example.org/ from another host.",
        ),
    ],
)
def test_what_is_wrong_has_a_sentence(site: Path, html: str, sentence: str) -> None:
    assert page(site, html) == [sentence]
