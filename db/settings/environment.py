"""The environment, read in one place: every variable has the prefix GANBOARD_."""

from __future__ import annotations

import re
import tempfile
from functools import cached_property
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from ganboard.db.home import take_rights_of_others
from ganboard.db.ids import is_id
from ganboard.db.settings.sources import PREFIX, SecretFiles, SettingsError


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
    log_format: str = Field("text", description="Log format: text, or one JSON object per line")
    heartbeat: Path | None = Field(None, description="File that workers touch every 3 s")
    published: str = Field(
        "", description="`loopback`: for containers whose port is only reachable from this machine"
    )
    public_url: str = Field(
        "",
        description=(
            "Public URL of the dashboard, such as https://ganboard.example.org; required for"
            " sign-in"
        ),
    )
    framed_by: str = Field(
        "",
        description="Origins, separated by blanks, whose pages may show the dashboard in a frame,"
        " such as http://localhost:8888",
    )
    oidc_url: str = Field(
        "",
        description=(
            "OpenID Connect discovery URL (https://.../.well-known/openid-configuration); empty:"
            " no sign-in"
        ),
    )
    oidc_client_id: str = Field("", description="OpenID Connect client id")
    oidc_client_secret: str = Field("", description="OpenID Connect client secret", repr=False)
    cookie_secret: str = Field(
        "",
        description="Key that signs the session cookie; at least 32 random characters",
        repr=False,
    )
    operators: str = Field(
        "",
        description="Users who can make changes: e-mail addresses and @domains, separated by"
        " commas",
    )
    viewers: str = Field(
        "", description="Users with read access: e-mail addresses and @domains, separated by commas"
    )
    labels: str = Field(
        "", description="Names of this machine for `needs` of runs, such as lab3, comma-separated"
    )
    gpus: str = Field("all", description="GPUs of a worker: `all` of its machine, or `one` in turn")
    machine_wait: str = Field(
        "300", description="Seconds a run waits for the machine with its checkpoints"
    )
    address: str = Field(
        "",
        description="Address at which other machines reach the trainers of this one; empty: that"
        " of the way to the database",
    )
    ports: str = Field(
        "", description="Ports for trainers of several machines, such as 20000-20099; empty: any"
    )
    pod_template: str = Field(
        "", description="YAML file with the pod template of runs with placement=kubernetes"
    )
    store: str = Field(
        "", description="Artifact store, such as s3://bucket/ganboard or file:///shared/ganboard"
    )
    serve_token: str = Field(
        "",
        description="Bearer token for `ganboard serve`; required on addresses other than this"
        " machine's",
        repr=False,
    )
    api_token: str = Field(
        "",
        description="Bearer token for /api: scripts that report runs send it always, programs that"
        " read when sign-in is enabled; empty: neither",
        repr=False,
    )
    alert_plain_hosts: str = Field(
        "", description="Hosts, separated by commas, to which alerts may be sent unencrypted"
    )
    mlflow_uri: str = Field(
        "", description="MLflow tracking URI to which runs are logged; empty: none", repr=False
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
                raise ValueError("part of the password was parsed as the host")
        except (ArgumentError, ValueError):  # ValueError also when the port is not a number
            raise SettingsError(
                "GANBOARD_DATABASE_URL is not a database URL such as"
                " postgresql://user@host:5432/name (set a password containing @ or % in"
                " GANBOARD_DATABASE_PASSWORD)."
            ) from None
        backend = url.get_backend_name()
        if backend not in ("sqlite", "postgresql"):
            raise SettingsError(
                f"GANBOARD_DATABASE_URL uses {backend!r}, but only sqlite:/// and postgresql://"
                " are supported."
            )
        if backend == "sqlite":
            if url.database in (None, "", ":memory:"):
                raise SettingsError(
                    "GANBOARD_DATABASE_URL contains no file. Use"
                    " sqlite:////absolute/path/to/ganboard.db."
                )
            if url.query:
                raise SettingsError(
                    f"GANBOARD_DATABASE_URL has ?{next(iter(url.query))}=, which would be ignored."
                    " Remove everything after the file name."
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
                f"GANBOARD_LOG_FORMAT={self.log_format[:40]} is neither text nor json. Unset it"
                " for text."
            )
        return self.log_format == "json"

    @cached_property
    def machine_wait_seconds(self) -> float:
        """MACHINE_WAIT as a number. Raises SettingsError."""
        if re.fullmatch(r"\d{1,6}", self.machine_wait, re.ASCII) is None:
            raise SettingsError(
                f"GANBOARD_MACHINE_WAIT={self.machine_wait[:40]} is not a number of seconds from 0"
                " to 999999. Unset it for 300."
            )
        return float(self.machine_wait)

    @cached_property
    def port_range(self) -> range | None:
        """PORTS as a range; None for any. Raises SettingsError."""
        if not self.ports:
            return None
        match = re.fullmatch(r"(\d{1,5})-(\d{1,5})", self.ports, re.ASCII)
        low, high = map(int, match.groups()) if match else (0, 0)
        if not 1024 <= low <= high <= 65_535:
            raise SettingsError(
                f"GANBOARD_PORTS={self.ports[:40]} is not a range of ports from 1024 to 65535, such"
                " as 20000-20099. Unset it for any port."
            )
        return range(low, high + 1)

    @cached_property
    def frame_origins(self) -> list[str]:
        """FRAMED_BY, each a source of a Content-Security-Policy. Raises SettingsError."""
        for one in self.framed_by.split():
            if not re.fullmatch(r"https?://(\*\.)?[A-Za-z0-9.-]{1,253}(:(\*|\d{1,5}))?", one):
                raise SettingsError(
                    f"GANBOARD_FRAMED_BY={one[:80]} is no origin, such as http://localhost:8888."
                )
        return self.framed_by.split()

    def run_dir(self, run_id: str) -> Path:
        """Directory of a run's log and checkpoints: below HOME/runs, whatever the database says.
        Raises SettingsError."""
        return self._directory("runs", run_id, "a run", "the run's id")

    def model_dir(self, version_id: str) -> Path:
        """Directory of a registered version of a model: below HOME/models. Raises SettingsError."""
        return self._directory("models", version_id, "a model", "the version's id")

    def _directory(self, folder: str, name: str, what: str, named: str) -> Path:
        above = self.state / folder
        path = above / name
        if not is_id(name) or path.resolve() != above.resolve() / name:
            raise SettingsError(
                f"{path} is not the directory of {what}. It must be a directory in {above} named"
                f" after {named}, not a link."
            )
        return path

    def log_path(self, run_id: str) -> Path:
        return self.run_dir(run_id) / "train.log"

    def prepare_home(self) -> Path:
        """Make HOME, or keep an existing one to its owner.

        Raises SettingsError when it cannot be written, or when the environment asks for what there
        is not.
        """
        _ = self.json_logs, self.machine_wait_seconds, self.port_range, self.frame_origins
        try:
            # a new one is its owner's alone
            self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
            take_rights_of_others(self.state)
            # without a name, since several threads may ask at once
            tempfile.TemporaryFile(dir=self.state).close()
        except OSError as error:
            raise SettingsError(
                f"The state directory {self.state} cannot be written ({error.strerror}). Set"
                " GANBOARD_HOME to a writable folder."
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
                f"There is no database {url.database}. Set {setting} to an existing installation,"
                " or create one with `ganboard up`."
            )


def _absolute(name: str, path: Path) -> Path:
    try:
        str(path).encode()  # text that is not UTF-8 cannot be in a database URL
        found = path.expanduser().resolve()
        if any(part.is_symlink() for part in (found, *found.parents)):  # since Python 3.13
            raise OSError("symbolic links in a circle")
        return found
    # RuntimeError: no such user, or symbolic links in a circle
    except (OSError, RuntimeError, ValueError) as error:
        raise SettingsError(f"{PREFIX}{name}={path} is not a usable path: {error}.") from None
