"""The search language of the list of runs.

All terms of a search must hold. A word is looked for in name, note and tags, and as the beginning
of the id, without regard to case; `tag:x`, `status:failed`, `preset:paper`, `sweep:ID`; `xla=true`,
`batch_size>=128`, `g_loss!=nan` and the like for settings and metrics; `/regex/` for names, in
RE2's syntax; `"two words"`; and a minus before any of these for runs of which it does not hold.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import compress
from typing import Any

from ganboard.db.errors import BadSearch
from ganboard.db.models import SHOWN
from ganboard.db.runs.listing import DISTANCES, Listed

LENGTH = 200
METRICS = (
    "epoch",
    "step",
    "seconds",
    "g_loss",
    "d_loss",
    "images_per_second",
    *DISTANCES.values(),
    "memorization",
)
KEYS = ("tag", "status", "preset", "sweep")

Test = Callable[[Sequence[Listed]], Iterable[bool]]  # of each run: does the term hold?

_TERM = re.compile(
    r"""(?P<minus>-?)
    (?: (?P<regex> /(?:\\.|[^/\\])+/ )
      | (?P<key> [A-Za-z_]\w* ) (?P<op> != | >= | <= | [:=<>] )
        (?: "(?P<quoted>[^"]*)" | (?P<value>[^\s"]*) )
      | "(?P<phrase>[^"]*)"
      | (?P<word> [^\s"]+ )
    ) (?=\s|$)""",
    re.VERBOSE,
)
_CONTROL = dict.fromkeys(range(32), " ")  # in no name, and in no sentence about a search
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_BOOLEANS = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}


def parse(text: str, settings: Mapping[str, Any]) -> list[Test]:
    """The terms of a search; `settings` are all that a configuration has, with their defaults.
    Raises BadSearch with one sentence."""
    # half of a surrogate pair is in no name
    text = text.translate(_CONTROL).strip().encode(errors="replace").decode()
    if len(text) > LENGTH:
        raise BadSearch(f"The search has {len(text):,} characters; the limit is {LENGTH}.")
    tests, place = [], 0
    while place < len(text):
        found = _TERM.match(text, place)
        if found is None:
            raise BadSearch(
                f"Unbalanced quotation mark in {text[place : place + 40]!r}. Quote whole"
                ' phrases, such as "two words".'
            )
        test = _test(found, settings)
        tests.append(_not(test) if found["minus"] else test)
        place = found.end() + len(text[found.end() :]) - len(text[found.end() :].lstrip())
    return tests


def matching(runs: Sequence[Listed], tests: Iterable[Test]) -> list[Listed]:
    """The runs for which all terms hold, in their order."""
    kept = list(runs)
    for test in tests:
        kept = list(compress(kept, test(kept)))
    return kept


def _test(term: re.Match[str], settings: Mapping[str, Any]) -> Test:
    if term["regex"]:
        return _pattern(term["regex"][1:-1])
    if term["key"]:
        key, value = (
            term["key"].lower(),
            (term["value"] if term["quoted"] is None else term["quoted"]),
        )
        if not value:
            raise BadSearch(
                f"{term[0]!r} has no value. Add one after the operator, or quote it to search for"
                " the text."
            )
        return (
            _mark(key, value)
            if term["op"] == ":"
            else _comparison(key, term["op"], value, settings)
        )
    if term["word"] and term["word"].startswith("/"):
        raise BadSearch(
            f"The pattern {term['word']!r} is not closed. End it with a slash, such as /^paper/,"
            " or quote it."
        )
    sought = (term["word"] or term["phrase"] or "").casefold()
    return _each(
        lambda run: (
            any(sought in text.casefold() for text in (run.name, run.note or "", *run.tags))
            or run.id.startswith(sought)
        )
    )


def _mark(key: str, value: str) -> Test:
    sought = value.casefold()
    if key not in KEYS:
        raise BadSearch(
            f"There is no filter {key + ':'!r}. Choose from {', '.join(f'{k}:' for k in KEYS)}, or"
            " quote the text."
        )
    if key == "tag":
        return _each(lambda run: any(tag.casefold() == sought for tag in run.tags))
    if key == "status":
        if sought not in SHOWN:
            raise BadSearch(f"{value!r} is not a state: choose from {', '.join(SHOWN)}.")
        return _each(lambda run: run.shown_status == sought)
    return _each(lambda run: (getattr(run, key) or "").casefold() == sought)


def _comparison(key: str, sign: str, value: str, settings: Mapping[str, Any]) -> Test:
    if key not in settings and key not in METRICS:
        near = get_close_matches(key, (*settings, *METRICS), n=1)
        hint = (
            f"did you mean {near[0]}?"
            if near
            else "see the Launch page for all settings, or quote the text."
        )
        raise BadSearch(f"{key!r} is neither a setting nor a metric: {hint}")
    stored: Callable[[Listed], Any] = (
        (lambda run: getattr(run, key)) if key in METRICS else (lambda run: run.config.get(key))
    )
    compare, default = _COMPARE[sign], settings.get(key, 0.0)
    number = default is None or (isinstance(default, int | float) and not isinstance(default, bool))
    if sign not in ("=", "!=") and not number:
        raise BadSearch(f"{key} is not a number, so {sign} cannot be used. Use = or !=.")
    if value.casefold() == "none" and sign in ("=", "!="):
        return _each(lambda run: compare(stored(run), None))
    if number:
        sought = _number(key, value)
        return _each(lambda run: _compared(compare, stored(run), sought))
    if isinstance(default, bool):
        if value.casefold() not in _BOOLEANS:
            raise BadSearch(f"{key} is true or false, not {value!r}.")
        return _each(lambda run: compare(stored(run), _BOOLEANS[value.casefold()]))
    return _each(lambda run: compare(str(stored(run)).casefold(), value.casefold()))


def _number(key: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise BadSearch(
            f"{key} is a number, but {value!r} is not. Enter a number such as 0.5, 128 or 1e-4."
        ) from None


def _compared(compare: Callable[[Any, Any], bool], stored: Any, sought: float) -> bool:
    """Numbers as people mean them: NaN equals NaN, and what is not known differs from every
    number."""
    if not isinstance(stored, int | float):
        return compare is operator.ne
    if math.isnan(sought):
        return compare(math.isnan(stored), True)
    return compare(stored, sought)


def _pattern(pattern: str) -> Test:
    # RE2: its time grows with the length of the text alone, whatever the pattern
    import pyarrow as pa  # noqa: PLC0415  # slow to load, and few searches need it
    from pyarrow import compute  # noqa: PLC0415

    def test(names: list[str]) -> list[bool]:
        found = compute.match_substring_regex(
            pa.array(names, pa.string()), pattern, ignore_case=True
        )
        return [bool(one) for one in found.to_pylist()]

    try:
        test([""])
    except pa.ArrowInvalid as error:
        cause = str(error).removeprefix("Invalid regular expression: ").splitlines()[0]
        raise BadSearch(f"The pattern /{pattern}/ is invalid ({cause}). Fix or quote it.") from None
    return lambda runs: test([run.name for run in runs])


def _each(test: Callable[[Listed], bool]) -> Test:
    return lambda runs: map(test, runs)


def _not(test: Test) -> Test:
    return lambda runs: map(operator.not_, test(runs))
