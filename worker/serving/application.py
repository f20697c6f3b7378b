"""The HTTP side of `ganboard serve`: who answers which request, and every refusal in one
sentence."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ganboard.db.models import ModelVersion
from ganboard.gan.generation.latent_requests import InvalidRequest
from ganboard.worker.access import LOOPBACK_NAMES
from ganboard.worker.serving import formats
from ganboard.worker.serving.batches import Batches, Busy, Floats
from ganboard.worker.serving.bodies import Bodies
from ganboard.worker.serving.connections import REFUSED
from ganboard.worker.serving.measures import Measures
from ganboard.worker.serving.split import Outcome, Split

if TYPE_CHECKING:
    from ganboard.gan.generation.generation import Generator

log = logging.getLogger("ganboard.serve")

REPLY_SECONDS = 60.0
ID_LENGTH = 128
_HOSTS = ["127.0.0.1", "[::1]", *LOOPBACK_NAMES]


class Failed(Exception):
    """A version gave no outputs; the message says what it is in one sentence."""


@dataclass
class Served:
    """A version that answers."""

    version: ModelVersion
    generator: Generator
    measures: Measures

    def __post_init__(self) -> None:
        self.name = f"{self.version.name}:{self.version.version}"
        rows = self.measures.rows.labels(self.name).observe
        self.batches = Batches(self.generator, self.generator.generation.together, rows)
        self.measures.waiting.labels(self.name).set_function(lambda: self.batches.waiting)

    async def answer(self, inputs: Floats) -> tuple[Floats, Outcome]:
        """Outputs of G, and whether they can be shown. Raises Busy."""
        try:
            made = await asyncio.wait_for(
                asyncio.wrap_future(self.batches.ask(inputs)), REPLY_SECONDS
            )
        except Busy:
            raise
        except Exception:  # the last line of defence: a program waits, and the log keeps the rest
            log.exception("%s failed", self.name)
            return inputs, "error"
        return made, "ok" if np.isfinite(made).all() else "not finite"


class Service:
    """A main version, perhaps a canary with a share of the requests, and who may ask."""

    def __init__(
        self, main: Served, canary: Served | None, split: Split, measures: Measures, token: str = ""
    ) -> None:
        self.main, self.canary, self.split, self.measures, self._token = (
            main,
            canary,
            split,
            measures,
            token,
        )
        self.bodies = Bodies()
        self._reading = asyncio.Lock()
        measures.share.set_function(lambda: split.share)

    async def ask(self, request_id: str, inputs: Floats) -> tuple[Floats, Served]:
        """Outputs of G and who made them: what the canary cannot answer the main version does.
        Raises Busy, Failed."""
        if self.canary is not None and self.split.takes(request_id):
            with suppress(Busy):
                made, outcome = await self._asked(self.canary, inputs)
                if outcome == "ok":
                    return made, self.canary
        made, outcome = await self._asked(self.main, inputs)
        if outcome != "ok":
            why = (
                "its outputs are not finite"
                if outcome == "not finite"
                else "see its log for details"
            )
            raise Failed(f"{self.main.name} did not respond: {why}.")
        return made, self.main

    async def _asked(self, served: Served, inputs: Floats) -> tuple[Floats, Outcome]:
        began = time.monotonic()
        made, outcome = await served.answer(inputs)
        seconds = time.monotonic() - began
        self.measures.answers.labels(served.name, outcome).inc()
        self.measures.seconds.labels(served.name).observe(seconds)
        self.measures.examples.labels(served.name).inc(len(inputs))
        if reason := self.split.note(served is self.canary, outcome, seconds):
            assert self.canary is not None
            self.measures.rolled_back.inc()
            log.warning(
                "The canary %s is rolled back and receives no more requests: %s.",
                self.canary.name,
                reason,
            )
        return made, outcome

    async def generate(self, request: Request) -> Response:
        request_id = request.headers.get("x-request-id", "")[:ID_LENGTH] or uuid.uuid4().hex
        form = formats.wanted(request.headers.get("accept", ""))
        async with self.bodies.receive(request) as body, self._reading:
            # one at a time: JSON such as [{},{},...] takes 36 times its bytes while it is read
            inputs = await run_in_threadpool(
                self._read, request.headers.get("content-type", ""), body
            )
        made, served = await self.ask(request_id, inputs)
        content = await run_in_threadpool(
            formats.encoded, served.generator.generation, served.name, made, form
        )
        return Response(
            content,
            media_type=form,
            headers={"X-Model-Version": served.name, "X-Request-ID": request_id},
        )

    def _read(self, content_type: str, body: bytearray) -> Floats:
        """What a body asks for, as inputs of G. Raises HTTPException."""
        from ganboard.gan.generation import generation

        try:
            return generation.read(
                self.main.generator.generation, formats.document(content_type, body)
            )
        except InvalidRequest as error:
            raise HTTPException(400, str(error)) from None

    async def health(self, request: Request) -> Response:
        """200 once the main version has made one example for this request."""
        began = time.monotonic()
        made, served = await self.ask_main(self.main.generator.generation.probe())
        return _json(
            {
                "ok": True,
                "model": served.name,
                "made": list(made.shape),
                "seconds": time.monotonic() - began,
            }
        )

    async def ask_main(self, inputs: Floats) -> tuple[Floats, Served]:
        """As `ask`, without the canary, and not counted among the answers. Raises Busy, Failed."""
        made, outcome = await self.main.answer(inputs)
        if outcome != "ok":
            raise Failed(
                f"{self.main.name} returns no usable output. Restart the server, or serve another"
                " version."
            )
        return made, self.main

    async def version(self, request: Request) -> Response:
        details = _details(self.main) | {"signature": self.main.generator.manifest.signature}
        canary = self.canary and _details(self.canary) | {
            "share": self.split.share,
            "rolled_back": self.split.reason,
        }
        return _json({"main": details, "canary": canary})

    async def metrics(self, request: Request) -> Response:
        return Response(generate_latest(self.measures.registry), media_type=CONTENT_TYPE_LATEST)

    def application(self) -> Starlette:
        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Any]]:
            served = [one for one in (self.main, self.canary) if one is not None]
            for one in served:
                one.batches.start()
            yield {REFUSED: self.measures.refused}
            for one in served:
                await run_in_threadpool(one.batches.end)

        routes = [
            Route("/generate", self._open(self.generate), methods=["POST"]),
            Route("/healthz", self._open(self.health)),
            Route("/version", self._open(self.version)),
            Route("/metrics", self._open(self.metrics)),
        ]
        handlers: Mapping[Any, Any] = {
            HTTPException: self._refused,
            Exception: self._defect,
            Busy: self._busy,
            Failed: self._failed,
            ClientDisconnect: self._left,
        }
        # without a token, a page of the web must not reach it under a name of its own that means
        # this machine
        middleware: Sequence[Middleware] = (
            []
            if self._token
            else [Middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS, www_redirect=False)]
        )
        return Starlette(
            routes=routes, exception_handlers=handlers, middleware=middleware, lifespan=lifespan
        )

    def _open(self, handler: Any) -> Any:
        """`handler`, for those who show the token."""

        async def checked(request: Request) -> Response:
            scheme, _, given = request.headers.get("authorization", "").partition(" ")
            if self._token and not (
                scheme.lower() == "bearer"
                and hmac.compare_digest(given.strip().encode(), self._token.encode())
            ):
                raise HTTPException(
                    401,
                    "Send the header Authorization: Bearer with GANBOARD_SERVE_TOKEN.",
                    {"WWW-Authenticate": "Bearer"},
                )
            found: Response = await handler(request)
            return found

        return checked

    async def _refused(self, request: Request, error: HTTPException) -> Response:
        self.measures.refused.labels(error.status_code).inc()
        return _json({"error": error.detail}, error.status_code, error.headers)

    async def _busy(self, request: Request, error: Busy) -> Response:
        self.measures.refused.labels(503).inc()
        return _json(
            {"error": "Too many examples are already queued. Try again later."},
            503,
            {"Retry-After": "1"},
        )

    async def _defect(self, request: Request, error: Exception) -> Response:
        return _json(
            {"error": f"The server failed with {type(error).__name__}: see its log for details."},
            500,
        )

    async def _left(self, request: Request, error: ClientDisconnect) -> Response:
        """The client closed its connection before its request was complete: an answer that goes
        nowhere."""
        return Response(status_code=400)

    async def _failed(self, request: Request, error: Failed) -> Response:
        return _json({"error": str(error)}, 500)


def _details(served: Served) -> dict[str, Any]:
    manifest = served.generator.manifest
    return {
        "model": served.name,
        "digest": served.version.digest,
        **manifest.model_dump(include={"id", "variant", "run_id", "epoch", "versions"}),
    }


def _json(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(orjson.dumps(document), status, dict(headers or {}), formats.JSON)
