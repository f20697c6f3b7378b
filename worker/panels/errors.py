"""What is wrong with a panel, an expression or a board."""

from __future__ import annotations

from ganboard.worker.errors import WorkerError


class BadPanel(WorkerError):
    """The message is one sentence for the person who wrote it."""
