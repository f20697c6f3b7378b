"""What people type: names, tags, notes and searches, and that no page, file or terminal makes
anything else of it than text."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Callable
from contextlib import suppress

from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ganboard.db.errors import BadAnnotation, BadSearch, UnknownRun
from ganboard.db.models import Run
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import listing, queries, search
from ganboard.db.text_validation import invisible
from ganboard.gan.models.dcgan.config import Config
from ganboard.worker import formatting as text
from ganboard.worker.context import Context
from ganboard.worker.errors import BadName
from ganboard.worker.formatting import clean
from ganboard.worker.interchange.document import encode, summaries
from ganboard.worker.interchange.export import safe_cell
from ganboard.worker.submission.naming import check_name
from tests.factories import HOSTILE_NAMES
from tests.fuzz.cases import fuzzed, refusal
from tests.ui.pages import open_page

MakeRun = Callable[..., Run]
SETTINGS = Config().model_dump(mode="json")
PIECES = (
    *HOSTILE_NAMES, "", " ", "a", "\u202e", "\u200b", "\u200d", "e\u0301", "\u0301" * 30, "\0",
    "\n", "\r", "\t", "\x1b[2J", "\ud800", "\udfff", "../../etc/passwd", "CON", "=1+1", "+1", "-1",
    "@x", "%s%n", "{{7*7}}", "${x}", "' OR 1=1 --", '"', "\\", "`", "``", "*", "_", "~~", "[x]",
    "(y)", "](javascript:x)", "![](http://h/x.png)", "<b>", "</p>", "&lt;", "&#60;", "&nbsp;",
    "<!--", "$x$", "$$", ":red[x]", ":material/add:", ":smile:", "https://h", "www.h.x", "a@b.c",
    "->", "<-", "--", ">=", "==", "# ", "> ", "- ", "1. ", "| a | b |", "---", "***", "    code",
    "\ufeff", "\u2028", "\u2029", "\ufffe", "\U0010ffff", "\U000e0041", "\ue000",
    "\U0001f1fa\U0001f1f3", "\ufdfa", "\u1160", "\u3164", "\x85", "\xa0", "\xad",
)  # fmt: skip
RAW = st.text(st.characters(), max_size=120) | st.lists(st.sampled_from(PIECES), max_size=6).map(
    "".join
)
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def stored(context: Context, run: Run) -> Run:
    found = queries.get_run(context.engine, run.id)
    assert found is not None
    return found


def live_markup(markdown: str) -> list[str]:
    """What Markdown makes of text beyond paragraphs of words."""
    tokens = [
        inner for token in MARKDOWN.parse(markdown) for inner in (token, *(token.children or ()))
    ]
    return [
        token.type
        for token in tokens
        if token.type not in ("paragraph_open", "paragraph_close", "inline", "text", "text_special")
    ]


@fuzzed(20, raw=RAW)
def test_a_name_that_is_accepted_is_plain_text(raw: str) -> None:
    if refusal(BadName, check_name, raw):
        return
    name = check_name(raw)
    assert 1 <= len(name) <= 80
    assert unicodedata.is_normalized("NFC", name)
    assert name.encode().decode() == name
    assert invisible(name) is None
    assert not set(name) & set("\0\n\r\t\x1b\u202e\u200b\u2028")
    assert check_name(name) == name


@fuzzed(20, raw=RAW)
def test_what_is_escaped_is_no_markdown(raw: str) -> None:
    escaped = text.escape(raw)
    assert live_markup(escaped) == [], escaped
    assert "\n" not in escaped
    shown = text.shorten(raw)
    assert len(shown) <= 40
    assert [kind for kind in live_markup(text.sentence(raw)) if kind != "code_inline"] == []


@fuzzed(10, raw=RAW, cells=st.lists(RAW, min_size=1, max_size=4))
def test_a_cell_is_read_back_and_never_a_formula(raw: str, cells: list[str]) -> None:
    assert not safe_cell(raw).startswith(("=", "+", "-", "@", "\t", "\r"))
    file = io.StringIO(newline="")
    csv.writer(file).writerow([*map(safe_cell, cells)])
    [row] = csv.reader(io.StringIO(file.getvalue(), newline=""))
    assert row == [*map(safe_cell, cells)]


@fuzzed(10, raw=RAW)
def test_a_terminal_gets_no_control_characters(raw: str) -> None:
    shown = clean(raw)
    assert not [
        c
        for c in shown
        if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in "\u202e\u2066"
    ]


@fuzzed(2, note=RAW, tags=st.lists(RAW, max_size=3))
def test_notes_and_tags_are_stored_as_valid_utf8_or_refused(
    context: Context, make_run: MakeRun, note: str, tags: list[str]
) -> None:
    known = queries.list_runs(context.engine, limit=1)
    run = known[0] if known else make_run(epochs=1)
    run_annotations.remove_tags(
        context.engine,
        run_ids=[run.id],
        tags=run_annotations.tags_of(context.engine, [run.id])[run.id],
    )
    with suppress(BadAnnotation):
        run_annotations.write_note(
            context.engine, run_id=run.id, text=note, version=stored(context, run).note_version
        )
    with suppress(BadAnnotation):
        run_annotations.add_tags(context.engine, run_ids=[run.id], tags=tags)
    found = stored(context, run)
    (found.note or "").encode()  # valid
    assert len(found.note or "") <= run_annotations.NOTE_LENGTH
    assert encode(summaries(context, [found])).decode()
    with context.engine.connect() as connection:
        bad = "SELECT count(*) FROM run WHERE CAST(CAST(note AS BLOB) AS TEXT) != note"
        assert connection.exec_driver_sql(bad).scalar_one() == 0
        [raw] = connection.exec_driver_sql("SELECT CAST(note AS BLOB) FROM run").scalars()
        assert (raw or b"").decode() == (found.note or "")


@fuzzed(2, name=RAW, query=RAW)
def test_saved_views_are_stored_or_refused(context: Context, name: str, query: str) -> None:
    with suppress(BadAnnotation):
        view = run_annotations.save_view(context.engine, name=name, page="runs", query=query)
        assert run_annotations.view(context.engine, view.name) is not None
        run_annotations.delete_view(context.engine, name=view.name)
    assert run_annotations.view(context.engine, name) is None


@fuzzed(
    20,
    terms=st.lists(
        RAW
        | st.builds(
            "{}{}{}".format,
            st.sampled_from([*SETTINGS, *search.METRICS, *search.KEYS, "x"]),
            st.sampled_from([*":=<>", ">=", "!="]),
            RAW,
        )
        | st.builds("/{}/".format, RAW)
        | st.builds('-"{}"'.format, RAW),
        max_size=3,
    ),
)
def test_a_search_is_understood_or_refused_in_a_sentence(
    context: Context, make_run: MakeRun, terms: list[str]
) -> None:
    runs = listing.list_all(context.engine)
    if not runs:
        for name in ("one", HOSTILE_NAMES[0]):
            make_run(name, epochs=1, quality_every=1)
        runs = listing.list_all(context.engine)
    text = " ".join(terms)
    if refusal(BadSearch, search.parse, text, SETTINGS):
        return
    tests = search.parse(text, SETTINGS)
    assert {run.id for run in search.matching(runs, tests)} <= {run.id for run in runs}


@fuzzed(10, prefix=RAW)
def test_any_text_finds_a_run_or_none(context: Context, make_run: MakeRun, prefix: str) -> None:
    if not queries.count_runs(context.engine):
        make_run(epochs=1)
    with suppress(UnknownRun):
        queries.find_run(context.engine, prefix)
    queries.get_run(context.engine, prefix)


@fuzzed(
    0.1,
    page=st.sampled_from(["runs", "run", "compare", "playground", "launch"]),
    pieces=st.lists(st.sampled_from(PIECES), min_size=2, max_size=5),
)
def test_pages_show_names_and_notes_as_text(
    context: Context, make_run: MakeRun, page: str, pieces: list[str]
) -> None:
    shown = "".join(piece for piece in pieces if not invisible(piece))
    try:
        name = check_name(shown[:80])
    except BadName:
        name = check_name(
            "<img src=x onerror=alert(1)>" + shown[:2].replace(" ", "") + "](javascript:x)"
        )
    run = make_run(name, epochs=1, status="failed", error=shown or "x")
    with suppress(BadAnnotation):
        run_annotations.write_note(context.engine, run_id=run.id, text=shown, version=0)
    query = {"run": {"run": run.id}, "playground": {"run": run.id}, "launch": {"clone": run.id}}
    other = make_run(name, epochs=1)
    at = open_page(
        page, **({"runs": f"{run.id},{other.id}"} if page == "compare" else query.get(page, {}))
    )
    bodies = [
        element.value
        for kind in (at.markdown, at.caption, at.title, at.subheader, at.info, at.warning, at.error)
        for element in kind
    ]
    bodies += [button.label for button in at.button]
    found = [
        kind
        for body in bodies
        for kind in live_markup(str(body))
        if kind in ("html_inline", "html_block", "image", "link_open")
    ]
    assert not found, bodies


def test_a_megabyte_is_refused_at_once(context: Context, make_run: MakeRun) -> None:
    run, huge = make_run(epochs=1), "\u00e9" * 1_000_000
    for said in (
        refusal(BadName, check_name, huge),
        refusal(
            BadAnnotation,
            run_annotations.write_note,
            context.engine,
            run_id=run.id,
            text=huge,
            version=0,
        ),
        refusal(
            BadAnnotation, run_annotations.add_tags, context.engine, run_ids=[run.id], tags=[huge]
        ),
        refusal(BadSearch, search.parse, huge, SETTINGS),
    ):
        assert said is not None
        assert len(said) < 300
