"""`make docs`: writes the site into build/site. Every warning of Sphinx is an error, and so is a
link that leads nowhere."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from docs.generator import links, pages, staging

BUILD = staging.ROOT / "build"


def build(site: Path, source: Path) -> int:
    """Stage the pages in the folder `source` and build them into the folder `site`. 0 if nothing
    is wrong."""
    # models and places of the person who builds are no part of the documentation
    for name in [name for name in os.environ if name.startswith("GANBOARD_")]:
        del os.environ[name]
    staging.stage(source, pages.generated())
    doctrees = source.with_suffix(".doctrees")
    arguments = [
        "-W",
        "--keep-going",
        "-n",
        "-q",
        "-E",
        "-c",
        str(staging.DOCS),
        "-d",
        str(doctrees),
    ]
    if failed := build_main([*arguments, str(source), str(site)]):
        return failed
    found = links.problems(site)
    for sentence in found:
        print(sentence, file=sys.stderr)
    if not found:
        print(f"The site is {site / 'index.html'}.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(build(BUILD / "site", BUILD / "site-source"))
