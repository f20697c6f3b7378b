"""Errors of the database layer.

DbError
|- UnknownRun       no such run
|- UnknownVersion   no such version of a model
|- NotAllowed       the run's state does not permit the command
|- LeaseLost        another attempt owns the run: the writer must end
|- NoteChanged      somebody else wrote the note meanwhile
|- BadMark          a tag, note, view or name of a model that cannot be stored
|- BadCopy          a copy of a database that is none, or damaged
|- BadSearch        a search that cannot be understood
|- SchemaTooNew     the database was written by a newer ganboard
'- Unreachable      no connection
"""

from __future__ import annotations


class DbError(Exception):
    """Base class; the message is one sentence for a person."""


class UnknownRun(DbError):
    pass


class UnknownStudy(DbError):
    pass


class UnknownVersion(DbError):
    pass


class NotAllowed(DbError):
    pass


class LeaseLost(DbError):
    pass


class NoteChanged(DbError):
    pass


class BadAnnotation(DbError):
    pass


class BadSearch(DbError):
    pass


class BadCopy(DbError):
    pass


class SchemaTooNew(DbError):
    pass


class Unreachable(DbError):
    pass
