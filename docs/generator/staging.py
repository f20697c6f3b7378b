"""The source tree of the site: the pages of docs/, those of the repository's root, and the
generated ones."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OF_ROOT = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")  # become siblings of docs/*.md
SEARCH = re.compile(r"\]\(((?:\.\./)*)search\.md")
IGNORED = shutil.ignore_patterns("__pycache__", "generator", "before", "conf.py")


def stage(target: Path, generated: Mapping[str, str]) -> None:
    """Fill the folder `target` with the pages of the site, and with nothing else.

    `generated` has the text of pages by their paths below docs/. Raises FileExistsError if one of
    these is a file there: a page is either written or generated.

    docs/search.md becomes searches.md, since Sphinx has a page search.html of its own.
    """
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(DOCS, target, ignore=IGNORED)
    for name in OF_ROOT:
        text = (ROOT / name).read_text(encoding="utf-8")
        (target / name).write_text(text.replace("](docs/", "]("), encoding="utf-8")
    for name, text in generated.items():
        path = target / name
        if path.exists():
            raise FileExistsError(f"docs/{name} would be overwritten: it is generated from code.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (target / "search.md").rename(target / "searches.md")
    for path in target.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(SEARCH.sub(r"](\1searches.md", text), encoding="utf-8")
