"""How long a set of pictures takes to be decoded into its cache, and to be opened again: `python -m
tests.scale.picture_cache FOLDER --image-size 64`. See docs/data.md."""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from ganboard.gan.data import pictures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder, zip, .npz, or CIFAR-10's folder")
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--channels", type=int, default=3)
    chosen = parser.parse_args()
    path = chosen.folder.absolute()
    what = path.parent, path.name, chosen.image_size, chosen.channels
    with tempfile.TemporaryDirectory(prefix=".cache-", dir=path.parent) as cache_dir:
        began = time.monotonic()
        count = pictures.count(*what)
        listed = time.monotonic()
        processor = time.process_time()
        found = pictures.load(*what, cache_dir=Path(cache_dir))
        processor = time.process_time() - processor
        decoded = time.monotonic()
        found.images.measure()
        verified = time.monotonic()
        pictures.load(*what, cache_dir=Path(cache_dir))
        ended = time.monotonic()
    seconds = decoded - listed
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(found.source)
    print(
        f"  counted {count:,} in {listed - began:.2f} s; decoded in {seconds:.1f} s,"
        f" {count / seconds:,.0f} pictures/s, {processor:.1f} s of processors;"
        f" {found.images.nbytes / 1e6:,.0f} MB"
    )
    print(
        f"  digest verified in {verified - decoded:.2f} s; opened again in"
        f" {ended - verified:.2f} s; peak of the process {peak:,.0f} MiB"
    )


if __name__ == "__main__":
    main()
