"""Docstrings of libraries, which no page shows: 15 MB of what a server imports."""

from __future__ import annotations

import gc
from types import FunctionType

import plotly.graph_objects as go


def drop() -> None:
    """Forget those of all functions of libraries that were imported so far. ganboard's own stay,
    and those of people's models: pages show some of them."""
    _ = go.Figure  # imported when it is first asked for, with the longest of all
    for function in gc.get_objects():
        if (
            isinstance(function, FunctionType)
            and "/site-packages/" in function.__code__.co_filename
        ):
            documented = function.__doc__
            function.__doc__ = None
            first, *others = function.__code__.co_consts or (None,)
            if documented is not None and first == documented:
                function.__code__ = function.__code__.replace(co_consts=(None, *others))
