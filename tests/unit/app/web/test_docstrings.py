"""A server without the docstrings of its libraries."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import pandas
import plotly
from ganboard.app.web import docstrings, serve
before = pandas.DataFrame({"a": [1, 2]}).sum().tolist()
assert pandas.DataFrame.sum.__doc__
docstrings.drop()
assert pandas.DataFrame.sum.__doc__ is None
assert pandas.DataFrame.sum.__code__.co_consts[0] is None
assert pandas.DataFrame({"a": [1, 2]}).sum().tolist() == before
assert serve.serve.__doc__
assert plotly.__doc__
print("done")
"""


def test_those_of_libraries_go_and_nothing_else() -> None:
    # in a process of its own: what is dropped stays so
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "done\n", ran.stderr
