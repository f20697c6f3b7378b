"""`ganboard rehearse published`: the steps of the published tables compiled for the machines that
they were measured on, as `gan/studies/predicted.json` keeps them."""

from __future__ import annotations

import time
from typing import Any

from ganboard.gan.studies import published
from ganboard.worker.context import Context
from ganboard.worker.rehearsal.rehearse import Watcher, compiler


def predict(context: Context, watcher: Watcher) -> dict[str, Any]:
    """The document of all cells; what was compiled before is not compiled again.

    Raises ServiceFailed without disk, memory or network.
    """
    cells = list(published.cells())
    rows, versions = [], set()
    with compiler(context, watcher) as compiling:
        for number, cell in enumerate(cells, 1):
            about = f"{cell.target.name}, {cell.model}, batch {cell.batch}"

            def doing(text: str, number: int = number, about: str = about) -> None:
                watcher.doing(number, len(cells), f"{about}: {text}")

            began = time.monotonic()
            report = compiling.report(cell.target, cell.config(), "step", doing)
            report["seconds"] = time.monotonic() - began
            versions |= {one["compiler"] for one in report.get("programs", [])}
            rows.append(published.row(cell, report))
            watcher.done(report)
    return {"compiled_by": sorted(versions), "date": time.strftime("%Y-%m-%d"), "cells": rows}
