"""ganboard: the names that programs may rely on, and the weight of importing them."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import ganboard

ROOT = Path(__file__).parents[2]


def test_every_public_name_is_there() -> None:
    assert all(getattr(ganboard, name) is not None for name in ganboard.__all__)
    assert isinstance(ganboard.parse({"epochs": 2}), ganboard.RunConfig)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ganboard.nothing


def test_the_import_loads_nothing_else() -> None:
    code = "import sys, ganboard; print([n for n in sys.modules if n.startswith('ganboard.')])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_a_wheel_leaves_the_name_app_to_others(tmp_path: Path) -> None:
    """Installed beside another package called `app`, both are imported as what they are."""
    build = ["-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    source = tmp_path / "source"
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    for name in filter(None, names):
        if name.startswith(("app/", "worker/", "gan/", "db/", "ganboard/", "README", "pyproject")):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            path = ROOT / name
            if path.is_symlink():
                (source / name).symlink_to(path.readlink())
            elif path.exists():
                (source / name).write_bytes(path.read_bytes())
    (source / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())
    subprocess.check_call([sys.executable, *build, "--wheel-dir", str(tmp_path), str(source)])
    (wheel,) = tmp_path.glob("ganboard-*.whl")
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    (site / "app.py").write_text("MINE = True\n")
    code = "import app, ganboard.gan.config, ganboard.app; print(app.MINE, ganboard.__file__)"
    said = subprocess.check_output(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(site)}, text=True
    )
    assert said == f"True {site / 'ganboard' / '__init__.py'}\n"
