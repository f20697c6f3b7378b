"""A browser's tab as the server sees it: Streamlit's own protocol over a WebSocket, without the
drawing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

PATIENCE = 120  # seconds that the server may be silent
WHOLE, EARLY, FRAGMENT = (
    ForwardMsg.FINISHED_SUCCESSFULLY,
    ForwardMsg.FINISHED_EARLY_FOR_RERUN,
    ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY,
)
ERROR_BADGE = ":red-badge[:material/error: Error]"  # of app.errors.show


class PageFailed(AssertionError):
    """The server reported an error to the tab."""


class Tab:
    """One session. `timers` are the fragments of the open page that want to run again, with their
    intervals in seconds."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._page, self._query = "", ""
        self._failed, self._hash = False, ""  # of the open page's script, as the server says
        self.pages: list[str] = []  # url paths, known after the first answer
        self.timers: dict[str, float] = {}
        self.received = 0  # bytes of the last answer

    def open(self, page: str = "", query: str = "") -> None:
        """Go to a page and wait for the end of its script, re-runs that it asks for included."""
        self._page, self._query, self.timers = page, query, {}
        self._ask()

    def tick(self, fragment: str) -> None:
        """Have a fragment run again as its timer would, and wait for its end; it may answer by
        running the whole page."""
        self._ask(fragment)

    def _ask(self, fragment: str = "") -> None:
        request = BackMsg()
        state = request.rerun_script
        state.query_string, state.fragment_id, state.is_auto_rerun = (
            self._query,
            fragment,
            bool(fragment),
        )
        if fragment:
            state.page_script_hash = self._hash
        else:
            state.page_name = self._page
        state.context_info.timezone, state.context_info.locale, state.context_info.color_scheme = (
            "UTC",
            "en-US",
            "light",
        )
        self._connection.send(request.SerializeToString())
        self.received = 0
        ended = False
        while not ended:
            answer = self._connection.recv(timeout=PATIENCE)
            assert isinstance(answer, bytes)
            self.received += len(answer)
            ended = self._hear(ForwardMsg.FromString(answer))

    def _hear(self, message: ForwardMsg) -> bool:
        """True once the script has ended."""
        kind = message.WhichOneof("type")
        if kind == "navigation":
            self._hash = message.navigation.page_script_hash
            self.pages = [page.url_pathname for page in message.navigation.app_pages]
        elif kind == "auto_rerun":
            self.timers[message.auto_rerun.fragment_id] = message.auto_rerun.interval
        elif kind == "stop_auto_rerun":
            for gone in message.stop_auto_rerun.fragment_ids:
                self.timers.pop(gone, None)
        elif kind == "delta":
            self._check(message.delta.new_element)
        elif kind == "script_finished":
            if message.script_finished not in (WHOLE, EARLY, FRAGMENT):
                raise PageFailed(
                    f"{self._page}?{self._query}: the script ended with {message.script_finished}"
                )
            return bool(message.script_finished != EARLY)
        return False

    def _check(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        if kind == "exception":
            raise PageFailed(
                f"{self._page}?{self._query}: {element.exception.type}: {element.exception.message}"
            )
        if kind == "markdown" and self._failed:
            raise PageFailed(f"{self._page}?{self._query}: {element.markdown.body}")
        # the sentence follows
        self._failed = kind == "markdown" and element.markdown.body == ERROR_BADGE


@contextmanager
def new_tab(url: str) -> Iterator[Tab]:
    """A session of its own at the server `url` (http://...)."""
    address = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
    with connect(
        address, subprotocols=["streamlit"], max_size=None, compression=None
    ) as connection:  # type: ignore[list-item]
        yield Tab(connection)
