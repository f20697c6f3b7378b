"""The environment, read in one place: every variable has the prefix GANBOARD_."""

from __future__ import annotations

import logging
import os
import re
import stat
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

log = logging.getLogger(__name__)

PREFIX = "GANBOARD_"
_RUN_ID = re.compile(r"[a-z0-9]{1,32}", re.ASCII)
SECRET_BYTES = 65_536  # of a file that holds one value


class SettingsError(ValueError):
    """The environment cannot be used; the message is one sentence with the remedy, on one line
    whatever the variables hold."""

    def __init__(self, sentence: str) -> None:
        super().__init__("".join(c if c.isprintable() else repr(c)[1:-1] for c in sentence))


class SecretFiles(PydanticBaseSettingsSource):
    """`GANBOARD_X_FILE` names a file that holds the value of `GANBOARD_X`, so that no secret stands
    in the environment."""

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        path = os.environ.get(f"{PREFIX}{field_name.upper()}_FILE")
        if not path:
            return None, field_name, False
        try:
            with Path(path).open("rb") as file:
                secret = file.read(SECRET_BYTES + 1)
            if len(secret) > SECRET_BYTES:  # a device never ends
                raise SettingsError(
                    f"{PREFIX}{field_name.upper()}_FILE={path} holds more than {SECRET_BYTES:,}"
                    " bytes: name a file with one value."
                )
            return secret.decode().strip(), field_name, False
        except OSError as error:
            raise SettingsError(
                f"{PREFIX}{field_name.upper()}_FILE={path} cannot be read: {error.strerror}."
            ) from None
        except UnicodeDecodeError:
            raise SettingsError(
                f"{PREFIX}{field_name.upper()}_FILE={path} is not a text file in UTF-8."
            ) from None

    def __call__(self) -> dict[str, Any]:
        values = {
            name: self.get_field_value(field, name)[0]
            for name, field in self.settings_cls.model_fields.items()
        }
        return {name: value for name, value in values.items() if value is not None}


