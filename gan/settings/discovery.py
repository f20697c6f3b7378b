"""Where models come from: ganboard itself, installed packages, and the files and folders that
GANBOARD_MODELS names. Free of TensorFlow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from ganboard.gan.settings import making
from ganboard.gan.settings.making import DECLARES, Candidate, Refused
from ganboard.gan.settings.model import BUILT_IN, Model

VARIABLE = "GANBOARD_MODELS"


def find() -> tuple[dict[str, Model], dict[str, str]]:
    """All models by name, the usual one first; and why others that were named are none, by name
    or path."""
    known: dict[str, Model] = {}
    problems: dict[str, str] = {}
    for candidate in (
        *_candidates(BUILT_IN, built_in=True),
        *_installed(problems),
        *_named(problems),
    ):
        if candidate.name in known:
            problems[str(candidate.path)] = (
                f"{candidate.path}: there already is a model called {candidate.name}. Rename the"
                " file."
            )
            continue
        try:
            known[candidate.name] = making.model(candidate)
        except Refused as error:
            problems[candidate.name] = f"{candidate.path}: {error}"
    # of several that say so the first, which comes with ganboard
    return dict(sorted(known.items(), key=lambda item: not item[1].spec.usual)), problems


def _candidates(path: Path, built_in: bool = False) -> Iterator[Candidate]:
    """The models at a path: the file itself, the folder itself, or what lies in the folder."""
    if path.suffix == ".py" or (path / DECLARES).exists():
        yield Candidate(path.stem, path, built_in)
        return
    for entry in sorted(path.iterdir()):
        is_file = entry.suffix == ".py" and not entry.name.startswith(("_", "test_"))
        if is_file or (entry / DECLARES).exists():
            yield Candidate(entry.stem, entry, built_in)


def _named(problems: dict[str, str]) -> Iterator[Candidate]:
    """Those that GANBOARD_MODELS names: files and folders, separated by colons."""
    for text in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        path = Path(text).expanduser().absolute()
        if not path.exists():
            problems[text] = f"{VARIABLE} names {text}, which does not exist. Correct the path."
            continue
        found = list(_candidates(path))
        if not found:
            problems[text] = f"{VARIABLE} names {text}, which has no Python file. Correct the path."
        yield from found


def _installed(problems: dict[str, str]) -> Iterator[Candidate]:
    """Those of installed packages: entry points of the group `ganboard.models`."""
    for entry in entry_points(group="ganboard.models"):
        try:
            spec = find_spec(entry.module)
        except Exception as error:  # a package may do anything when it is imported
            problems[entry.name] = f"{entry.value} cannot be found ({error})."
            continue
        if spec is None or spec.origin is None:
            problems[entry.name] = f"{entry.value} cannot be found. Reinstall its package."
            continue
        origin = Path(spec.origin)
        path = origin.parent if origin.name == "__init__.py" else origin
        yield Candidate(entry.name, path)
