"""The audit's evaluation of recorded reports; what it cannot find out it never calls well."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests import audit

TODAY = date(2026, 11, 22)
# pip-audit 2.10.1's form
RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "pip_audit.json").read_text())
CLEAN = {"dependencies": [{"name": "rq", "version": "2.12.0", "vulns": []}], "fixes": []}


def entry(**change: str) -> str:
    values = {
        "id": '"GHSA-9hjg-9r4m-mvj7"',
        "package": '"requests"',
        "reason": '"Nothing of ours reads netrc."',
        "expires": "2026-11-22",
        **change,
    }
    return "[[allow]]\n" + "\n".join(f"{key} = {value}" for key, value in values.items())


def test_an_advisory_is_reported_with_its_remedy() -> None:
    assert audit.check([RECORDED, CLEAN], [], TODAY) == [
        "jinja2 3.1.4 has PYSEC-2026-1 (no version is fixed yet).",
        "requests 2.32.3 has CVE-2024-47081 (fixed in 2.32.4).",
    ]
    assert audit.check([CLEAN], [], TODAY) == []


def test_an_entry_lets_its_advisory_pass_by_any_of_its_names_until_its_last_day() -> None:
    entries = audit.allowed(entry() + "\n" + entry(id='"PYSEC-2026-1"', package='"jinja2"'))
    assert audit.check([RECORDED], entries, TODAY) == []
    assert audit.check([RECORDED], entries, date(2026, 11, 23)) == [
        "jinja2 3.1.4 has PYSEC-2026-1 (no version is fixed yet; allowed until 2026-11-22 only).",
        "requests 2.32.3 has CVE-2024-47081 (fixed in 2.32.4; allowed until 2026-11-22 only).",
    ]


def test_an_entry_for_another_package_or_for_nothing_does_not_help() -> None:
    assert len(audit.check([RECORDED], audit.allowed(entry(package='"jinja2"')), TODAY)) == 3
    assert audit.check([CLEAN], audit.allowed(entry()), TODAY) == [
        "GHSA-9hjg-9r4m-mvj7 of requests is allowed and no longer there: take it off"
        " advisories.toml."
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[allow]", "is not TOML"),
        (entry(reason='""'), "gives no reason"),
        (entry(reason='"later"'), "gives no reason"),
        (entry(expires='"2026-11-22"'), "expires as a day"),
        (entry(expires="2026-11-22T00:00:00"), "expires as a day"),
        (entry(severity='"low"'), "must have id, package"),
        ('[[allow]]\nid = "CVE-1"', "must have id, package"),
    ],
)
def test_a_list_that_is_not_complete_is_refused(text: str, says: str) -> None:
    with pytest.raises(audit.Unreadable, match=says):
        audit.allowed(text)


def test_packages_that_were_not_looked_up_make_the_answer_unknown() -> None:
    skipped = {
        "dependencies": [
            *CLEAN["dependencies"],
            {"name": "numpy", "skip_reason": "Dependency not found on PyPI"},
        ]
    }
    with pytest.raises(audit.Unknown, match=r"^1 of 2 packages could not be looked up \(numpy"):
        audit.check([skipped], [], TODAY)
    with pytest.raises(audit.Unknown, match="no package at all"):
        audit.check([{"dependencies": []}], [], TODAY)


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        (CLEAN, audit.FINE, "no known vulnerability in 1 lock files"),
        (RECORDED, audit.VULNERABLE, "has CVE-2024-47081"),
        ({"dependencies": []}, audit.UNKNOWN, "Nothing is known about these packages"),
    ],
)
def test_each_outcome_has_an_exit_code(
    answer: dict[str, Any],
    code: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(audit, "report", lambda lock: answer)
    assert audit.main(["some.lock"]) == code
    printed = capsys.readouterr()
    assert says in printed.out + printed.err


def test_the_list_as_it_stands_is_in_order() -> None:
    audit.allowed(audit.ALLOWED.read_text())


def test_a_lock_file_that_pip_audit_refuses_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "broken.lock").write_text("requests\n")
    with pytest.raises(audit.Unknown, match=r"^pip-audit failed on broken.lock: .+\.$"):
        audit.report(tmp_path / "broken.lock")
