"""The web server as the supervisor starts it, from a foreign working directory."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
import uvloop

from ganboard.app.web import serve
from tests.polling import wait_until
from tests.sign_in import identity

ROOT = Path(__file__).parents[2]
PUBLIC = "https://ganboard.example.org:8443"  # as if a proxy stood before it


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=10
        ) as answer:
            return answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, {k.lower(): v for k, v in error.headers.items()}, error.read()


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GANBOARD_", "STREAMLIT_"))
    }
    return {**kept, "GANBOARD_HOME": str(home), "PYTHONPATH": str(ROOT), **more}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("serve")
    port = free_port()
    served = environment(
        path / "home",
        GANBOARD_PUBLIC_URL=PUBLIC,
        STREAMLIT_SERVER_ALLOWED_HOSTS="web, *.lab.example",
    )
    with (path / "log").open("wb") as log:
        server = subprocess.Popen(serve.command(port), cwd=path, env=served, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until(
            lambda: _answers(f"{address}/api/health"),
            seconds=120,
            every=0.2,
            what="the health check",
        )
        yield address
    finally:
        server.terminate()
        assert server.wait(15) is not None


def _answers(url: str) -> bool:
    try:
        return get(url)[0] == 200
    except OSError:
        return False


def test_health_asks_the_database(url: str) -> None:
    status, headers, body = get(f"{url}/api/health")
    assert (status, json.loads(body)) == (200, {"status": "ok"})
    assert headers["cache-control"] == "no-store"


def test_plotly_comes_from_here_and_may_be_kept(url: str) -> None:
    status, headers, body = get(f"{url}/vendor/plotly.min.js")
    assert (status, headers["content-type"].split(";")[0]) == (200, "text/javascript")
    assert "max-age=" in headers["cache-control"]
    assert b"Plotly" in body[-2000:] or b"plotly.js v" in body[:300]


def test_only_this_machine_is_served_and_no_agent(url: str) -> None:
    port = int(url.rpartition(":")[2])
    listening = [
        line.split()[1]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[3] == "0A"
    ]
    assert f"0100007F:{port:04X}" in listening
    assert f"00000000:{port:04X}" not in listening
    assert get(f"{url}/_stcore/agent/interact")[0] >= 400


def handshake(url: str, host: str, origin: str | None) -> int:
    """Status of an attempt to open the WebSocket that drives pages."""
    port = int(url.rpartition(":")[2])
    lines = [
        "GET /_stcore/stream HTTP/1.1", f"Host: {host}", *([f"Origin: {origin}"] if origin else []),
        "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "", "",
    ]  # fmt: skip
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall("\r\n".join(lines).encode())
        return int(connection.recv(1000).split()[1])


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost", "http://localhost"),
        ("127.0.0.1:8501", "http://127.0.0.1:8501"),
        ("127.0.0.1:9000", "http://127.0.0.1:9000"),  # PORT=9000 in docker-compose.yml, or a tunnel
        ("[::1]:8501", "http://[::1]:8501"),
        ("LocalHost:80", "http://localhost"),
        ("web:8501", "http://web:8501"),
        ("gan.lab.example", "https://gan.lab.example"),  # a proxy that encrypts
        ("ganboard.example.org:8443", PUBLIC),
        ("ganboard.example.org", PUBLIC),  # nginx's $host leaves the port out
        ("127.0.0.1:8501", PUBLIC),  # a proxy that changes the Host header
        ("localhost", None),  # no browser
    ],
)
def test_the_dashboards_own_pages_drive_it(url: str, host: str, origin: str | None) -> None:
    assert handshake(url, host, origin) == 101
    status, headers, _ = get(
        f"{url}/_stcore/host-config", Host=host, **({"Origin": origin} if origin else {})
    )
    assert status == 200
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8501", "http://localhost:9999"),  # another program on this machine
        ("localhost:8501", "http://localhost"),
        ("localhost:8501", "http://127.0.0.1:8501"),
        ("127.0.0.1:8501", "http://127.0.0.1:3000"),
        ("127.0.0.1:8501", "null"),  # a file, or a page in a sandbox
        ("127.0.0.1:8501", "http://127.0.0.1:notaport"),
        ("127.0.0.1:8501", "ftp://127.0.0.1:8501"),
        ("localhost", "http://elsewhere.example"),
        ("ganboard.example.org:8443", "http://ganboard.example.org:8443"),  # not encrypted
        ("ganboard.example.org", "https://ganboard.example.org"),
        ("rebound.example", "http://rebound.example"),
        ("rebound.example:8501", None),
        ("127.0.0.1.rebound.example", "http://127.0.0.1.rebound.example"),
        ("ganboard.example.org.rebound.example", PUBLIC),
    ],
)
def test_pages_of_other_origins_and_names_reach_nothing(
    url: str, host: str, origin: str | None
) -> None:
    assert handshake(url, host, origin) == 403
    status, headers, body = get(
        f"{url}/_stcore/host-config", Host=host, **({"Origin": origin} if origin else {})
    )
    assert (status, set(json.loads(body))) == (403, {"error"})
    assert headers["x-content-type-options"] == "nosniff"


PATHS = [
    "", "run", "nothing", "metrics", "api/health", "api/ready", "api/runs",
    "_stcore/health", "_stcore/host-config", "_stcore/metrics",
    "media/x.png", "vendor/plotly.min.js", "favicon.png", "static/js/nothing.js",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_other_host_names_are_refused_everywhere_in_a_sentence(url: str, path: str) -> None:
    status, _, body = get(f"{url}/{path}", Host="rebound.example")
    assert status == 403
    assert json.loads(body)["error"].startswith(
        "This host name is not served: use 127.0.0.1, or list the name"
    )
    assert get(f"{url}/{path}", Origin="http://localhost:9999")[0] == 403
    assert get(f"{url}/{path}", Origin=url)[0] in (200, 404)


def test_programs_read_runs(url: str) -> None:
    assert json.loads(get(f"{url}/api/runs")[2]) == []
    assert get(f"{url}/api/nothing")[0] == 404


@pytest.mark.thorough
def test_health_names_the_reason_when_the_database_is_gone(tmp_path: Path) -> None:
    code = (
        "from ganboard.app.web.health import health; print(health(None).body.decode(),"
        " health(None).status_code)"
    )
    env = environment(tmp_path, GANBOARD_DATABASE_URL="sqlite:////proc/nowhere/x.db")
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "unable to open database file" in done.stdout
    assert done.stdout.strip().endswith("503")


@pytest.mark.thorough
def test_web_process_never_imports_tensorflow(tmp_path: Path) -> None:
    code = """
