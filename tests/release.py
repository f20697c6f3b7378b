"""What a release says: `python -m tests.release notes VERSION` writes build/release-notes.md from
CHANGELOG.md; `python -m tests.release pins BEFORE AFTER` lists what two lock files pin
differently."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTES = ROOT / "build" / "release-notes.md"


def version() -> str:
    """Of pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def notes(changelog: str, release: str) -> str:
    """The entries of a release. Raises ValueError when there are none."""
    heading = rf"^## \[{re.escape(release)}\].*?\n(?P<text>.*?)(?=^## \[|\Z)"
    found = re.search(heading, changelog, re.MULTILINE | re.DOTALL)
    if found is None or not found["text"].strip():
        raise ValueError(f"CHANGELOG.md has no entries of version {release}.")
    return found["text"].strip() + "\n"


def pins(lock: str) -> dict[str, str]:
    """Version by package."""
    return dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==(\S+)", lock, re.MULTILINE))


def changes(before: str, after: str) -> list[str]:
    """One line for each package that two lock files pin differently."""
    old, new = pins(before), pins(after)
    return [
        f"{name:<32} {old.get(name, '-'):>14} -> {new.get(name, '-')}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]


def main(arguments: list[str]) -> int:
    match arguments:
        case ["notes", release]:
            if release != version():
                print(f"The tag says {release}, pyproject.toml {version()}.", file=sys.stderr)
                return 1
            NOTES.parent.mkdir(exist_ok=True)
            NOTES.write_text(notes((ROOT / "CHANGELOG.md").read_text(), release))
            print(NOTES)
        case ["pins", before, after]:
            found = changes(Path(before).read_text(), Path(after).read_text())
            print("\n".join(found) or "Nothing changed.")
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
