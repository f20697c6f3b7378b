"""Decoded pictures that are kept in the data directory."""

from __future__ import annotations

from collections.abc import Iterator

from ganboard.db.settings import Settings
from ganboard.gan.data.pictures import cache, unused
from ganboard.worker import formatting
from ganboard.worker.doctor.check import Check
from ganboard.worker.doctor.files import FIX


def caches(settings: Settings) -> Iterator[Check]:
    """What they take, and what of it nobody has used for long."""
    found = unused.kept(settings.data / cache.FOLDER)
    old = [one for one in found if one.unused]
    text = f"{formatting.plural(len(found), 'cache')}, {formatting.size(_size(found))}"
    if old:
        text += f"; {len(old):,} unused for {unused.DAYS:.0f} days or incomplete"
        yield Check("picture caches", "warn", f"{text}, {formatting.size(_size(old))}", FIX)
    elif found:
        yield Check("picture caches", "ok", text)


def free(settings: Settings) -> Iterator[str]:
    """Delete those that nobody has used for long; says which."""
    for one in unused.kept(settings.data / cache.FOLDER):
        if one.unused and unused.free(one):
            yield f"{one.path} ({formatting.size(one.size)})"


def _size(found: list[unused.Kept]) -> int:
    return sum(one.size for one in found)
