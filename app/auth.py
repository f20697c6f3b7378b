"""Who is there: sign-in at an OpenID provider through Streamlit, roles, and the check that every
write to the database passes.

With sign-in off (worker/access.py) everybody who reaches the dashboard is its operator.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from streamlit.auth_util import get_cookie_with_chunks
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from ganboard.db.errors import NotAllowed
from ganboard.db.settings import Settings
from ganboard.worker import formatting
from ganboard.worker.access import Role, SignIn, sign_in

CALLBACK = "/oauth2callback"


@dataclass(frozen=True)
class Visitor:
    """A signed-in user with e-mail address and role, or the reason why there is none."""

    email: str = ""
    role: Role | None = None
    expires: float = 0.0  # seconds since 1970
    refusal: str = ""


def visitor(rules: SignIn, claims: Mapping[str, Any]) -> Visitor:
    """Whom the provider's claims name, now. The cookie that holds them lives for 30 days, they
    themselves until `exp`."""
    email, expires, verified = (claims.get(name) for name in ("email", "exp", "email_verified"))
    if not claims.get("is_logged_in"):
        return Visitor(refusal="Sign in to see the runs.")
    if not isinstance(expires, int | float) or not expires > time.time():
        return Visitor(refusal="Your session has expired. Sign in again.")
    if not isinstance(email, str) or not email:
        return Visitor(
            refusal=(
                "The sign-in provider did not send your e-mail address, which ganboard needs to"
                " identify you."
            )
        )
    if verified not in (None, True, "true"):
        return Visitor(
            refusal=(
                f"The sign-in provider has not verified the address {email}. Verify it there, then"
                " sign in again."
            )
        )
    role = rules.role(email)
    if role is None:
        return Visitor(
            email,
            refusal=(
                f"{email} does not have access to this ganboard. Ask its administrator to add you."
            ),
        )
    return Visitor(email, role, expires)


def gate() -> bool:
    """Stop the page for users without access; True if a user is signed in, False if sign-in is
    off."""
    rules = sign_in(Settings())
    if rules is None:
        return False
    claims = _claims()
    now = visitor(rules, claims)
    if now.role is None:
        st.title("ganboard", anchor=False)
        st.markdown(formatting.escape(now.refusal))
        with st.container(horizontal=True):
            st.button("Sign in", type="primary", icon=":material/login:", on_click=st.login)
            if claims.get("is_logged_in"):
                st.button("Sign out", icon=":material/logout:", on_click=st.logout)
        st.stop()
    return True


def account() -> None:
    """The page of the person who is signed in."""
    rules = sign_in(Settings())
    assert rules is not None, "sign in to see this page"
    now = visitor(rules, _claims())
    st.title("Account", anchor=False)
    st.markdown(f"Signed in as **{formatting.escape(now.email)}**, {now.role}.")
    st.caption(
        f"The session expires in {formatting.duration(max(0.0, now.expires - time.time()))}."
        f" {WHAT[now.role or 'viewer']}"
    )
    st.button("Sign out", icon=":material/logout:", on_click=st.logout)


WHAT: dict[Role, str] = {
    "operator": "Operators can launch, change and delete runs.",
    "viewer": "Viewers can view and download everything but cannot make changes.",
}


def email() -> str:
    """The address of the person at this page; empty while nobody signs in."""
    rules = sign_in(Settings())
    return "" if rules is None else visitor(rules, _claims()).email


def read_only() -> str | None:
    """Why the person at this page may not change anything, None when they may. Asked anew each
    time: a role can end."""
    rules = sign_in(Settings())
    return None if rules is None else _refusal(rules)


def writer(
    help: str | None = None,  # noqa: A002  # Streamlit's own word
    *,
    disabled: bool = False,
) -> dict[str, Any]:
    """`disabled` and `help` of a widget that changes something: off for viewers, with the
    reason."""
    reason = read_only()
    return {"disabled": disabled or reason is not None, "help": reason or help}


def check_writes(rules: SignIn) -> Callable[[], None]:
    """For `db.engine.writing`, which every write passes: raises NotAllowed unless the script that
    writes runs for an operator.

    A browser can send any click, so that a button is greyed out proves nothing.
    """

    def check() -> None:
        if reason := _refusal(rules):
            raise NotAllowed(reason)

    return check


def _refusal(rules: SignIn) -> str | None:
    now = visitor(rules, _claims())
    if now.role == "operator":
        return None
    return (
        now.refusal
        or f"You are signed in as a viewer ({now.email}). Only operators can make changes."
    )


def _claims() -> dict[str, Any]:
    """What Streamlit knows of the person at this page; nothing outside of pages."""
    return dict(st.user.to_dict()) if get_script_run_ctx(suppress_warning=True) else {}


# --- Streamlit's side ---


def secrets(settings: Settings) -> dict[str, Any] | None:
    """The section `auth` of Streamlit's secrets, which so need no file of their own. Raises
    SettingsError."""
    if sign_in(settings) is None:
        return None
    return {
        "auth": {
            "redirect_uri": settings.public_url.rstrip("/") + CALLBACK,
            "cookie_secret": settings.cookie_secret,
            "client_id": settings.oidc_client_id,
            "client_secret": settings.oidc_client_secret,
            "server_metadata_url": settings.oidc_url,
        }
    }


# --- requests that are no pages ---


def cookie_claims(settings: Settings, cookies: Mapping[str, str]) -> dict[str, Any]:
    """The claims in Streamlit's identity cookie, empty unless we signed it for this origin; `exp`
    is not looked at."""

    def signed(name: str) -> bytes | None:
        return decode_signed_value(
            settings.cookie_secret, name, cookies.get(name, "").encode("latin-1", "replace")
        )

    try:
        claims = json.loads(get_cookie_with_chunks(signed, USER_COOKIE_NAME) or b"{}")
    except ValueError:
        return {}
    public = urlsplit(settings.public_url)
    return (
        claims
        if isinstance(claims, dict) and claims.get("origin") == f"{public.scheme}://{public.netloc}"
        else {}
    )
