"""Models that do not come with ganboard: which were found, and which were refused."""

from __future__ import annotations

from collections.abc import Iterator

from ganboard.gan.settings import registry
from ganboard.gan.settings.discovery import VARIABLE
from ganboard.worker.doctor.check import Check


def own() -> Iterator[Check]:
    """One finding for each model of one's own, and for each path that was named and holds none."""
    for name, model in registry.models().items():
        if not model.built_in:
            yield Check(f"model: {name}", "ok", model.spec.title)
    for name, problem in registry.refused().items():
        yield Check(
            f"model: {name}",
            "fail",
            problem,
            f"Correct it, see that `ganboard check` passes, then restart `ganboard up`; or take it"
            f" out of {VARIABLE}.",
        )
