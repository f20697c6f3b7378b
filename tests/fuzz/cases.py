"""How a fuzz test is written: strategies, cases of the corpus, and a count of what was tried.

A corpus file is `corpus/<group>.jsonl`, the group being the test module's name without `test_`: one
line per case that once failed or that nobody should have to find again, `{"test": name of the test,
"why": sentence, "case": {argument: value}}`. Bytes are `{"base64": text}`.
"""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from hypothesis import Phase, example, given, settings
from hypothesis.strategies import SearchStrategy

CORPUS = Path(__file__).parent / "corpus"
# of a cheap test; 0: the quick profile
EXAMPLES = int(os.environ.get("GANBOARD_FUZZ_EXAMPLES", "0"))
QUICK = 5  # the same in the quick profile
FEWEST = 2

counted: Counter[str] = Counter()  # cases by group

Test = Callable[..., None]


def count(group: str, cases: int = 1) -> None:
    """Add cases that a test made itself to those of its group."""
    counted[group] += cases


def fuzzed(share: float = 1.0, **strategies: SearchStrategy[Any]) -> Callable[[Test], Test]:
    """`hypothesis.given`, counted and with the cases of the corpus; `share` of the usual number of
    examples for tests that are slow (< 1) or quick (> 1).
    """

    def decorate(test: Test) -> Test:
        group = group_of(test.__module__)

        @wraps(test)
        def one_case(*arguments: Any, **named: Any) -> None:
            counted[group] += 1
            test(*arguments, **named)

        tried = given(**strategies)(one_case)
        for case in cases_of(group, test.__name__):
            tried = example(**case)(tried)
        profile = settings.get_profile("thorough" if EXAMPLES else "quick")
        # to shrink a slow case takes too long
        phases = [Phase.explicit, Phase.generate, *([Phase.shrink] if share >= 1 else [])]
        return settings(
            profile, phases=phases, max_examples=max(FEWEST, round((EXAMPLES or QUICK) * share))
        )(tried)

    return decorate


def refusal(
    errors: type[Exception] | tuple[type[Exception], ...],
    call: Callable[..., Any],
    *arguments: Any,
    **named: Any,
) -> str | None:
    """The sentence with which a call is refused, None if it is not; any other exception is a
    finding."""
    try:
        call(*arguments, **named)
    except errors as error:
        sentence = str(error)
        assert sentence.encode(), "it can be written to a log and a page"
        assert "\n" not in sentence.strip()
        assert len(sentence) < 5000, sentence
        return sentence
    return None


def group_of(module: str) -> str:
    return module.rpartition(".")[2].removeprefix("test_")


def cases_of(group: str, test: str) -> list[dict[str, Any]]:
    """The arguments of the corpus's cases for a test."""
    path = CORPUS / f"{group}.jsonl"
    lines = map(json.loads, path.read_text().splitlines()) if path.exists() else ()
    return [
        {name: _decoded(value) for name, value in line["case"].items()}
        for line in lines
        if line["test"] == test
    ]


def _decoded(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"base64"}:
        return base64.b64decode(value["base64"])
    return value
