"""Who calls, what they may do, and the context that a request gets accordingly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from ganboard.worker.api.contract import Caller
from ganboard.worker.context import Context

# documents the header; who calls is found by `Access`
_bearer = HTTPBearer(auto_error=False, description="A token made by `ganboard token create`.")


@dataclass(frozen=True)
class Access:
    """How the application that serves the API opens the database and recognises callers."""

    context: Callable[[], Context]
    identify: Callable[[Request], Caller | str]  # a sentence: why there is none


class Refused(Exception):
    """A request that is not answered; the message is one sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def _reading(request: Request, _: Annotated[object, Depends(_bearer)]) -> Context:
    known = [field.alias for field in request.scope["route"].dependant.query_params]
    if unknown := set(request.query_params) - set(known):
        choose = f"choose from {', '.join(known)}" if known else "this address has none"
        raise Refused(400, f"There is no parameter {min(unknown)[:40]!r}: {choose}.")
    access: Access = request.app.state.access
    caller = access.identify(request)
    if isinstance(caller, str):
        raise Refused(401, caller)
    context = access.context()
    request.state.caller, request.state.context = caller, context
    return context


def _writing(request: Request, context: Annotated[Context, Depends(_reading)]) -> Context:
    caller: Caller = request.state.caller
    request.state.changer = caller  # recorded, whatever the answer
    if caller.scope != "write":
        raise Refused(
            403,
            "This needs a token with scope write: make one on the page System or with"
            " `ganboard token create NAME --scope write`.",
        )
    # the token has answered who writes; there is no page whose visitor could be asked
    engine = context.engine.execution_options(before_writing=None)
    return replace(context, engine=engine, user=caller.who)


def _caller(request: Request, _: Annotated[Context, Depends(_reading)]) -> Caller:
    caller: Caller = request.state.caller
    return caller


Reading = Annotated[Context, Depends(_reading)]
Writing = Annotated[Context, Depends(_writing)]
Calling = Annotated[Caller, Depends(_caller)]
