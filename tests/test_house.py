"""The house rules that no single module can keep: contracts between packages, locks, the container
files."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from importlib import metadata
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
PACKAGES = ("app", "db", "gan", "worker")  # folders; imported as ganboard.app and so on
SCIENCE = {"tensorflow", "keras"}
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
VERSION = metadata.version("ganboard")
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))


def run(*command: str | Path, env: dict[str, str] | None = None, cwd: Path = ROOT) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def tracked() -> list[Path]:
    """Files that are in the repository or would be with the next commit."""
    names = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


# --- contracts between packages ---


def test_import_contracts_hold() -> None:
    assert "0 broken" in run(BIN / "lint-imports")


NAMED = re.compile(r"""["'](dcgan|gan3d|pix2pix)["']|models\.(dcgan|gan3d|pix2pix)\b""")
# a model's own folder, presets and studies, and the schema that older versions left
OF_MODELS = (
    "gan/models/",
    "worker/models/",
    "gan/presets/",
    "gan/studies/",
    "worker/studies/",
    "db/migrations/",
)


def test_no_other_module_names_a_built_in_model() -> None:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    naming = {str(path.relative_to(ROOT)) for path in files if NAMED.search(path.read_text())}
    assert {name for name in naming if not name.startswith(OF_MODELS)} == set()


LONGER = {"db/models.py"}  # its tables are one schema


def test_modules_and_folders_stay_small() -> None:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    modules = [path for path in files if "migrations" not in path.parts]
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in modules}
    assert {name for name, count in lines.items() if count > 300} == LONGER
    folders = Counter(path.parent for path in modules if path.name != "__init__.py")
    assert max(folders.values()) <= 20, folders.most_common(1)


def imports(path: Path) -> set[str]:
    """Top-level names of everything that a file imports, at its top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.add(node.module.split(".")[0])
    return found


def used_modules(path: Path) -> set[str]:
    """Modules of ours that a file imports, as ganboard.package.module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("ganboard."):
            continue
        for alias in node.names:
            name = f"{node.module}.{alias.name}"
            file = ROOT.joinpath(*name.split(".")[1:])
            is_module = file.is_dir() or file.with_suffix(".py").is_file()
            found.add(name if is_module else str(node.module))
    return found


def test_the_architecture_lists_the_worker_modules_that_pages_use() -> None:
    section = ARCHITECTURE.split("`app` uses these modules of `worker`:")[1].split("\n\n")[1]
    listed = {f"ganboard.worker.{name}" for name in re.findall(r"`([\w.]+)`", section)}
    used = set().union(*map(used_modules, (ROOT / "app").rglob("*.py")))
    used = {name for name in used if name.startswith("ganboard.worker.")}
    assert not [name for name in used if not any(f"{name}.".startswith(f"{a}.") for a in listed)]
    assert not [name for name in listed if not any(f"{a}.".startswith(f"{name}.") for a in used)]


def test_only_db_opens_transactions_that_write() -> None:
    opens = re.compile(r"^from ganboard\.db\.engine import .*\bwriting\b", re.MULTILINE)
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    writers = {path.relative_to(ROOT).parts[0] for path in files if opens.search(path.read_text())}
    assert writers == {"db"}


def test_the_architecture_names_only_paths_that_exist() -> None:
    paths = set(re.findall(r"\b(?:app|db|docs|gan|tests|worker)/[\w/.<>-]*\w", ARCHITECTURE))
    assert len(paths) > 100
    missing = [path for path in paths if not any(ROOT.glob(re.sub(r"<\w+>", "*", path)))]
    # inside a row of a table, a bare name is a file of the folder before it
    for folder, names in re.findall(r"^\| `([a-z/]+/)` \|(.*)\|$", ARCHITECTURE, re.MULTILINE):
        bare = re.findall(r"`(\w+\.py)`", names)
        missing += [folder + name for name in bare if not (ROOT / folder / name).is_file()]
    assert not missing


def test_only_gan_and_the_trainer_name_tensorflow() -> None:
    files = [path for package in ("app", "db", "worker") for path in (ROOT / package).rglob("*.py")]
    offenders = [
        path
        for path in files
        if imports(path) & SCIENCE and path != ROOT / "worker" / "training" / "trainer.py"
    ]
    assert files
    assert not offenders
    # the search finds what it looks for
    assert imports(ROOT / "gan" / "models" / "dcgan" / "networks.py") & SCIENCE


LOADED = """
import sys
{}
heavy = {{"tensorflow", "keras", "scipy", "fastapi"}}
print(sorted({{name.split(".")[0] for name in sys.modules}} & heavy))
"""
PAGES = """
from streamlit.testing.v1 import AppTest
import ganboard.app.web.server
at = AppTest.from_file("app/main.py", default_timeout=60).run()
for page in sorted(__import__("pathlib").Path("app/pages").glob("[!_]*.py")):
    at.switch_page(f"pages/{page.name}").run()
    assert not at.exception, (page, at.exception)
"""


