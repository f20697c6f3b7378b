"""A WebSocket client of somebody's own presses buttons that are greyed out in a browser: the server
refuses what they would write."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlmodel import Session, SQLModel, text
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string
from streamlit.web.server.starlette.starlette_server_config import XSRF_COOKIE_NAME
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from ganboard.app.web import serve
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from tests.polling import wait_until
from tests.sign_in import identity
from tests.up import free_port

ROOT = Path(__file__).parents[2]
ENDS = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


@pytest.fixture
def server(context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    for name, value in identity.environment(url).items():
        monkeypatch.setenv(name, value)
    with (
        (tmp_path / "web.log").open("wb") as log,
        subprocess.Popen(serve.command(port), cwd=ROOT, stdout=log, stderr=log) as process,
    ):

        def answers() -> bool:
            try:
                with connect(f"ws://127.0.0.1:{port}/_stcore/stream"):
                    return True
            except OSError:
                return False

        wait_until(answers, seconds=60, every=0.2, what="the web server")
        yield url
        process.terminate()


@dataclass
class Client:
    """One session; what it was sent last."""

    connection: ClientConnection
    page: str
    query: str
    # label -> widget, whether it is off
    buttons: dict[str, tuple[str, bool]] = field(default_factory=dict)
    fragments: set[str] = field(default_factory=set)
    words: str = ""

    def run(self, press: str = "", fragment: str = "") -> None:
        """Have the page run, with a button pressed if one is named; it may have itself run
        again."""
        request = BackMsg()
        state = request.rerun_script
        state.query_string, state.page_name, state.fragment_id = self.query, self.page, fragment
        state.context_info.timezone, state.context_info.locale, state.context_info.color_scheme = (
            "UTC",
            "en-US",
            "light",
        )
        if press:
            state.widget_states.widgets.append(
                WidgetState(id=self.buttons[press][0], trigger_value=True)
            )
        self.words = ""
        self.connection.send(request.SerializeToString())
        while not self._ended(ForwardMsg.FromString(self.connection.recv(timeout=60))):
            pass

    def _ended(self, message: ForwardMsg) -> bool:
        kind = message.WhichOneof("type")
        if kind == "delta":
            element = message.delta.new_element
            if element.WhichOneof("type") == "button":
                self.buttons[element.button.label] = element.button.id, element.button.disabled
            elif element.WhichOneof("type") == "markdown":
                self.words += element.markdown.body.replace("\\", "").replace("\u2060", "") + "\n"
        elif kind == "auto_rerun":
            self.fragments.add(message.auto_rerun.fragment_id)
        return kind == "script_finished" and message.script_finished in ENDS


@contextmanager
def client(
    server: str, email: str, page: str, query: str = "", seconds: float = 3600
) -> Iterator[Client]:
    """A session of the owner of this address, with the page drawn once."""
    token = generate_xsrf_token_string()
    cookies = {**identity.cookie(email, server, seconds), XSRF_COOKIE_NAME: token}
    headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
    address = server.replace("http", "ws", 1) + "/_stcore/stream"
    protocols = ["streamlit", token]
    with connect(
        address, origin=server, additional_headers=headers, subprotocols=protocols, max_size=None
    ) as connection:  # type: ignore
        found = Client(connection, page, query)
        found.run()
        yield found


def stored(context: Context) -> dict[str, int]:
    """How many rows each table has."""
    with Session(context.engine) as session:
        return {
            name: session.scalar(text(f'SELECT count(*) FROM "{name}"')) or 0
            for name in SQLModel.metadata.tables
        }


@pytest.mark.thorough
def test_what_is_off_for_viewers_stays_off_when_it_is_pressed_all_the_same(
    server: str, context: Context, make_run: Callable[..., Run]
) -> None:
    trains, ended = (
        make_run("trains", status="running", epochs=1),
        make_run("ended", status="stopped", epochs=1),
    )
    before = stored(context)
    forged = {
        ("run", f"run={trains.id}"): "Stop",
        ("run", f"run={ended.id}"): "Resume",
        ("launch", "preset=tiny"): "Launch",
    }
    for (page, query), label in forged.items():
        with client(server, identity.VIEWER, page, query) as viewer:
            assert viewer.buttons[label][1], label
            viewer.run(press=label)
    assert stored(context) == before
    assert queries.find_run(context.engine, trains.id).stop_requested_at is None
    assert queries.find_run(context.engine, ended.id).status == "stopped"


@pytest.mark.thorough
def test_the_same_presses_of_an_operator_are_obeyed(
    server: str, context: Context, make_run: Callable[..., Run]
) -> None:
    run = make_run("trains", status="running", epochs=1)
    for page, query, label in (
        ("run", f"run={run.id}", "Stop"),
        ("launch", "preset=tiny", "Launch"),
    ):
        with client(server, identity.OPERATOR, page, query) as operator:
            assert not operator.buttons[label][1]
            operator.run(press=label)
            assert "Only operators" not in operator.words
    assert queries.find_run(context.engine, run.id).stop_requested_at is not None
    assert queries.count_runs(context.engine) == 2


@pytest.mark.thorough
def test_a_session_ends_with_its_sign_in_even_for_parts_that_update_themselves(
    server: str, make_run: Callable[..., Run]
) -> None:
    run = make_run("trains", status="running", epochs=1)
    with client(server, identity.OPERATOR, "run", f"run={run.id}", seconds=8) as operator:
        assert operator.fragments
        fragment = next(iter(operator.fragments))

        def close_code() -> int:
            """The code with which the session was closed, 0 while it is open."""
            try:
                operator.run(fragment=fragment)
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd else -1
            return 0

        wait_until(close_code, seconds=30, every=0.2, what="the end of the session")
        assert close_code() == 1008
    with client(server, identity.OPERATOR, "run", f"run={run.id}", seconds=-1) as expired:
        assert "Your session has expired" in expired.words
        assert "trains" not in expired.words
