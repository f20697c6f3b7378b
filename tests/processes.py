"""Processes that begin and end while one looks at them."""

from __future__ import annotations

from contextlib import suppress

import psutil


def below(process: psutil.Process, words: str) -> list[psutil.Process]:
    """The descendants whose command line contains `words`, oldest first; none when the process
    itself is gone."""
    found: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        for child in process.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if words in " ".join(child.cmdline()):
                    found.append(child)
    return sorted(found, key=lambda child: (child.create_time(), child.pid))
