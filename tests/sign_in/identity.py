"""Identity cookies as Streamlit sets them after a sign-in, for people who did not sign in
anywhere."""

from __future__ import annotations

import json
import time
from typing import Any

from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

SECRET = "a cookie secret of thirty-two characters, at least"
OPERATOR, VIEWER, STRANGER = "olga@lab.example", "vera@guests.example", "sam@elsewhere.example"


def environment(origin: str) -> dict[str, str]:
    """What switches sign-in on; nobody answers at this provider."""
    return {
        "GANBOARD_OIDC_URL": "http://127.0.0.1:1/.well-known/openid-configuration",
        "GANBOARD_OIDC_CLIENT_ID": "ganboard",
        "GANBOARD_OIDC_CLIENT_SECRET": "the client's secret",
        "GANBOARD_COOKIE_SECRET": SECRET,
        "GANBOARD_PUBLIC_URL": origin,
        "GANBOARD_OPERATORS": "@lab.example",
        "GANBOARD_VIEWERS": f" {VIEWER.title()} , ",
    }


def claims(email: str, seconds: float = 3600, **more: Any) -> dict[str, Any]:
    """As Streamlit hands them to a page."""
    return {
        "is_logged_in": True,
        "email": email,
        "exp": int(time.time() + seconds),
        "provider": "default",
        **more,
    }


def cookie(email: str, origin: str, seconds: float = 3600, secret: str = SECRET) -> dict[str, str]:
    """The identity cookie's name and value."""
    return {
        USER_COOKIE_NAME: (
            create_signed_value(
                secret, USER_COOKIE_NAME, json.dumps(claims(email, seconds, origin=origin))
            ).decode()
        )
    }
