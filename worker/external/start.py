"""`ganboard.start`: checks what it is given, and finds where reports can go."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ganboard.db.ids import new_id
from ganboard.worker.external import transports
from ganboard.worker.external.collector import Collector, moment
from ganboard.worker.external.delivery import Delivery
from ganboard.worker.external.journal import Journal
from ganboard.worker.external.limits import MAX_STEP
from ganboard.worker.external.script import Script
from ganboard.worker.external.transports import Refused, Transport, Unreachable
from ganboard.worker.external.values import StartError, settings

NAME_LENGTH = 80  # as of other runs
FORMAT = 1


def start(
    name: str,
    config: Mapping[str, Any] | None = None,
    *,
    steps_per_epoch: int | None = None,
    url: str | None = None,
    token: str | None = None,
    offline: str | os.PathLike[str] | None = None,
) -> Script:
    """Begin a run that this process trains, so that it is shown beside the others while it trains.

    Reports go to the dashboard at `url` (or GANBOARD_URL) with `token` (or GANBOARD_TOKEN), else to
    the database that GANBOARD_HOME or GANBOARD_DATABASE_URL names, or only into a file at `offline`
    (a file or a folder). If neither answers they go into a file in the working directory, and a
    warning says so; `ganboard import FILE` reads it.

    `config` is any mapping; nested names are joined with dots. Raises StartError when an argument
    cannot be used or the dashboard refuses the run.
    """
    text = _checked_name(name)
    document: dict[str, Any] = {
        "format": FORMAT,
        "id": new_id(),
        "name": text,
        "config": settings({} if config is None else config),
        "at": moment(time.time()),
        "steps_per_epoch": _checked_steps(steps_per_epoch),
        "hardware": _hardware(),
    }
    journal = Journal(Path("." if offline is None else offline), document)
    transport, begun, why = None, False, None
    if offline is not None:
        _begin(journal)
    else:
        transport, begun, why = _connect(url, token, document)
        if transport is None:
            _begin(journal)
    batch = document["config"].get("batch_size")
    collector = Collector(batch_size=batch if isinstance(batch, int) else 0)
    run = Script(
        document["id"],
        collector,
        lambda warn: Delivery(transport, journal, document, warn, begun=begun),
    )
    if why and transport is None:
        run.warn(f"{why}. This run is recorded in {journal.path}; `ganboard import` reads it.")
    return run


def _connect(
    url: str | None, token: str | None, document: dict[str, Any]
) -> tuple[Transport | None, bool, str | None]:
    """The way to a dashboard or database, whether it knows the run already, and what is wrong with
    it."""
    try:
        transport = transports.from_environment(url, token)
    except Unreachable as error:
        return None, False, str(error)
    try:
        transport.create_run(document)
    except Unreachable as error:
        return transport, False, str(error)  # the first reports will say so
    except Refused as error:
        raise StartError(str(error)) from None
    return transport, True, None


def _begin(journal: Journal) -> None:
    try:
        journal.create()
    except OSError as error:
        raise StartError(
            f"{journal.path} cannot be written ({error.strerror}). Pass offline= a writable folder."
        ) from None


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > NAME_LENGTH:
        raise StartError(f"name={str(name)[:90]!r} is not a text of 1 to {NAME_LENGTH} characters.")
    return name.strip()


def _checked_steps(steps: Any) -> int | None:
    if steps is None or (isinstance(steps, int) and 1 <= steps <= MAX_STEP):
        return steps
    raise StartError(f"steps_per_epoch={steps!r} is not a whole number from 1.")


def _hardware() -> dict[str, Any]:
    """Host, processor, memory and the versions of the frameworks that are loaded."""
    from ganboard.gan.devices import hardware

    loaded = ("tensorflow", "keras", "torch", "jax")
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in loaded}
    return {
        **hardware.machine(),
        "versions": hardware.versions() | {k: v for k, v in found.items() if v},
    }
