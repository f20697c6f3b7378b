from __future__ import annotations

import configparser
import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ganboard.worker.access import SHORTEST_SECRET
from ganboard.worker.supervisor import secrets


@pytest.fixture
def volumes(tmp_path: Path) -> tuple[Path, Path]:
    database, queue = tmp_path / "database", tmp_path / "queue"
    database.mkdir()
    queue.mkdir()
    return database, queue


def contents(*folders: Path) -> dict[str, str]:
    return {
        f"{folder.name}/{path.name}": path.read_text()
        for folder in folders
        for path in folder.iterdir()
    }


def test_both_services_get_long_passwords_of_their_own(volumes: tuple[Path, Path]) -> None:
    secrets.make_database_password(volumes[0])
    secrets.make_queue_password(volumes[1])
    found = contents(*volumes)
    assert set(found) == {"database/password", "queue/password", "queue/redis.conf"}
    assert found["database/password"] != found["queue/password"]
    assert len(found["database/password"]) >= 43  # 32 random bytes
    assert found["queue/password"] not in found["queue/redis.conf"]
    assert hashlib.sha256(found["queue/password"].encode()).hexdigest() in found["queue/redis.conf"]


def test_a_second_start_changes_nothing(volumes: tuple[Path, Path]) -> None:
    secrets.make_database_password(volumes[0])
    secrets.make_queue_password(volumes[1])
    before = contents(*volumes)
    secrets.make_database_password(volumes[0])
    secrets.make_queue_password(volumes[1])
    assert contents(*volumes) == before


def test_a_start_that_was_cut_short_is_completed(volumes: tuple[Path, Path]) -> None:
    (volumes[1] / "password").write_text("known")
    secrets.make_queue_password(volumes[1])
    assert (volumes[1] / "redis.conf").read_text() == secrets.redis_conf("known")


def test_the_settings_of_an_older_version_give_way(volumes: tuple[Path, Path]) -> None:
    (volumes[1] / "password").write_text("known")
    (volumes[1] / "redis.conf").write_text("requirepass known\n")
    secrets.make_queue_password(volumes[1])
    assert (volumes[1] / "redis.conf").read_text() == secrets.redis_conf("known")
    assert (volumes[1] / "password").read_text() == "known"


def test_the_web_gets_secrets_that_sign_in_accepts(tmp_path: Path) -> None:
    secrets.make_web_secrets(tmp_path)
    before = contents(tmp_path)
    secrets.make_web_secrets(tmp_path)
    assert contents(tmp_path) == before
    assert {path.name for path in tmp_path.iterdir()} == {"cookie", "api-token"}
    assert all(len(secret) >= SHORTEST_SECRET for secret in before.values())
    assert len(set(before.values())) == 2


def test_the_store_and_its_clients_have_one_key(tmp_path: Path) -> None:
    secrets.make_store_key(tmp_path)
    before = contents(tmp_path)
    (tmp_path / "credentials").unlink()
    secrets.make_store_key(tmp_path)
    assert contents(tmp_path) == before
    (identity,) = json.loads((tmp_path / "s3.json").read_text())["identities"]
    known = configparser.ConfigParser()
    known.read(tmp_path / "credentials")
    assert identity["credentials"] == [
        {
            "accessKey": known["default"]["aws_access_key_id"],
            "secretKey": known["default"]["aws_secret_access_key"],
        }
    ]


def test_services_with_other_users_can_read_whatever_the_umask(volumes: tuple[Path, Path]) -> None:
    before = os.umask(0o077)
    try:
        secrets.make_database_password(volumes[0])
    finally:
        os.umask(before)
    assert stat.S_IMODE((volumes[0] / "password").stat().st_mode) == 0o444


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ganboard.worker.supervisor.secrets", *[tmp_path / "absent"] * 4],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "absent" in done.stderr