import runpy, sys
from pathlib import Path
import ganboard.app.main
import ganboard.app.web.server
from ganboard import app
for page in sorted((Path(app.__file__).parent / "pages").glob("*.py")):
    runpy.run_path(str(page))
unwanted = ("tensorflow", "keras", "jax", "torch")
heavy = {name for name in sys.modules if name.partition(".")[0] in unwanted}
assert not heavy, sorted(heavy)[:5]
assert "ganboard.gan.training.step" not in sys.modules
print("light")
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "light", done.stderr[-3000:]


def test_hardening() -> None:
    config = tomllib.loads((ROOT / "app" / "web" / ".streamlit" / "config.toml").read_text())
    wanted = {
        "server": {
            "address": "127.0.0.1",
            "headless": True,
            "fileWatcherType": "none",
            "enableCORS": True,
            "enableXsrfProtection": True,
            "enableStaticServing": False,
            "enableAgentApi": False,
        },
        "client": {"showErrorDetails": "none", "toolbarMode": "minimal"},
        "browser": {"gatherUsageStats": False},
    }
    for section, options in wanted.items():
        assert {name: config[section][name] for name in options} == options
    assert config["server"]["maxUploadSize"] <= 64


def test_no_page_interprets_html() -> None:
    for path in (ROOT / "app").rglob("*.py"):
        source = path.read_text()
        assert "unsafe_allow_html" not in source, path
        assert "st.html(" not in source or path == ROOT / "app" / "theme" / "style.py", path


@pytest.mark.parametrize("port", ["0", "65536", "many"])
def test_bad_ports_are_refused_in_a_sentence(port: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ganboard.app.web.serve", "--port", port]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "argument --port" in done.stderr
    assert "Traceback" not in done.stderr


def test_small_messages_do_not_wait_for_large_ones_to_arrive() -> None:
    """Sockets of asyncio's own loop keep Nagle's algorithm on, those of uvloop do not: 40 ms in
    each tick of a live page."""
    chosen = uvicorn.Config(None).get_loop_factory()  # type: ignore[arg-type]
    assert chosen is uvloop.new_event_loop


# --- refusals to start ---


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("address", "more", "says"),
    [
        ("0.0.0.0", {}, "The dashboard cannot listen on 0.0.0.0 without sign-in"),
        (
            "127.0.0.1",
            {"GANBOARD_OPERATORS": "olga@lab.example"},
            "Sign-in is not complete: set GANBOARD_OIDC_URL, ",
        ),
        (
            "127.0.0.1",
            {"GANBOARD_REDIS_URL": "redis://queue:6379/0"},
            "The queue on queue has no password",
        ),
    ],
)
def test_an_open_door_is_refused_before_anything_listens(
    address: str, more: dict[str, str], says: str, tmp_path: Path
) -> None:
    commands = [
        serve.command(free_port(), address),
        [
            sys.executable,
            "-c",
            "from ganboard.worker.cli.main import app; app()",
            "up",
            "--port",
            str(free_port()),
            "--address",
            address,
        ],
    ]
    for command in commands:
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment(tmp_path / "home", **more),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 1
        assert done.stderr.startswith(f"ganboard: {says}")
        assert done.stderr.count("\n") == 1
        assert not done.stdout


@pytest.mark.thorough
def test_a_worker_refuses_a_queue_without_a_password(tmp_path: Path) -> None:
    for module in ("ganboard.worker.queue.rq_worker", "ganboard.worker.requests.inference_worker"):
        env = environment(tmp_path / "home", GANBOARD_REDIS_URL="redis://queue:6379/0")
        done = subprocess.run(
            [sys.executable, "-m", module],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 1
        assert done.stderr.startswith("ganboard: The queue on queue has no password")


@pytest.mark.thorough
def test_health_gives_no_reason_where_people_sign_in(tmp_path: Path) -> None:
    code = (
        "from ganboard.app.web.health import health; print(health(None).body.decode(),"
        " health(None).status_code)"
    )
    env = environment(
        tmp_path,
        GANBOARD_DATABASE_URL="sqlite:////proc/nowhere/x.db",
        **identity.environment("http://127.0.0.1:1"),
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == '{"status":"unhealthy"} 503'
