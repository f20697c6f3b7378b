"""`python -m worker.passwords DATABASE_DIR QUEUE_DIR`: random passwords for the services of docker-compose.yml, made once.

Each directory is a volume that only the services named in docker-compose.yml mount: that is the protection. The files themselves are
readable by all, because PostgreSQL and Redis run under users of their own images.
"""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path

PASSWORD = "password"  # noqa: S105  # the file's name


def make_database_password(directory: Path) -> None:
    """Write `password` unless it exists. Raises OSError."""
    _write_once(directory / PASSWORD, secrets.token_urlsafe(32))


def make_queue_password(directory: Path) -> None:
    """Write `password` and the `redis.conf` that demands it, unless they exist. Raises OSError."""
    _write_once(directory / PASSWORD, secrets.token_urlsafe(32))
    _write_once(directory / "redis.conf", f"requirepass {(directory / PASSWORD).read_text()}\n")


def _write_once(path: Path, text: str) -> None:
    """Complete or not at all, and never a second time, even when two of us run at once or one is killed."""
    draft = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    draft.write_text(text)
    draft.chmod(0o444)
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()


def main() -> int:
    if len(sys.argv) != 3:
        print("usage: python -m worker.passwords DATABASE_DIR QUEUE_DIR", file=sys.stderr)  # noqa: T201
        return 2
    database, queue = map(Path, sys.argv[1:])
    try:
        make_database_password(database)
        make_queue_password(queue)
    except OSError as error:
        print(f"ganboard: {error.filename} cannot be written: {error.strerror}.", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
