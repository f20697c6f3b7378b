"""`python -m ganboard`: the command line, where `ganboard` is not on the path."""

from ganboard.worker.cli.main import app

app(prog_name="ganboard")
