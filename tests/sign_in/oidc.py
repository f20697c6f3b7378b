"""A small OpenID provider on 127.0.0.1: discovery, authorization code with PKCE, signed tokens,
sign-out. Everybody is whom they say."""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.polling import wait_until
from tests.up import free_port

CLIENT, SECRET = "ganboard", "the client's secret"


@dataclass
class Provider:
    """What a test may look at and change."""

    url: str
    seconds: float = 3600.0  # how long a token is good
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048))
    # code -> the authorization request, with the e-mail address
    waiting: dict[str, dict[str, str]] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)  # where those who signed out wanted to go

    def discovery(self, request: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/jwks",
                "end_session_endpoint": f"{self.url}/end",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "code_challenge_methods_supported": ["S256"],
            }
        )

    def jwks(self, request: Request) -> Response:
        return JSONResponse({"keys": [self.key.as_dict(private=False, alg="RS256", use="sig")]})

    def authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        if asked.get("client_id") != CLIENT or asked.get("code_challenge_method") != "S256":
            return JSONResponse({"error": "invalid_request"}, status_code=400)
        if "email" not in asked:
            fields = "".join(
                f'<input type="hidden" name="{name}" value="{value}">'
                for name, value in asked.items()
            )
            return HTMLResponse(
                f'<form action="/authorize">{fields}<label>E-mail <input'
                ' name="email"></label><button>Go</button></form>'
            )
        code = secrets.token_urlsafe()
        self.waiting[code] = asked
        return RedirectResponse(
            f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}",
            status_code=302,
        )

    async def token(self, request: Request) -> Response:
        given = await request.form()
        asked = self.waiting.pop(str(given.get("code")), None)
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        digest = hashlib.sha256(str(given.get("code_verifier")).encode()).digest()
        proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        known = (
            request.headers.get("authorization") == f"Basic {basic}"
            or given.get("client_secret") == SECRET
        )
        if (
            asked is None
            or not known
            or proof != asked["code_challenge"]
            or given.get("redirect_uri") != asked["redirect_uri"]
        ):
            return JSONResponse({"error": "invalid_grant"}, status_code=400)
        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": asked["email"],
            "iat": now,
            "exp": int(now + self.seconds),
        }
        claims |= {"email": asked["email"], "email_verified": True, "nonce": asked["nonce"]}
        signed = jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, self.key)
        return JSONResponse(
            {
                "access_token": secrets.token_urlsafe(),
                "token_type": "Bearer",
                "id_token": signed,
                "expires_in": 3600,
            }
        )

    def end(self, request: Request) -> Response:
        self.ended.append(request.query_params["post_logout_redirect_uri"])
        return RedirectResponse(self.ended[-1], status_code=302)


@contextmanager
def provider() -> Iterator[Provider]:
    """A provider that answers, in a thread of this process."""
    port = free_port()
    found = Provider(f"http://127.0.0.1:{port}")
    found.key.ensure_kid()
    paths = {
        "/.well-known/openid-configuration": found.discovery,
        "/jwks": found.jwks,
        "/authorize": found.authorize,
        "/token": found.token,
        "/end": found.end,
    }
    routes = [Route(path, answer, methods=["GET", "POST"]) for path, answer in paths.items()]
    server = uvicorn.Server(
        uvicorn.Config(Starlette(routes=routes), port=port, log_level="warning", lifespan="off")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until(lambda: server.started, seconds=20, what="the sign-in provider")
    try:
        yield found
    finally:
        server.should_exit = True
        thread.join(20)
