"""`python -m tests.audit requirements/*.lock`: known vulnerabilities of the pinned packages, as
pip-audit finds them.

Exit code 0: none but those that tests/advisories.toml allows; 1: others, or an entry of that file
has expired or is of no use any more; 2: that file cannot be read; 3: nothing is known, because the
database of advisories could not be asked about every package.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

ALLOWED = Path(__file__).with_name("advisories.toml")
FINE, VULNERABLE, UNREADABLE, UNKNOWN = 0, 1, 2, 3


@dataclass(frozen=True)
class Allowed:
    """One advisory that may stand until a day, that day included."""

    id: str
    package: str
    reason: str
    expires: date


class Unreadable(Exception):
    """The list of allowed advisories is wrong; the message is one sentence."""


class Unknown(Exception):
    """pip-audit could not find out; the message is one sentence."""


def allowed(text: str) -> list[Allowed]:
    """The list in TOML. Raises Unreadable."""
    try:
        entries = tomllib.loads(text).get("allow", [])
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"{ALLOWED.name} is not TOML: {error}.") from None
    for entry in entries:
        if set(entry) != set(Allowed.__annotations__) or type(entry["expires"]) is not date:
            raise Unreadable(
                f"An entry of {ALLOWED.name} must have id, package, reason, and expires as a day"
                f" such as 2027-01-31: {entry}."
            )
        if len(str(entry["reason"]).split()) < 3:
            raise Unreadable(f"{ALLOWED.name} gives no reason for {entry['id']}.")
    return [Allowed(**entry) for entry in entries]


def check(reports: Iterable[dict[str, Any]], entries: Sequence[Allowed], today: date) -> list[str]:
    """What is wrong, one sentence for each. Raises Unknown when a package was left out of a
    report."""
    packages = {
        (one["name"], one.get("version", "")): one
        for report in reports
        for one in report["dependencies"]
    }
    if not packages:
        raise Unknown("pip-audit names no package at all.")
    if skipped := sorted(name for (name, _), one in packages.items() if "vulns" not in one):
        raise Unknown(
            f"{len(skipped)} of {len(packages)} packages could not be looked up"
            f" ({', '.join(skipped[:3])}, ...)."
        )
    found, used = [], set()
    for (name, version), one in sorted(packages.items()):
        for advisory in one["vulns"]:
            ids = {advisory["id"], *advisory.get("aliases", [])}
            matching = [entry for entry in entries if entry.id in ids and entry.package == name]
            used |= set(matching)
            if not any(entry.expires >= today for entry in matching):
                fixed = (
                    f"fixed in {', '.join(advisory['fix_versions'])}"
                    if advisory.get("fix_versions")
                    else "no version is fixed yet"
                )
                expired = (
                    f"; allowed until {max(entry.expires for entry in matching)} only"
                    if matching
                    else ""
                )
                found.append(f"{name} {version} has {advisory['id']} ({fixed}{expired}).")
    found += [
        f"{entry.id} of {entry.package} is allowed and no longer there: take it off {ALLOWED.name}."
        for entry in entries
        if entry not in used
    ]
    return found


def report(lock: Path) -> dict[str, Any]:
    """What pip-audit says about a lock file. Raises Unknown."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "report.json")
        command = [
            sys.executable,
            "-m",
            "pip_audit",
            "--require-hashes",
            "--disable-pip",
            "--progress-spinner",
            "off",
        ]
        done = subprocess.run(
            [*command, "--format", "json", "--output", output, "-r", lock],
            capture_output=True,
            text=True,
        )
        try:
            found: dict[str, Any] = json.loads(output.read_text())
        except (OSError, ValueError):
            last = next(iter(done.stderr.strip().splitlines()[-1:]), f"exit code {done.returncode}")
            raise Unknown(f"pip-audit failed on {lock.name}: {last[:200]}.") from None
    return found


def main(locks: Sequence[str]) -> int:
    try:
        entries = allowed(ALLOWED.read_text())
        wrong = check([report(Path(lock)) for lock in locks], entries, datetime.now(UTC).date())
    except Unreadable as error:
        print(f"audit: {error}", file=sys.stderr)
        return UNREADABLE
    except Unknown as error:
        print(
            f"audit: Nothing is known about these packages: {error} Run it where the database of"
            " advisories can be reached.",
            file=sys.stderr,
        )
        return UNKNOWN
    for sentence in wrong:
        print(f"audit: {sentence}", file=sys.stderr)
    if not wrong:
        print(
            f"audit: no known vulnerability in {len(locks)} lock files but {len(entries)} that"
            f" {ALLOWED.name} allows."
        )
    return VULNERABLE if wrong else FINE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
