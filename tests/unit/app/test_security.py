"""What must not stand in the code, what must stand in the settings of Streamlit and of the
containers."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ganboard.worker import access

ROOT = Path(__file__).parents[3]
SOURCES = sorted(
    path for package in ("app", "db", "gan", "worker") for path in (ROOT / package).rglob("*.py")
)
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
COMPONENTS = {
    "app/launch/sweep_table.py",
    "app/panels/dragging.py",
    "app/playground/sheet.py",
    "app/run/images.py",
    "app/wall/widget.py",
    "app/widgets/browser_notifications.py",
    "app/widgets/help_icons.py",
    "app/widgets/image_pair.py",
    "app/widgets/keyboard.py",
    "app/widgets/live_plotly.py",
}  # whose script and style are files of ours


def name(node: ast.AST) -> str:
    """`a.b.c` of a call's function, as far as it is one."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def given(call: ast.AST, keyword: str) -> Any:
    """The constant that a call gives to a keyword, None without it."""
    assert isinstance(call, ast.Call)
    value = next((one.value for one in call.keywords if one.arg == keyword), None)
    return (
        ast.literal_eval(value)
        if isinstance(value, ast.Constant | ast.List | ast.Tuple)
        else value and ...
    )


FORBIDDEN: dict[str, Callable[[ast.Call], bool]] = {
    "pickle": (
        lambda call: (
            name(call).split(".")[0]
            in ("pickle", "dill", "cloudpickle", "shelve", "marshal", "joblib")
        )
    ),
    "load_model": (
        lambda call: name(call).split(".")[-1] in ("load_model", "load_weights", "SavedModel")
    ),
    "np.load": (
        lambda call: (
            name(call) in ("np.load", "numpy.load") and given(call, "allow_pickle") is not False
        )
    ),
    "Image.open": lambda call: name(call).endswith("Image.open") and not given(call, "formats"),
    "shell": (
        lambda call: given(call, "shell") is not None or name(call) in ("os.system", "os.popen")
    ),
    "eval": lambda call: name(call) in ("eval", "exec", "compile", "__import__"),
    "yaml": lambda call: name(call) in ("yaml.load", "yaml.unsafe_load", "yaml.full_load"),
    "extract": lambda call: name(call).split(".")[-1] in ("extractall", "unpack_archive"),
    "mktemp": lambda call: name(call).endswith("mktemp"),
    "html": (
        lambda call: (
            name(call).split(".")[-1] in ("html", "iframe")
            and name(call).split(".")[0] in ("st", "components")
        )
    ),
    "unsafe_allow_html": lambda call: given(call, "unsafe_allow_html") is not None,
    "component": lambda call: name(call).endswith(("components.v2.component", "declare_component")),
}
# CIFAR-10 is published as pickles: an unpickler that knows arrays and nothing else reads them
UNPICKLER = "gan/data/pictures/cifar.py"
ALLOWED = {
    ("html", "app/theme/style.py"),
    *(("component", file) for file in COMPONENTS),
    ("pickle", UNPICKLER),
}
SAMPLES = {
    "pickle": "pickle.loads(x)",
    "load_model": "keras.models.load_model(x)",
    "np.load": "np.load(x)",
    "Image.open": "Image.open(x)",
    "shell": "subprocess.run(x, shell=True)",
    "eval": "eval(x)",
    "yaml": "yaml.load(x)",
    "extract": "archive.extractall()",
    "mktemp": "tempfile.mktemp()",
    "html": "st.html(x)",
    "unsafe_allow_html": "st.markdown(x, unsafe_allow_html=True)",
    "component": "st.components.v2.component(x)",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_the_search_finds_what_it_looks_for(what: str) -> None:
    found = ast.parse(SAMPLES[what], mode="eval").body
    assert isinstance(found, ast.Call)
    assert FORBIDDEN[what](found)


def test_no_code_calls_what_is_dangerous() -> None:
    found = {
        (what, str(path.relative_to(ROOT)))
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        for what, matches in FORBIDDEN.items()
        if matches(node)
    }
    assert found == ALLOWED


def test_no_code_imports_what_can_run_code_from_data() -> None:
    banned = {"pickle", "dill", "cloudpickle", "shelve", "marshal", "joblib"}
    for path in SOURCES:
        if path == ROOT / UNPICKLER:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [getattr(node, "module", None) or ""]
            )
            assert not {one.split(".")[0] for one in names} & banned or not isinstance(
                node, ast.Import | ast.ImportFrom
            ), path


def test_our_scripts_make_no_html_of_text() -> None:
    scripts = sorted((ROOT / "app").rglob("*.js"))
    assert scripts
    for path in scripts:
        assert not re.search(
            r"\beval\(|new"
            r" Function|document\.write|outerHTML|insertAdjacentHTML|\.innerHTML\s*=\s*[^\"'`\s;]",
            path.read_text(),
        ), path


# --- Streamlit ---


def test_streamlit_is_closed_where_it_can_be() -> None:
    found = tomllib.loads((ROOT / "app" / "web" / ".streamlit" / "config.toml").read_text())
    wanted = {
        "server": {
            "address": "127.0.0.1", "enableCORS": True, "enableXsrfProtection": True,
            "enableStaticServing": False, "enableAgentApi": False, "fileWatcherType": "none",
            "maxUploadSize": 1, "maxMessageSize": 50,
            "allowedHosts": ["localhost", "127.0.0.1", "::1"], "corsAllowedOrigins": [],
            "trustedUserHeaders": "{}",
        },
        "client": {"showErrorDetails": "none", "showErrorLinks": False, "toolbarMode": "minimal"},
        "browser": {"gatherUsageStats": False},
    }  # fmt: skip
    for section, options in wanted.items():
        assert {option: found[section].get(option) for option in options} == options
    # a secret is no setting: GANBOARD_COOKIE_SECRET_FILE, which app/auth.py hands over
    assert "cookieSecret" not in found["server"]


