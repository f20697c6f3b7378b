"""The tab Log: the end of the log, which follows a run that is live, or the lines that contain some
text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from ganboard.app import errors
from ganboard.app.run.log import file as log_file
from ganboard.db.models import ENDED, Run
from ganboard.worker import formatting, placement
from ganboard.worker.artifacts import run_logs
from ganboard.worker.artifacts.store import StoreError
from ganboard.worker.context import Context

HEIGHT = 480  # pixels; the log scrolls in itself


@dataclass(frozen=True)
class LogOptions:
    """What of the log is shown."""

    path: Path | None  # None: there is none
    text: str  # lines that contain it; empty: the end
    end: int | None  # bytes at which a reader stopped following; None: at the end of the file


def controls(context: Context, run: Run) -> LogOptions:
    """The machine whose log it is, where several have trained the run; search and follow, which are
    in the address; and the download."""
    parts = _parts(context, run)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="log_bar"):
        part = parts[0] if parts else None
        if len(parts) > 1:
            part = st.selectbox(
                "Machine",
                parts,
                format_func=lambda one: one.machine or "this machine",
                key=f"log_machine_{run.id}",
                label_visibility="collapsed",
                help="Each machine that trained the run has written a log; the newest is first.",
            )
        path = part.path if part else None
        bytes_now = log_file.size(path) if path else None
        text = st.text_input(
            "Search the log",
            key="find",
            bind="query-params",
            type="search",
            icon=":material/search:",
            placeholder="Search the log",
            max_chars=200,
            label_visibility="collapsed",
            live=True,
        )
        following = run.status in ENDED or st.toggle(
            "Follow",
            True,
            key="follow",
            bind="query-params",
            help="Scroll to each new line. Off: the log stands still while you read.",
        )
        if bytes_now is not None:
            st.link_button(
                "Download",
                f"/api/runs/{run.id}/train.log{_query(part, parts)}",
                key="log_download",
                icon=":material/download:",
                help=f"The whole log, {formatting.size(bytes_now)}.",
            )
    held = f"log_end_{run.id}"
    if following:
        st.session_state.pop(held, None)
    elif held not in st.session_state:
        st.session_state[held] = bytes_now
    return LogOptions(path, (text or "").strip(), st.session_state.get(held))


def _parts(context: Context, run: Run) -> list[run_logs.Part]:
    """The logs that can be read here; where the store cannot be used, it says so."""
    try:
        return run_logs.parts(context, run.id)
    except StoreError as error:
        errors.report(str(error), "warning")
        here = run_logs.own(context, run.id)
        return [here] if here else []


def _query(part: run_logs.Part | None, parts: list[run_logs.Part]) -> str:
    return f"?{urlencode({'machine': part.machine})}" if part and len(parts) > 1 else ""


def draw(context: Context, run: Run, options: LogOptions) -> None:
    """The part that is drawn anew with every tick."""
    # that of a run which this machine begins to train appears after the options were drawn
    path = options.path or context.settings.log_path(run.id)
    if not log_file.size(path):
        st.caption(
            "The log is empty. The script writes to it with print(..., file=run)."
            if run.external
            else placement.log_absence(context, run)
            or "The log is empty. It starts when a worker on this machine claims the run."
        )
    elif options.text:
        _matches(path, run, options.text)
    else:
        _end(path, run, options)


def _end(path: Path, run: Run, options: LogOptions) -> None:
    shown = log_file.tail(path, end=options.end)
    if shown is None:
        return
    many = formatting.plural(len(shown.lines), "line")
    parts = [f"All {many}" if shown.whole else f"The last {many}; search and download have all"]
    if shown.notices:
        parts.append(f"{formatting.plural(shown.notices, 'notice')} of libraries hidden")
    if options.end is not None:
        newer = (log_file.size(path) or 0) - options.end
        parts.append(f"not following: {formatting.size(newer)} are newer")
    live = run.status not in ENDED
    # a run that failed ends with the reason, others begin with what they train
    _text(run, shown.lines, to_end=options.end is None and (live or run.status == "failed"))
    st.caption(" · ".join(parts))


def _matches(path: Path, run: Run, text: str) -> None:
    key = f"log_search_{run.id}"
    search = st.session_state.get(key)
    if not isinstance(search, log_file.Search) or search.text != text:
        search = st.session_state[key] = log_file.Search(text)
    search.read_on(path)
    found = search.found()
    total = search.total()
    if not found:
        st.caption("No line contains this text.")
        return
    width = len(str(found[-1][0]))
    _text(run, [f"{number:>{width}}  {line}" for number, line in found], to_end=False)
    newest = f"; the last {len(found)} are shown" if total > len(found) else ""
    st.caption(f"{formatting.plural(total, 'line')} found, with line numbers{newest}.")


def _text(run: Run, lines: list[str], *, to_end: bool) -> None:
    with st.container(height=HEIGHT, border=False, autoscroll=to_end, key=f"log_{run.id}"):
        st.code("\n".join(lines), language=None, wrap_lines=True)
