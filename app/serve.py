"""Start the web server: `python -m app.serve --port P --address A`. The supervisor knows this line and nothing of Streamlit.

Everything else stands in `.streamlit/config.toml` beside this file, which Streamlit finds whatever the working directory is.
"""

from __future__ import annotations

import argparse
import os
import sys

LOOPBACK = "127.0.0.1"
LOOPBACKS = (LOOPBACK, "localhost", "::1")
ALLOWED_HOSTS = "STREAMLIT_SERVER_ALLOWED_HOSTS"  # comma-separated host names


def command(port: int, address: str = LOOPBACK) -> list[str]:
    """The argument list that starts the dashboard as a child process."""
    return [sys.executable, "-m", "app.serve", "--port", str(port), "--address", address]


def serve(port: int, address: str) -> None:
    """Serve until interrupted or terminated."""
    from app.server import app  # noqa: PLC0415  # `command` is for processes that need no Streamlit

    config: dict[str, object] = {"server.port": port, "server.address": address}
    if address not in LOOPBACKS and ALLOWED_HOSTS not in os.environ:
        config["server.allowedHosts"] = ["*"]  # whoever opens it to a network knows its names, we do not
    app.run(config=config)


def _port(text: str) -> int:
    port = int(text)
    if not 0 < port < 65_536:
        raise ValueError
    return port


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m app.serve", description="The ganboard dashboard")
    parser.add_argument("--port", type=_port, default=8501, help="TCP port, 1 to 65535")
    parser.add_argument("--address", default=LOOPBACK, help="address to listen on; only this machine by default")
    arguments = parser.parse_args()
    serve(arguments.port, arguments.address)


if __name__ == "__main__":
    main()