class Settings(BaseSettings):
    """Where ganboard keeps its state and finds its services."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True
    )

    home: Path = Field(
        Path(".ganboard"), description="State directory: database, logs, checkpoints, sockets"
    )
    database_url: str = Field("", description="SQLAlchemy URL; empty: SQLite in HOME", repr=False)
    database_password: str = Field(
        "", description="Password for DATABASE_URL, so that it can come from a file", repr=False
    )
    redis_url: str = Field(
        "",
        description="redis:// or unix:// URL; empty: an embedded server on a socket in HOME",
        repr=False,
    )
    redis_password: str = Field(
        "", description="Password for REDIS_URL, so that it can come from a file", repr=False
    )
    data_dir: Path | None = Field(None, description="Data sets; empty: HOME/data")
    log_format: str = Field(
        "text", description="What logs look like: lines for people, or one JSON object per line"
    )
    heartbeat: Path | None = Field(
        None,
        description=(
            "A file that a worker of either kind touches every 3 s: for container health checks"
        ),
    )
    published: str = Field(
        "",
        description=(
            "`loopback`: a container whose port this machine alone can reach, whatever it is bound"
            " to inside"
        ),
    )
    public_url: str = Field(
        "",
        description=(
            "Where browsers find the dashboard, such as https://ganboard.example.org; for sign-in"
        ),
    )
    oidc_url: str = Field(
        "",
        description=(
            "The sign-in provider's https://.../.well-known/openid-configuration; empty: nobody"
            " signs in"
        ),
    )
    oidc_client_id: str = Field("", description="How the provider knows ganboard")
    oidc_client_secret: str = Field(
        "", description="How ganboard proves to the provider that it is ganboard", repr=False
    )
    cookie_secret: str = Field(
        "",
        description="Signs the cookie that says who somebody is; 32 random characters or more",
        repr=False,
    )
    operators: str = Field(
        "", description="Who may change things: e-mail addresses and @domains, with commas between"
    )
    viewers: str = Field(
        "", description="Who may look: e-mail addresses and @domains, with commas between"
    )
    machine_wait: str = Field(
        "300",
        description=(
            "Seconds that a run waits for the machine that has its checkpoints; then it ends"
        ),
    )
    serve_token: str = Field(
        "",
        description="What programs show to `ganboard serve`; needed on addresses that others reach",
        repr=False,
    )
    api_token: str = Field(
        "",
        description="What programs show to read /api when people sign in; empty: programs cannot",
        repr=False,
    )

    mlflow_uri: str = Field(
        "",
        description="MLflow's tracking URI, in which runs are shown as well; empty: none",
        repr=False,
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, SecretFiles(settings_cls)

    @cached_property
    def state(self) -> Path:
        """HOME as an absolute path."""
        return _absolute("HOME", self.home)

    @cached_property
    def data(self) -> Path:
        """DATA_DIR as an absolute path."""
        return _absolute("DATA_DIR", self.data_dir) if self.data_dir else self.state / "data"

    @cached_property
    def database(self) -> str:
        """The full SQLAlchemy URL, password included. Raises SettingsError for anything but SQLite
        and PostgreSQL."""
        if not self.database_url:
            return URL.create("sqlite", database=str(self.state / "ganboard.db")).render_as_string()
        try:
            # what is not UTF-8 cannot be sent
            (self.database_url + self.database_password).encode()
            url = make_url(self.database_url)
            if "@" in (url.host or ""):
                raise ValueError("half of the password was taken for the host")
        except (ArgumentError, ValueError):  # ValueError also when the port is not a number
            raise SettingsError(
                "GANBOARD_DATABASE_URL is not a database URL such as"
                " postgresql://user@host:5432/name (a password with @ or % belongs into"
                " GANBOARD_DATABASE_PASSWORD)."
            ) from None
        backend = url.get_backend_name()
        if backend not in ("sqlite", "postgresql"):
            raise SettingsError(
                f"GANBOARD_DATABASE_URL names {backend!r}: ganboard works with sqlite:/// and"
                " postgresql:// only."
            )
        if backend == "sqlite":
            if url.database in (None, "", ":memory:"):
                raise SettingsError(
                    "GANBOARD_DATABASE_URL names no file: write"
                    " sqlite:////absolute/path/to/ganboard.db."
                )
            if url.query:
                raise SettingsError(
                    f"GANBOARD_DATABASE_URL has ?{next(iter(url.query))}=, which would be ignored:"
                    " end it with the file's name."
                )
            url = url.set(drivername="sqlite")
        else:
            in_query = "".join(url.normalized_query.get("password", ()))  # where it would be shown
            url = url.difference_update_query(["password"])
            url = url.set(
                drivername="postgresql+psycopg",
                password=self.database_password or url.password or in_query or None,
            )
        return url.render_as_string(hide_password=False)

    @cached_property
    def json_logs(self) -> bool:
        """Whether logs are JSON. Raises SettingsError."""
        if self.log_format not in ("text", "json"):
            raise SettingsError(
                f"GANBOARD_LOG_FORMAT={self.log_format[:40]} is neither text nor json: choose one,"
                " or leave it out for text."
            )
        return self.log_format == "json"

    @cached_property
    def machine_wait_seconds(self) -> float:
        """MACHINE_WAIT as a number. Raises SettingsError."""
        if re.fullmatch(r"\d{1,6}", self.machine_wait, re.ASCII) is None:
            raise SettingsError(
                f"GANBOARD_MACHINE_WAIT={self.machine_wait[:40]} is not a number of seconds from 0"
                " to 999999: choose one, or leave it out for 300."
            )
        return float(self.machine_wait)

    def run_dir(self, run_id: str) -> Path:
        """Directory of a run's log and checkpoints: below HOME/runs, whatever stands in the
        database. Raises SettingsError."""
        runs = self.state / "runs"
        path = runs / run_id
        if not _RUN_ID.fullmatch(run_id) or path.resolve() != runs.resolve() / run_id:
            raise SettingsError(
                f"{path} is not the directory of a run: it must lie in {runs} under the run's id,"
                " and be no link."
            )
        return path

    def model_dir(self, version_id: str) -> Path:
        """Directory of a registered version of a model: below HOME/models. Raises SettingsError."""
        models = self.state / "models"
        path = models / version_id
        if not _RUN_ID.fullmatch(version_id) or path.resolve() != models.resolve() / version_id:
            raise SettingsError(
                f"{path} is not the directory of a model: it must lie in {models} under the"
                " version's id, and be no link."
            )
        return path

    def log_path(self, run_id: str) -> Path:
        return self.run_dir(run_id) / "train.log"

    def prepare_home(self) -> Path:
        """Make HOME, or keep an existing one to its owner.

        Raises SettingsError when it cannot be written, or when the environment asks for what there
        is not.
        """
        _ = self.json_logs, self.machine_wait_seconds
        try:
            # a new one is its owner's alone
            self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._take_rights_of_others()
            probe = self.state / f".writable-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise SettingsError(
                f"The state directory {self.state} cannot be written ({error.strerror}): set"
                " GANBOARD_HOME to a folder that can."
            ) from None
        return self.state

    def require_database(self) -> None:
        """Raises SettingsError if the database is a file that does not exist, without making
        anything."""
        _ = self.json_logs
        url = make_url(self.database)
        if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
            setting = "GANBOARD_DATABASE_URL" if self.database_url else "GANBOARD_HOME"
            raise SettingsError(
                f"There is no database {url.database}: set {setting} to that of an installation, or"
                " begin a new one with `ganboard up`."
            )

    def _take_rights_of_others(self) -> None:
        """Only from a folder that is ours and holds our state: not from /tmp or ~."""
        found = self.state.stat()
        mode = stat.S_IMODE(found.st_mode)
        shared = mode & stat.S_ISVTX or Path.home().is_relative_to(self.state)
        if not mode & 0o077 or found.st_uid != os.geteuid() or shared or not self._is_home():
            return
        self.state.chmod(0o700)
        log.warning(
            "Other users could reach the state directory %s (mode %o): it is its owner's alone now"
            " (mode 700).",
            self.state,
            mode,
        )

    def _is_home(self) -> bool:
        entries = {entry.name for entry in self.state.iterdir()} - {"lost+found"}
        return not entries or not entries.isdisjoint({"ganboard.db", "runs"})


def _absolute(name: str, path: Path) -> Path:
    try:
        str(path).encode()  # what is not UTF-8 can stand in no URL of a database
        return path.expanduser().resolve()
    # RuntimeError: no such user, or symbolic links in a circle
    except (OSError, RuntimeError, ValueError) as error:
        raise SettingsError(f"{PREFIX}{name}={path} is not a usable path: {error}.") from None
