"""Docstrings of libraries, which no page shows: some 12 MB of what a server imports."""

from __future__ import annotations

import gc
from types import FunctionType

import plotly.graph_objects as go


def drop() -> None:
    """Forget those of all functions of libraries that were imported so far. Modules keep theirs:
    pages show those of models and presets.

    One-line docstrings stay too: a function that returns the same text has it only once.
    """
    _ = go.Figure  # imported when it is first asked for, with the longest of all
    for function in gc.get_objects():
        if not isinstance(function, FunctionType) or "\n" not in (function.__doc__ or ""):
            continue
        code = function.__code__
        if "/site-packages/" in code.co_filename:
            if code.co_consts and code.co_consts[0] == function.__doc__:
                function.__code__ = code.replace(co_consts=(None, *code.co_consts[1:]))
            function.__doc__ = None
