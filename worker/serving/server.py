"""Listening: who may reach a server of generators, and how it ends."""

from __future__ import annotations

import logging
import socket

import uvicorn

from ganboard.db import versions
from ganboard.db.errors import NotAllowed
from ganboard.db.models import ModelVersion
from ganboard.worker import access, logs
from ganboard.worker.context import Context
from ganboard.worker.errors import AlreadyRunning
from ganboard.worker.registry import versions as models
from ganboard.worker.serving.application import Served, Service
from ganboard.worker.serving.connections import LimitedProtocol
from ganboard.worker.serving.measures import Measures
from ganboard.worker.serving.split import Split

log = logging.getLogger("ganboard.serve")

GRACE_SECONDS = 30  # for what was begun when SIGTERM came


def serve(
    context: Context, which: str, canary: str | None, share: float, host: str, port: int
) -> None:
    """Answer until SIGTERM or Ctrl-C, and then what was asked before.

    Raises SettingsError, UnknownVersion, VersionError, NotAllowed, AlreadyRunning before anything
    is answered.
    """
    access.check_serving(context.settings, host)
    with _listen(host, port) as listening:
        found = [versions.find(context.engine, text) for text in (which, canary) if text]
        logs.configure()
        measures = Measures()
        main, *others = (_served(context, version, measures) for version in found)
        second = others[0] if others else None
        if (
            second is not None
            and second.generator.manifest.signature != main.generator.manifest.signature
        ):
            raise NotAllowed(
                f"{main.name} and {second.name} have different inputs or outputs. The canary must"
                " be a version of the same model."
            )
        service = Service(
            main, second, Split(share if second else 0.0), measures, context.settings.serve_token
        )
        displayed = f"[{host}]" if ":" in host else host
        log.info(
            "Serving %s (%s) on http://%s:%d",
            main.name,
            main.version.variant,
            displayed,
            listening.getsockname()[1],
        )
        if second is not None:
            log.info(
                "Sending %.3g %% of the requests to the canary %s (%s).",
                100 * share,
                second.name,
                second.version.variant,
            )
        uvicorn.Server(configured(service)).run(sockets=[listening])


def configured(service: Service) -> uvicorn.Config:
    """How uvicorn serves it."""
    return uvicorn.Config(
        service.application(),
        http=LimitedProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _served(context: Context, version: ModelVersion, measures: Measures) -> Served:
    """A version that has proved that it makes usable outputs."""
    generator = models.load(context, version)
    from ganboard.gan.generation import generation

    found = Served(version, generator, measures)
    generation.require_finite(
        {"outputs": generator(generator.generation.probe())}, f"Samples from {found.name}"
    )
    return found


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise AlreadyRunning(
            f"Cannot listen on {host}:{port} ({error.strerror}). Choose another --host or --port."
        ) from None
