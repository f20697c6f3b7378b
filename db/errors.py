"""Errors of the database layer. `DbError` is the base class; the message of each is one sentence
for a person."""

from __future__ import annotations


class DbError(Exception):
    """Base class; the message is one sentence for a person."""


class UnknownRun(DbError):
    """No such run."""


class UnknownStudy(DbError):
    """No such study."""


class UnknownSearch(DbError):
    """No such search over settings."""


class UnknownClaim(DbError):
    """No such claim."""


class UnknownVersion(DbError):
    """No such version of a model."""


class NotAllowed(DbError):
    """The run's state does not permit the command."""


class LeaseLost(DbError):
    """Another attempt owns the run: the writer must end."""


class NoteChanged(DbError):
    """The note was changed by someone else."""


class BadAnnotation(DbError):
    """A tag, note, view or name of a model that cannot be stored."""


class BadSearch(DbError):
    """A search that cannot be understood."""


class BadAlert(DbError):
    """A channel or rule of alerts that cannot be stored."""


class UnknownAlert(DbError):
    """No such channel or rule of alerts."""


class BadCopy(DbError):
    """A copy of a database that is none, or damaged."""


class SchemaTooNew(DbError):
    """The database was written by a newer ganboard."""


class Unreachable(DbError):
    """No connection."""


class BadToken(DbError):
    """A token of the API that cannot be made."""


class UnknownToken(DbError):
    """No such token of the API."""


class BadCursor(DbError):
    """A cursor that no list has given out."""
