"""`python -m ganboard.worker.supervisor.secrets DATABASE_DIR QUEUE_DIR WEB_DIR [STORE_DIR]`: random
secrets for the services of docker-compose.yml, made once.

Each directory is a volume that only the services named in docker-compose.yml mount: that is the
protection. The files themselves are readable by all, because PostgreSQL and Redis run under users
of their own images.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path

QUEUE_USER = "ganboard"
NOTIFICATIONS = "ganboard"  # prefix of the keys of worker/requests/notify.py
PASSWORD = "password"  # noqa: S105  # the file's name


def make_database_password(directory: Path) -> None:
    """Write `password` unless it exists. Raises OSError."""
    _write_once(directory / PASSWORD, secrets.token_urlsafe(32))


def make_queue_password(directory: Path) -> None:
    """Write `password` unless it exists, and this version's `redis.conf`, which lets in
    `QUEUE_USER` alone. Raises OSError."""
    _write_once(directory / PASSWORD, secrets.token_urlsafe(32))
    _write(directory / "redis.conf", redis_conf((directory / PASSWORD).read_text()))


def redis_conf(password: str) -> str:
    """Redis's settings: one user, with access to the keys and channels of RQ and of our
    notifications, and to no dangerous commands.

    Left out are whole categories: administration, scripts, everything dangerous (FLUSHALL, KEYS,
    RESTORE, SORT), and data types that nothing of ours has. INFO and CLIENT LIST are RQ's.
    """
    without = " ".join(
        f"-@{category}"
        for category in ("dangerous", "admin", "scripting", "geo", "hyperloglog", "bitmap")
    )
    digest = hashlib.sha256(password.encode()).hexdigest()
    rights = f"~rq:* ~{NOTIFICATIONS}:* &rq:* +@all {without} +info +client|list +client|setname"
    return f"protected-mode yes\nuser default off\nuser {QUEUE_USER} on #{digest} {rights}\n"


def make_web_secrets(directory: Path) -> None:
    """Write `cookie`, which signs identities, and `api-token`, which programs show, unless they
    exist. Raises OSError."""
    for name in ("cookie", "api-token"):
        _write_once(directory / name, secrets.token_urlsafe(32))


def make_store_key(directory: Path) -> None:
    """Write `s3.json`, with a key that SeaweedFS admits, unless it exists, and the same key as
    `credentials`, for AWS's libraries. Raises OSError."""
    key = {"accessKey": secrets.token_hex(10), "secretKey": secrets.token_urlsafe(32)}
    rights = ["Admin", "Read", "Write", "List", "Tagging"]
    admitted = {"identities": [{"name": "ganboard", "credentials": [key], "actions": rights}]}
    _write_once(directory / "s3.json", json.dumps(admitted))
    admitted = json.loads((directory / "s3.json").read_text())
    key = admitted["identities"][0]["credentials"][0]
    _write(
        directory / "credentials",
        "[default]\n"
        f"aws_access_key_id = {key['accessKey']}\n"
        f"aws_secret_access_key = {key['secretKey']}\n",
    )


def _write_once(path: Path, text: str) -> None:
    """Complete or not at all, and never a second time, even when two of us run at once or one is
    killed."""
    draft = _draft(path, text)
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()


def _write(path: Path, text: str) -> None:
    """Complete or not at all, in place of what was there."""
    _draft(path, text).replace(path)


def _draft(path: Path, text: str) -> Path:
    draft = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    draft.write_text(text)
    draft.chmod(0o444)
    return draft


def main() -> int:
    if len(sys.argv) not in (4, 5):
        print(  # noqa: T201
            "usage: python -m ganboard.worker.supervisor.secrets DATABASE_DIR QUEUE_DIR WEB_DIR"
            " [STORE_DIR]",
            file=sys.stderr,
        )
        return 2
    database, queue, web, *stores = map(Path, sys.argv[1:])
    try:
        make_database_password(database)
        make_queue_password(queue)
        make_web_secrets(web)
        for store in stores:
            make_store_key(store)
    except OSError as error:
        message = f"ganboard: {error.filename} cannot be written: {error.strerror}."
        print(message, file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
