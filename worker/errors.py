"""Errors that a person reads as one sentence; everything else is a defect.

WorkerError
|- BadName           a run's name cannot be used
|- UnknownMachine    no machine has this name
|- AlreadyRunning    another ganboard holds this HOME, or the port
|- QueueUnreachable  Redis does not answer
|  '- QueueRefuses   it answers, but refuses the password or a command
'- ServiceFailed     a process of ours could not be started
"""

from __future__ import annotations


class WorkerError(Exception):
    """Base class; the message is one sentence for a person."""


class BadName(WorkerError):
    pass


class UnknownMachine(WorkerError):
    pass


class AlreadyRunning(WorkerError):
    pass


class QueueUnreachable(WorkerError):
    """`problem` says what the queue does ("does not answer"), `remedy` what to do about it."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"The queue {problem}: {remedy[0].lower()}{remedy[1:]}.")
        self.problem = problem
        self.remedy = remedy


class QueueRefuses(QueueUnreachable):
    pass


class ServiceFailed(WorkerError):
    pass
