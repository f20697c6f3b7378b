"""docs.generator.markdown: plain text stays what it is, also in a table."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from docs.generator.markdown import table, text


def rendered(markdown: str) -> str:
    return MarkdownIt("commonmark").enable("table").render(markdown)


@pytest.mark.parametrize(
    "plain", ["2 < 3", "a*b*c", "_x_ and __y__", "d_loss", "[1, 2] (x)", r"a\*b", "one ` only"]
)
def test_characters_of_markdown_stay_characters(plain: str) -> None:
    shown = plain.replace("<", "&lt;")
    assert rendered(text(plain)) == f"<p>{shown}</p>\n"


def test_code_stays_code_and_pages_become_links() -> None:
    shown = rendered(text("see `a<b|c`, docs/first-day.md"))
    assert "<code>a&lt;b|c</code>" in shown
    assert '<a href="../first-day.md">docs/first-day.md</a>' in shown


def test_a_cell_may_hold_bars_and_lines() -> None:
    shown = rendered(table(("setting", "allowed"), [("`x`", "a | b\nc")]))
    assert "<td><code>x</code></td>\n<td>a | b c</td>" in shown
