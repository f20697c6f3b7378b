"""The reference of what other programs read over HTTP, from the routes of `app.web.api`."""

from __future__ import annotations

from docs.generator.markdown import code, table, text
from ganboard.app.web.api import LISTED, MAX_LISTED, ROUTES, TABLES, nothing

HEAD = f"""# Downloads over HTTP

Addresses of the dashboard that other programs read, such as
`curl localhost:8501/api/runs/latest/losses.csv`. Nothing here writes. `run` is an id, a beginning
of one, or `latest`. An error is `{{"error": SENTENCE}}` with its status. A list has {LISTED} runs,
with `limit` up to {MAX_LISTED:,}. With sign-in, programs send a token
([security.md](../security.md)).

"""


def page() -> str:
    rows = [
        (code(f"GET {route.path}"), text(str(route.endpoint.__doc__)))
        for route in ROUTES
        if route.endpoint is not nothing
    ]
    tables = ", ".join(map(code, TABLES))
    return HEAD + table(("address", "answer"), rows) + f"`table` is one of {tables}.\n"