# --- containers ---

OURS = {name for name, service in SERVICES.items() if service["image"].startswith("ganboard")}
FOREIGN = {"db", "redis", "store"}
ONCE = {"secrets", "migrate", "bucket"}


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_is_hardened(service: str) -> None:
    found = SERVICES[service]
    assert found["cap_drop"] == ["ALL"]
    assert found["security_opt"] == ["no-new-privileges:true"]
    assert (found["read_only"], found["init"]) == (True, True)
    assert found["mem_limit"]
    assert found["pids_limit"]
    assert "cpus" in found
    assert not {"privileged", "devices", "network_mode", "pid", "ipc", "env_file"} & set(found) - (
        {"network_mode"} if service == "secrets" else set()
    )
    assert service in FOREIGN or all(
        option in found["tmpfs"][0] for option in ("noexec", "nosuid", "size=")
    )
    assert not any("docker.sock" in volume for volume in found["volumes"])
    assert bool(found.get("healthcheck")) != (service in ONCE)


def test_ours_run_as_a_user_without_rights_and_the_others_get_what_leaving_root_takes() -> None:
    assert set(SERVICES) == OURS | FOREIGN
    for service in OURS:
        assert SERVICES[service]["user"] == "10001:10001"
        assert "cap_add" not in SERVICES[service]
        assert SERVICES[service]["pull_policy"] in ("build", "never")
    for service in FOREIGN:
        assert set(SERVICES[service]["cap_add"]) <= {
            "CHOWN",
            "DAC_OVERRIDE",
            "FOWNER",
            "SETGID",
            "SETUID",
        }


def test_database_and_queue_are_reached_from_within_only() -> None:
    assert COMPOSE["networks"]["back"] == {"internal": True}
    for service in FOREIGN:
        assert SERVICES[service]["networks"] == ["back"]
    assert [service for service in SERVICES if "ports" in SERVICES[service]] == ["web"]
    assert all(port.startswith("127.0.0.1:") for port in SERVICES["web"]["ports"])
    # which the line above makes true
    assert SERVICES["web"]["environment"]["GANBOARD_PUBLISHED"] == "loopback"


def test_no_secret_stands_in_an_environment_and_each_service_reads_its_own_only() -> None:
    for service, found in SERVICES.items():
        for variable, value in found["environment"].items() if found.get("environment") else ():
            assert not re.search(r"PASSWORD|SECRET|TOKEN", variable) or variable.endswith(
                "_FILE"
            ), (service, variable)
            assert "@" not in str(value) or not re.search(r"//[^@/]*:[^@/]*@", str(value)), (
                service,
                variable,
            )
    mounts = {
        service: {volume.split(":")[0] for volume in found["volumes"]}
        for service, found in SERVICES.items()
    }
    assert {service for service in mounts if "web-secret" in mounts[service]} == {"secrets", "web"}
    own = {"db": "database-secret", "redis": "queue-secret", "store": "store-secret"}
    for service, secret in own.items():
        assert {name for name in mounts[service] if name.endswith("-secret")} == {secret}
    for service, found in SERVICES.items():
        assert (
            all(volume.endswith(":ro") for volume in found["volumes"] if "-secret:" in volume)
            or service == "secrets"
        )
    assert [service for service in SERVICES if "secrets" in SERVICES[service]] == ["web"]


def test_the_queue_keeps_what_it_is_sent_and_asks_for_a_name() -> None:
    redis = SERVICES["redis"]
    assert redis["command"][:2] == ["redis-server", "/secrets/queue/redis.conf"]
    assert "noeviction" in redis["command"]
    assert "--user ganboard" in redis["healthcheck"]["test"][1]
    for service in OURS - {"secrets"}:
        assert (
            SERVICES[service]["environment"]["GANBOARD_REDIS_URL"]
            == "redis://ganboard@redis:6379/0"
        )


def test_base_images_are_named_by_release_lines_that_get_security_fixes() -> None:
    """By tag and not by digest, so that `docker compose build --pull` brings the fixes:
    docs/security.md says why."""
    (base,) = re.findall(r"^ARG BASE=(\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    images = {base, *(SERVICES[service]["image"] for service in FOREIGN)}
    assert images == {
        "python:3.11-slim-bookworm",
        "postgres:15-bookworm",
        "redis:7-bookworm",
        "chrislusf/seaweedfs:4.44",
    }
    words = (ROOT / "docs" / "security.md").read_text()
    assert all(f"`{image}`" in words for image in images)


def test_secrets_are_never_shown() -> None:
    """The settings that hold one are those which the documents speak of as files."""
    secret = {
        field
        for field in access.Settings.model_fields
        if re.search(r"password|secret|token", field)
    }
    assert secret == {
        "api_token",
        "cookie_secret",
        "database_password",
        "oidc_client_secret",
        "redis_password",
        "serve_token",
    }
    words = (ROOT / "docs" / "security.md").read_text()
    assert all(f"GANBOARD_{field.upper()}_FILE" in words for field in secret)
