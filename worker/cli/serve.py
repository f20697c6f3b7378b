"""The command `ganboard serve`. Thin, as those of `worker.cli.main`, which lists it."""

from __future__ import annotations

from typing import Annotated

import typer

from ganboard.worker.cli.options import open_database


def serve(
    which: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="NAME (the latest version), NAME:VERSION or NAME@ALIAS."
        ),
    ],
    canary: Annotated[
        str | None,
        typer.Option(
            "--canary",
            metavar="MODEL",
            help="Second version that receives a share of the requests.",
        ),
    ] = None,
    share: Annotated[
        float,
        typer.Option(
            "--canary-percent",
            "--share",
            metavar="PERCENT",
            min=0,
            max=100,
            help="Percentage of requests sent to the canary; --share is the former name.",
        ),
    ] = 10.0,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            help="Address to listen on; addresses other than this machine's need"
            " GANBOARD_SERVE_TOKEN.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port; 0 picks a free one.")
    ] = 8600,
) -> None:
    """Serve a registered generator over HTTP: POST /generate, GET /healthz, /version and /metrics.

    The canary gets no more requests once it fails more often or is slower than the main version, or
    makes values that are not finite.

    Examples:
      ganboard serve digits@production
      ganboard serve digits:1 --canary digits:2 --canary-percent 10
    """
    from ganboard.worker.serving.server import serve as run

    run(open_database(), which, canary, share / 100, host, port)
