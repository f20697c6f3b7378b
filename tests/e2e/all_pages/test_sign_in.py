"""Sign-in in a real browser: what operators, viewers, strangers and people whose sign-in has ended
see and can do."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from ganboard.db.models import Run
from ganboard.db.runs import queries, trash
from ganboard.worker.context import Context
from tests.e2e.dashboard import Dashboard, dashboard
from tests.polling import wait_until
from tests.sign_in import identity, oidc
from tests.up import free_port

Shot = Callable[[str], None]
TOKEN = "a token for programs of thirty-two characters or more"


def settings(url: str) -> dict[str, str]:
    return {**identity.environment(url), "GANBOARD_API_TOKEN": TOKEN}


@pytest.fixture(scope="module")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """A dashboard that asks who is there."""
    port = free_port()
    folder = tmp_path_factory.mktemp("protected")
    home = {"GANBOARD_HOME": str(folder / "home")}
    variables = home | settings(f"http://127.0.0.1:{port}")
    with dashboard(folder / "web.log", variables, port) as started:
        yield started


@pytest.fixture
def server(context: Context, protected: Dashboard, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in settings(protected.url).items():
        monkeypatch.setenv(name, value)
    protected.adopt_environment()
    return protected.url


def become(
    browser: BrowserContext, server: str, email: str, seconds: float = 3600, **more: str
) -> None:
    """Carry the cookie of somebody who has signed in."""
    browser.clear_cookies()
    browser.add_cookies(
        [
            {"name": name, "value": value, "url": server}
            for name, value in identity.cookie(email, server, seconds, **more).items()
        ]
    )


def status(url: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=10
        ) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_nobody_sees_anything_before_signing_in(
    page: Page, server: str, make_run: Callable[..., Run], shot: Shot
) -> None:
    run = make_run("secret plan")
    for address in ("", f"/run?run={run.id}", "/launch", "/account"):
        page.goto(server + address)
        expect(page.get_by_text("Sign in to see the runs.")).to_be_visible()
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        assert "secret plan" not in page.content()
        assert page.get_by_role("link", name="Launch").count() == 0
    shot("sign_in")


def test_an_operator_launches_and_signs_out(
    page: Page, server: str, context: Context, shot: Shot
) -> None:
    become(page.context, server, identity.OPERATOR)
    page.goto(f"{server}/launch?preset=tiny")
    page.get_by_role("button", name="Launch", exact=True).click()
    wait_until(lambda: queries.count_runs(context.engine) == 1, seconds=30, what="the run")
    page.goto(f"{server}/account")
    expect(page.get_by_text(", operator.")).to_be_visible()
    shot("account")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("Sign in to see the runs.")).to_be_visible()
    # the page says so before the browser has given the cookie up
    wait_until(
        lambda: (
            not [
                cookie
                for cookie in page.context.cookies()
                if cookie["name"].startswith("_streamlit_user")
            ]
        ),
        seconds=30,
        what="the end of the cookie",
    )


def test_a_viewer_sees_everything_and_changes_nothing(
    context: Context,
    page: Page,
    server: str,
    make_run: Callable[..., Run],
    complaints: list[str],
    shot: Shot,
) -> None:
    run, deleted = make_run("to look at", epochs=2), make_run("deleted")
    trash.move(context.engine, run_id=deleted.id)
    become(page.context, server, identity.VIEWER)
    buttons = {
        f"/run?run={run.id}": ("Resume", "Delete"), "/launch?preset=tiny": ("Launch",),
        "/studies": ("Launch a study",), "/": ("Stop", "Delete"),
        "/?list=Trash": ("Restore", "Delete permanently", "Empty trash"),
        f"/run?run={deleted.id}": ("Restore", "Delete permanently"),
    }  # fmt: skip
    for address, names in buttons.items():
        page.goto(server + address)
        for name in names:
            expect(page.get_by_role("button", name=name, exact=True)).to_be_disabled()
        shot(f"viewer_{address.strip('/').partition('?')[0] or 'runs'}")
    page.goto(f"{server}/playground?run={run.id}")
    expect(page.get_by_text("Only operators can make changes")).to_be_visible()
    page.goto(f"{server}/run?run={run.id}")
    with page.expect_response(lambda answer: "/grids/" in answer.url) as picture:
        page.get_by_role("tab", name="Images").click()
    assert picture.value.ok  # the cookie opens it
    assert not complaints


def test_strangers_expired_and_forged_sign_ins_are_refused_in_a_sentence(
    page: Page, server: str, make_run: Callable[..., Run], shot: Shot
) -> None:
    make_run("secret plan")
    cases = [
        ((identity.STRANGER, 3600, {}), "does not have access to this ganboard"),
        ((identity.OPERATOR, -1, {}), "Your session has expired. Sign in again."),
        (
            (
                identity.OPERATOR,
                3600,
                {"secret": "another secret of thirty-two characters or more"},
            ),
            "Sign in to see the runs.",
        ),
    ]
    for (email, seconds, more), sentence in cases:
        become(page.context, server, email, seconds, **more)
        page.goto(server)
        expect(page.get_by_text(sentence)).to_be_visible()
        shot(f"refused_{sentence.split()[2]}")
        assert "secret plan" not in page.content()


@pytest.mark.thorough
def test_a_page_that_is_open_hears_nothing_more_once_the_sign_in_has_ended(
    page: Page, server: str, make_run: Callable[..., Run]
) -> None:
    run = make_run("trains now", status="running", epochs=1)
    become(page.context, server, identity.OPERATOR, seconds=12)
    page.goto(f"{server}/run?run={run.id}")
    expect(page.get_by_text("trains now").first).to_be_visible()
    expect(page.get_by_text("Your session has expired. Sign in again.")).to_be_visible(
        timeout=60_000
    )  # it updates itself, and so finds out
    assert "trains now" not in page.content()


def test_programs_read_with_the_token_and_nobody_without(
    server: str, make_run: Callable[..., Run]
) -> None:
    run = make_run("to read", epochs=1)
    addresses = [
        f"{server}/api/runs",
        *(
            f"{server}/api/runs/{run.id}{rest}"
            for rest in ("", "/epochs.csv", "/grids/1.png", "/export.zip")
        ),
    ]
    carried = "; ".join(
        f"{name}={value}" for name, value in identity.cookie(identity.VIEWER, server).items()
    )
    expired = "; ".join(
        f"{name}={value}" for name, value in identity.cookie(identity.VIEWER, server, -1).items()
    )
    foreign = "; ".join(
        f"{name}={value}"
        for name, value in identity.cookie(identity.VIEWER, "https://other.example").items()
    )
    for address in addresses:
        assert status(address) == 401
        assert status(address, Authorization=f"Bearer {TOKEN}x") == 401
        assert status(address, Authorization="Bearer ") == 401
        assert status(address, Cookie=expired) == 401
        assert status(address, Cookie=foreign) == 401
        assert status(address, Cookie=carried) == 200
        assert status(address, Authorization=f"Bearer {TOKEN}") == 200
    assert status(f"{server}/media/{'0' * 56}.png") == 401
    with urllib.request.urlopen(f"{server}/api/health", timeout=10) as answer:
        assert json.load(answer) == {"status": "ok"}


@pytest.mark.thorough
def test_the_whole_way_through_a_provider(page: Page, context: Context, tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with oidc.provider() as provider:
        variables = {
            **identity.environment(url),
            "GANBOARD_HOME": str(context.settings.state),
            "GANBOARD_OIDC_URL": f"{provider.url}/.well-known/openid-configuration",
        }
        with dashboard(tmp_path / "web.log", variables, port):
            people = {
                identity.OPERATOR: ", operator.",
                identity.VIEWER: ", viewer.",
                identity.STRANGER: "does not have access to this ganboard",
            }
            for ended, (email, sentence) in enumerate(people.items(), start=1):
                page.goto(url)
                page.get_by_role("button", name="Sign in").click()
                page.get_by_label("E-mail").fill(email)
                page.get_by_role("button", name="Go").click()
                expect(page.get_by_role("button", name="Sign in")).to_have_count(
                    int(email == identity.STRANGER)
                )
                page.goto(f"{url}/account")
                expect(page.get_by_text(sentence)).to_be_visible()
                page.get_by_role("button", name="Sign out").click()
                # The page says so before the browser has been at the provider, and leaving it
                # earlier keeps the cookie.
                wait_until(
                    lambda ended=ended: len(provider.ended) == ended,
                    seconds=30,
                    what="the end of the session",
                )
                expect(page.get_by_text("Sign in to see the runs.")).to_be_visible()
            assert provider.ended == [f"{url}/oauth2callback"] * 3
