"""Memory use of a version of a model, measured in its own process: `python -m
ganboard.gan.generation.footprint FOLDER DIGEST`.

Loads the version and makes one batch, as large as when it is served, twice; prints the highest
resident memory in bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ganboard.gan.devices.memory import peak_resident
from ganboard.gan.generation import generation, package


def main(directory: str, digest: str) -> None:
    """Raises VersionError."""
    generator = generation.Generator(*package.read(Path(directory), digest))
    batch = np.repeat(generator.generation.probe(), generator.generation.together, 0)
    for _ in range(2):  # the first call also traces
        generator(batch)
    sys.stdout.write(f"{peak_resident()}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
