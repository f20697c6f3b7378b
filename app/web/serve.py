"""Start the web server: `python -m ganboard.app.web.serve --port P --address A`. The supervisor
only knows this command line, not Streamlit. Everything else is in `.streamlit/config.toml` beside
this file, which Streamlit finds whatever the working directory is.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from urllib.parse import urlsplit

from ganboard.db.settings import Settings, SettingsError
from ganboard.worker import access

LOOPBACK = "127.0.0.1"
LOOPBACKS = (LOOPBACK, "localhost", "::1")  # names by which this machine calls itself
ALLOWED_HOSTS = "STREAMLIT_SERVER_ALLOWED_HOSTS"  # comma-separated host names


def command(port: int, address: str = LOOPBACK) -> list[str]:
    """The argument list that starts the dashboard as a child process."""
    return [
        sys.executable,
        "-m",
        "ganboard.app.web.serve",
        "--port",
        str(port),
        "--address",
        address,
    ]


def serve(port: int, address: str) -> None:
    """Serve until interrupted or terminated. Raises SettingsError when the dashboard or the queue
    would be open to strangers."""
    settings = Settings()
    access.check_address(settings, address)
    access.check_queue(settings)
    # `command` is for processes that need no Streamlit
    from ganboard.app.web import docstrings, logs, plotly_properties  # noqa: PLC0415

    logs.configure()
    plotly_properties.pack()
    from ganboard.app.web.server import app  # noqa: PLC0415

    docstrings.drop()
    # what was imported stays; collections that leave it out are quick, so cycles of sessions that
    # ended are freed sooner
    gc.freeze()
    config = {
        "server.port": port,
        "server.address": address,
        "server.allowedHosts": hosts(settings),
    }
    app.run(config=config)


def hosts(settings: Settings) -> list[str]:
    """The host names that are served: this machine's own, that of GANBOARD_PUBLIC_URL, and those of
    ALLOWED_HOSTS."""
    public = urlsplit(settings.public_url).hostname
    listed = [name.strip() for name in os.environ.get(ALLOWED_HOSTS, "").split(",")]
    return [*LOOPBACKS, *([public] if public else []), *filter(None, listed)]


def _port(text: str) -> int:
    port = int(text)
    if not 0 < port < 65_536:
        raise ValueError
    return port


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m ganboard.app.web.serve", description="The ganboard dashboard"
    )
    parser.add_argument("--port", type=_port, default=8501, help="TCP port, 1 to 65535")
    parser.add_argument(
        "--address", default=LOOPBACK, help="address to listen on; this machine only by default"
    )
    arguments = parser.parse_args()
    try:
        serve(arguments.port, arguments.address)
    except SettingsError as error:
        sys.exit(f"ganboard: {error}")


if __name__ == "__main__":
    main()