@pytest.mark.parametrize(
    "code",
    [
        (
            "from ganboard.worker.queue import job, rq_worker; from ganboard.worker.supervisor"
            " import supervisor; from ganboard.worker.cli import main"
        ),
        pytest.param(PAGES, id="all pages rendered"),
    ],
)
def test_what_is_large_and_seldom_used_stays_out_of_web_and_worker(code: str, home: Path) -> None:
    output = run(sys.executable, "-c", LOADED.format(code), env={"GANBOARD_HOME": str(home)})
    assert output.splitlines()[-1] == "[]"


# --- what is installed ---


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_requirement_is_pinned_by_hash_and_names_no_index(lock: Path) -> None:
    requirements = lock.read_text().replace("\\\n", " ").splitlines()
    assert requirements
    bad = [
        line[:60]
        for line in requirements
        if not re.fullmatch(r"[a-z0-9.-]+==\S+( ; [^#]+?)?(\s+--hash=sha256:[0-9a-f]{64})+", line)
    ]
    assert not bad


def test_locks_agree_and_the_web_has_no_tensorflow() -> None:
    pins = {
        lock.stem: dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", lock.read_text(), re.MULTILINE))
        for lock in LOCKS
    }
    assert set(pins) == {
        *(
            "build",
            "dev",
            "docs",
            "gcs",
            "gpu",
            "kubernetes",
            "mcp",
            "mlflow",
            "onnx",
            "otel",
            "s3",
            "tf220",
            "web",
            "worker",
        )
    }
    for name in ("build", "docs", "mcp", "onnx", "otel", "s3", "web", "worker"):
        assert pins[name].items() <= pins["dev"].items()
    assert {k: v for k, v in pins["gpu"].items() if k in pins["dev"]}.items() <= pins["dev"].items()
    shared = {k: v for k, v in pins["tf220"].items() if k in pins["dev"]}
    assert set(shared.items() - pins["dev"].items()) == {
        ("tensorboard", "2.20.0"),
        ("tensorflow", "2.20.0"),
        ("tensorflow-cpu", "2.20.0"),
    }
    assert not {name for name in pins["web"] if name.startswith(("tensorflow", "keras"))}
    assert "keras" in pins["worker"]
    assert "keras" in pins["gpu"]


def test_the_wheel_carries_every_file_of_the_packages(tmp_path: Path) -> None:
    wanted = {
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.relative_to(ROOT).parts[0] in PACKAGES
    }
    shutil.copytree(
        ROOT / "ganboard",
        tmp_path / "ganboard",
        symlinks=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name in (*wanted, "pyproject.toml", "README.md", "LICENSE"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    build = (
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        "wheel",
        ".",
    )
    run(sys.executable, *build, cwd=tmp_path)
    (wheel,) = (tmp_path / "wheel").glob("ganboard-*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    assert not {f"ganboard/{name}" for name in wanted} - held
    assert {name.split("/")[0] for name in held} == {"ganboard", f"ganboard-{VERSION}.dist-info"}


# --- container files ---


def test_compose_file_follows_the_specification() -> None:
    run(BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", "docker-compose.yml")


def test_every_service_is_hardened_and_nothing_is_published_beyond_this_machine() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    for name, service in services.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["read_only"] is True, name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["mem_limit"], name
        assert service["pids_limit"], name
        assert not service["image"].startswith("ganboard") or service["user"] == "10001:10001", name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        assert not any("docker.sock" in volume for volume in service["volumes"]), name
    assert services["worker-gpu"]["profiles"] == ["gpu"]
    # a GPU reservation would not start on a machine without one
    assert "deploy" not in services["worker"]


def test_dockerfile_copies_what_exists_and_the_context_has_it() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = [
        source
        for line in lines
        if line.startswith("COPY ") and "--from" not in line
        for source in line.split()[1:-1]
    ]
    let_through = [
        line[1:]
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    assert copied
    for source in copied:
        name = source.replace("${LOCK}", "worker")
        assert (ROOT / name).exists(), source
        assert any(Path(name).match(pattern) for pattern in let_through), source
    stages = re.findall(r"^FROM \S+ AS (\S+)", "\n".join(lines), re.MULTILINE)
    assert {"web", "worker"} <= set(stages)
    assert "USER 10001:10001" in lines


# --- what must not be in the repository ---

PRIVATE = re.compile(
    rb"(^|[^\w.])/(work|root|farm)/|index[-_]url|find[-_]links|trusted[-_]host"
    rb"|https?://[^\s\"'/]+/(simple|packages)\b",
    re.MULTILINE,
)


def test_no_file_names_a_package_index_or_a_place_on_somebodys_machine() -> None:
    # the pattern finds what it looks for
    assert PRIVATE.search(b"--extra-index" + b"-url https://host")
    assert not [path for path in tracked() if PRIVATE.search(path.read_bytes())]


def test_scripts_can_run() -> None:
    for name in ("run", "scheduled"):
        assert os.access(ROOT / ".ci" / name, os.X_OK)
        run("bash", "-n", ROOT / ".ci" / name)
    assert "make up" in run("make", "help")
