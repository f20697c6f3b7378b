"""db.settings: what the environment may say, and the sentence for everything else."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from ganboard.db.engine import make_engine
from ganboard.db.settings import Settings, SettingsError

pytestmark = pytest.mark.usefixtures("home")

ODD = "p@ss:w/o?r#d %25 & ü'\"\\"


def test_without_any_variable_all_is_below_the_working_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GANBOARD_HOME")
    monkeypatch.chdir(tmp_path)
    settings = Settings()
    assert settings.state == tmp_path / ".ganboard"
    assert settings.data == tmp_path / ".ganboard" / "data"
    assert settings.database == f"sqlite:///{tmp_path}/.ganboard/ganboard.db"
    assert (settings.redis_url, settings.redis_password, settings.database_password) == ("", "", "")
    assert settings.run_dir("abc") == tmp_path / ".ganboard" / "runs" / "abc"
    assert settings.log_path("abc") == settings.run_dir("abc") / "train.log"


def test_every_variable_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    variables = {
        "HOME": str(tmp_path / "h"),
        "DATABASE_URL": "postgresql://u@db.example:5433/ganboard",
        "DATABASE_PASSWORD": "one",
        "REDIS_URL": "redis://queue.example:6380/1",
        "REDIS_PASSWORD": "two",
        "DATA_DIR": str(tmp_path / "d"),
        "LOG_FORMAT": "json",
        "HEARTBEAT": str(tmp_path / "beat"),
        "PUBLISHED": "loopback",
        "PUBLIC_URL": "https://ganboard.example",
        "OIDC_URL": "https://provider.example/.well-known/openid-configuration",
        "OIDC_CLIENT_ID": "ganboard",
        "OIDC_CLIENT_SECRET": "three",
        "COOKIE_SECRET": "four",
        "OPERATORS": "olga@lab.example",
        "VIEWERS": "@lab.example",
        "API_TOKEN": "five",
        "MLFLOW_URI": "http://mlflow.example",
        "SERVE_TOKEN": "six",
        "MACHINE_WAIT": "60",
        "LABELS": "lab3",
        "GPUS": "one",
        "ADDRESS": "10.0.0.7",
        "FRAMED_BY": "http://localhost:8888",
        "PORTS": "20000-20099",
        "POD_TEMPLATE": str(tmp_path / "pod.yaml"),
        "STORE": "s3://bucket/ganboard",
        "ALERT_PLAIN_HOSTS": "mail.lab",
    }
    assert {name.upper() for name in Settings.model_fields} == set(variables)
    for name, value in variables.items():
        monkeypatch.setenv(f"GANBOARD_{name}", value)
    settings = Settings()
    assert (settings.state, settings.data) == (tmp_path / "h", tmp_path / "d")
    assert settings.json_logs
    assert settings.heartbeat == tmp_path / "beat"
    assert settings.database == "postgresql+psycopg://u:one@db.example:5433/ganboard"
    assert (settings.redis_url, settings.redis_password) == ("redis://queue.example:6380/1", "two")


@pytest.mark.parametrize("name", [name.upper() for name in Settings.model_fields])
def test_every_variable_can_come_from_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.delenv(f"GANBOARD_{name}", raising=False)
    path = tmp_path / "secret"
    path.write_text(" /some/ülue \n\n")
    monkeypatch.setenv(f"GANBOARD_{name}_FILE", str(path))
    assert str(getattr(Settings(), name.lower())) == "/some/ülue"


def test_the_variable_itself_comes_before_its_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("from the file")
    monkeypatch.setenv("GANBOARD_REDIS_PASSWORD_FILE", str(tmp_path / "secret"))
    monkeypatch.setenv("GANBOARD_REDIS_PASSWORD", "from the environment")
    assert Settings().redis_password == "from the environment"
    monkeypatch.setenv("GANBOARD_REDIS_PASSWORD", "")
    assert Settings().redis_password == "from the file"


def test_empty_variables_count_as_absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usual = Settings().model_dump()
    for name in Settings.model_fields:
        monkeypatch.setenv(f"GANBOARD_{name.upper()}_FILE", "")
        if name != "home":
            monkeypatch.setenv(f"GANBOARD_{name.upper()}", "")
    assert Settings().model_dump() == usual
    monkeypatch.setenv("GANBOARD_HOME", "")
    monkeypatch.chdir(tmp_path)
    assert Settings().state == tmp_path / ".ganboard"


def test_variables_of_other_programs_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = Settings().model_dump()
    for name in ("DATABASE_URL", "REDIS_URL", "GANBOARD_TEST_POSTGRES_URL", "GANBOARD_UNKNOWN"):
        monkeypatch.setenv(name, "postgresql://elsewhere/x")
    assert Settings().model_dump() == usual


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "No such file or directory"), (b"\xff\xfe\x00", "is not a text file in UTF-8")],
)
def test_a_secret_file_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None, says: str
) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("GANBOARD_REDIS_PASSWORD_FILE", str(path))
    with pytest.raises(SettingsError, match=f"^GANBOARD_REDIS_PASSWORD_FILE={path} .*{says}"):
        Settings()


# --- the database's URL ---


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u@h/d",
        "postgresql+psycopg://u:old@h/d",
        "postgresql+asyncpg://u@h:5432/d?sslmode=require",
    ],
)
def test_any_password_fits_into_the_url(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str
) -> None:
    (tmp_path / "password").write_text(ODD)
    monkeypatch.setenv("GANBOARD_DATABASE_URL", url)
    monkeypatch.setenv("GANBOARD_DATABASE_PASSWORD_FILE", str(tmp_path / "password"))
    parsed = make_url(Settings().database)
    assert (parsed.drivername, parsed.username, parsed.password, parsed.host, parsed.database) == (
        "postgresql+psycopg",
        "u",
        ODD,
        "h",
        "d",
    )
    assert parsed.query == make_url(url).query


def test_a_password_inside_the_url_stays_and_is_hidden_when_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for url in (
        "postgresql://u:p%40ss@h/d?sslmode=require",
        "postgresql://u@h/d?password=p%40ss&sslmode=require",
    ):
        monkeypatch.setenv("GANBOARD_DATABASE_URL", url)
        parsed = make_url(Settings().database)
        assert parsed.password == "p@ss"
        assert parsed.render_as_string() == "postgresql+psycopg://u:***@h/d?sslmode=require"


def test_a_password_is_no_use_to_sqlite(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GANBOARD_DATABASE_PASSWORD", "secret")
    assert "secret" not in Settings().database
    monkeypatch.setenv("GANBOARD_DATABASE_URL", f"sqlite:///{tmp_path}/x.db")
    assert Settings().database == f"sqlite:///{tmp_path}/x.db"


@pytest.mark.parametrize(
    "folder", ["plain", "what? really", "100%20 #1", "ünï 漢字", "a:b@c", "[x]&y=z+"]
)
def test_any_folder_can_be_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str
) -> None:
    monkeypatch.setenv("GANBOARD_HOME", str(tmp_path / folder))
    settings = Settings()
    assert settings.prepare_home() == tmp_path / folder
    engine = make_engine(settings.database)
    with engine.connect():
        pass
    engine.dispose()
    assert (tmp_path / folder / "ganboard.db").exists()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nonsense", "is not a database URL such as"),
        ("://", "is not a database URL such as"),
        ("postgresql://h:port/d", "is not a database URL such as"),
        ("postgresql://u:p@geheim@h/d", "is not a database URL such as"),
        ("mysql://u:geheim@h/d", "uses 'mysql', but only"),
        ("postgres://u:geheim@h/d", "uses 'postgres', but only"),
        ("sqlite://", "contains no file"),
        ("sqlite:///:memory:", "contains no file"),
    ],
)
def test_a_wrong_url_is_one_sentence_without_its_password(
    monkeypatch: pytest.MonkeyPatch, url: str, says: str
) -> None:
    monkeypatch.setenv("GANBOARD_DATABASE_URL", url)
    with pytest.raises(SettingsError, match=r"^GANBOARD_DATABASE_URL ") as caught:
        _ = Settings().database
    assert says in str(caught.value)
    assert "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)


# --- HOME ---


def test_home_is_made_with_its_parents_and_left_clean(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GANBOARD_HOME", str(tmp_path / "a" / "b"))
    assert Settings().prepare_home() == tmp_path / "a" / "b"
    assert Settings().prepare_home().is_dir()
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_many_threads_may_ask_for_home_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GANBOARD_HOME", str(tmp_path))
    with ThreadPoolExecutor(8) as threads:
        homes = list(threads.map(lambda settings: settings.prepare_home(), [Settings()] * 400))
    assert set(homes) == {tmp_path}


def test_home_below_a_file_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for below in ("file", "file/home"):
        monkeypatch.setenv("GANBOARD_HOME", str(tmp_path / below))
        with pytest.raises(
            SettingsError,
            match=(
                r"^The state directory .*file.* cannot be written \(.+\)\. Set GANBOARD_HOME to"
                r" a writable folder\.$"
            ),
        ):
            Settings().prepare_home()


def test_a_tilde_is_the_home_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GANBOARD_HOME", "~/ganboard")
    monkeypatch.setenv("GANBOARD_DATA_DIR", "~/data/../pictures")
    assert (Settings().state, Settings().data) == (tmp_path / "ganboard", tmp_path / "pictures")


@pytest.mark.parametrize(("variable", "attribute"), [("HOME", "state"), ("DATA_DIR", "data")])
def test_a_path_that_leads_nowhere_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, attribute: str
) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for path in (str(tmp_path / "a"), "~no-such-user-here/x"):
        monkeypatch.setenv(f"GANBOARD_{variable}", path)
        with pytest.raises(
            SettingsError, match=f"^GANBOARD_{variable}={path} is not a usable path: "
        ):
            getattr(Settings(), attribute)


def test_settings_are_fixed_once_read(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings()
    before = settings.state
    monkeypatch.setenv("GANBOARD_HOME", os.devnull)
    assert settings.state == before
    with pytest.raises(ValueError, match="frozen"):
        settings.redis_url = "redis://elsewhere"


def test_a_new_home_is_its_owners_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GANBOARD_HOME", str(tmp_path / "new"))
    assert Settings().prepare_home().stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("content", ["", "ganboard.db", "runs"])
def test_an_old_home_becomes_its_owners_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str
) -> None:
    home = tmp_path / "old"
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    if content:
        (home / content).touch()
    monkeypatch.setenv("GANBOARD_HOME", str(home))
    assert Settings().prepare_home().stat().st_mode & 0o777 == 0o700
    assert "(mode 755)" in caplog.text
    caplog.clear()
    Settings().prepare_home()
    assert caplog.text == ""


@pytest.mark.parametrize("case", ["other files", "sticky", "contains ~"])
def test_a_folder_that_others_need_keeps_its_rights(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, case: str
) -> None:
    home = tmp_path / "shared"
    (home / "me").mkdir(parents=True)
    mode = 0o1777 if case == "sticky" else 0o755
    home.chmod(mode)
    if case != "other files":
        (home / "ganboard.db").touch()
    if case == "contains ~":
        monkeypatch.setenv("HOME", str(home / "me"))
    monkeypatch.setenv("GANBOARD_HOME", str(home))
    assert Settings().prepare_home().stat().st_mode & 0o7777 == mode


def test_a_secret_file_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANBOARD_REDIS_PASSWORD_FILE", "/dev/zero")
    with pytest.raises(SettingsError, match="/dev/zero has more than 65,536 bytes"):
        Settings()


def test_what_is_secret_stands_in_no_repr() -> None:
    secrets = (
        "database_url",
        "database_password",
        "redis_url",
        "redis_password",
        "oidc_client_secret",
        "cookie_secret",
        "api_token",
        "serve_token",
    )
    assert "hush" not in repr(Settings(**dict.fromkeys(secrets, "hush")))
