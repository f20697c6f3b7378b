"""Which study is meant: a built-in one, or that of a Python file, with settings changed."""

from __future__ import annotations

import contextlib
import runpy
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson

import ganboard.gan.studies as gan_studies
from ganboard import gan
from ganboard.gan.config import ConfigError, current
from ganboard.gan.studies import FIGURES, NAMES, Study, built_in


def resolve(name: str, budget: str, changes: Mapping[str, Any], seeds: int | None = None) -> Study:
    """A built-in study within a budget, or that of a Python file, with settings changed for all its
    runs. Raises ConfigError."""
    study = (
        built_in(name, budget, changes)
        if name in NAMES or not name.endswith(".py")
        else _from_file(Path(name))
    )
    if unknown := next((name for name in study.figures if name not in FIGURES), None):
        raise ConfigError(
            f"The study {study.name} requests the unknown figure {str(unknown)[:80]!r}. Choose"
            f" from {', '.join(FIGURES)}."
        )
    varied = sorted({key for part in study.parts for key in part.vary} & changes.keys())
    if varied:
        raise ConfigError(
            f"{varied[0]} is varied by the study {study.name}. Remove it, or launch your own sweep."
        )
    parts = (
        replace(part, settings=current(part.settings), vary=current(part.vary))
        for part in study.parts
    )
    return replace(
        study,
        settings=current({**study.settings, **changes}),
        parts=tuple(parts),
        seeds=study.seeds if seeds is None else seeds,
    )


def _from_file(path: Path) -> Study:
    if not path.is_file():
        raise ConfigError(
            f"There is no study file {str(path)[:200]!r}. Specify a .py file, or one of"
            f" {', '.join(NAMES)}."
        )
    try:
        with _former_names():
            found = runpy.run_path(str(path)).get("STUDY")
    except (Exception, SystemExit) as error:
        cause = " ".join(str(error).split())[:200]
        raise ConfigError(
            f"The study file {path.name} failed with"
            f" {type(error).__name__}{f': {cause}' if cause else ''}. Fix the file."
        ) from None
    if not isinstance(found, Study):
        raise ConfigError(
            f"The study file {path.name} does not define STUDY. Add STUDY = Study(...), with Study"
            " imported from ganboard.gan.studies."
        )
    return found


@contextlib.contextmanager
def _former_names() -> Iterator[None]:
    """Study files written before the import name was ganboard import `gan.studies`."""
    former = {"gan": gan, "gan.studies": gan_studies}
    sys.modules.update(former)
    try:
        yield
    finally:
        for name in former:
            del sys.modules[name]


def definition(study: Study) -> dict[str, Any]:
    """What is asked, as it is stored: equal for equal questions."""
    plain: dict[str, Any] = orjson.loads(orjson.dumps(asdict(study), default=list))
    return plain
