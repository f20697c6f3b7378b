"""Loading in a child process, where seconds and memory can be measured apart. As a script it prints
the figures of every hostile archive."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

CHILD = """
import json, re, sys, time
from pathlib import Path
from ganboard.gan.config import parse
from ganboard.gan.data import load
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.data.images import decode
import gzip, zipfile
import numpy.lib.format, PIL.Image, PIL.ImageOps, PIL.PngImagePlugin, PIL.JpegImagePlugin

PIL.Image.init()
def peak():  # of this program alone: ru_maxrss would begin with the parent's
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
found = []
for expression in json.load(sys.stdin):
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, began, sentence = peak(), time.monotonic(), ""
    try:
        eval(expression)
    except DatasetError as error:
        sentence = str(error)
    found.append([sentence, time.monotonic() - began, peak() - before])
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Refused:
    """What a child process said, how long it took over it, and by how much its peak memory grew."""

    sentence: str
    seconds: float
    extra_bytes: int


def refused(expressions: list[str]) -> list[Refused]:
    """Evaluate expressions over `load`, `decode`, `parse` and `Path` in one fresh process;
    fails on anything but a DatasetError."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(expressions),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [Refused(*one) for one in json.loads(done.stdout)]


def main() -> None:
    from tests.fuzz import conftest, test_archives, test_images  # noqa: F401  # the profiles

    with tempfile.TemporaryDirectory() as folder:
        archives = {
            name: test_archives.put(Path(folder, str(n)), name)
            for n, name in enumerate(test_archives.HOSTILE)
        }
        images = {
            name: test_images.put(Path(folder, f"{n}.bin"), name)
            for n, name in enumerate(test_images.HOSTILE)
        }
        for name, expression in [*archives.items(), *images.items()]:
            [found] = refused([expression])
            print(
                f"{name:<32}{found.seconds:8.3f} s{found.extra_bytes / 2**20:8.1f} MB "
                f" {found.sentence.replace(folder, '')[:90]}"
            )


if __name__ == "__main__":
    main()
