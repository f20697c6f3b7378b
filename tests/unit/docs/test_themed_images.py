"""docs.generator.themed_images: pictures in light and dark."""

from __future__ import annotations

from pathlib import Path

from PIL import Image
from sphinx.application import Sphinx


def test_a_picture_with_a_dark_sibling_becomes_both(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in ("both-light", "both-dark", "alone-light"):
        Image.new("RGB", (2, 2)).save(source / f"{name}.webp")
    (source / "index.rst").write_text(
        "Page\n====\n\n.. image:: both-light.webp\n   :alt: Runs\n\n.. image:: alone-light.webp\n"
    )
    extensions = ["docs.generator.themed_images"]
    confoverrides = {"extensions": extensions}
    out = tmp_path / "out"
    Sphinx(source, None, out, out / ".doctrees", "html", confoverrides, None).build()
    html = (out / "index.html").read_text()
    assert '<img alt="Runs" class="only-light" src="_images/both-light.webp"' in html
    assert '<img alt="Runs" class="only-dark" src="_images/both-dark.webp"' in html
    assert html.count("alone-light.webp") >= 1
    assert html.count("only-") == 2
