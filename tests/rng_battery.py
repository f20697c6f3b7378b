"""Statistical battery on the words of a generator, in the orders in which a training could show a
flaw. Needs dieharder 3.31 (`apt-get install dieharder`).

    python -m tests.rng_battery                       # hash and Philox in every order
    python -m tests.rng_battery hash:columns --all    # `dieharder -a` instead of a selection

Prints a line per test that is not passed, then a table of counts. Of n p-values of a perfect
generator n / 100 are expected to be WEAK (beyond 0.005 or 0.995) and none FAILED (1e-6).
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count

import numpy as np

from ganboard.gan.rng import hash as hashed
from ganboard.gan.rng.philox import Purpose, philox_key

WIDTH, CHUNK = 12_544, 1 << 14  # columns of DCGAN's first mask; rows, draws or seeds at a time
COLUMNS = 64  # in the orders along rows, draws and seeds
# Number of a test and its arguments, as `dieharder -l` lists them; without those that it calls
# suspect (5 to 7, 14), all but two of the 33 lagged sums, and with fewer samples where the usual
# ones take minutes
TESTS = (
    *((number, ()) for number in (0, 1, 3, 4, 8, 9, 10, 11, 12, 13, 15, 16, 100, 101, 102)),
    (2, ("-p", "20")),
    (17, ("-t", "1000000")),
    *((200, ("-n", str(n))) for n in (1, 3, 5, 8)),
    *((201, ("-n", str(n))) for n in (2, 3)),
    *((202, ("-n", str(n))) for n in (3, 5)),
    *((203, ("-n", str(n))) for n in (0, 7)),
    *((number, ()) for number in (204, 205, 206, 207, 208, 209)),
)


def hash_columns() -> Iterator[np.ndarray]:
    """Mask after mask, row by row."""
    for draw in count():
        yield hashed.words(7, Purpose.DROPOUT, draw, 0, 64, WIDTH)[0]


def hash_rows() -> Iterator[np.ndarray]:
    """A column over all rows, then the next."""
    for chunk in count():
        yield hashed.words(7, Purpose.NOISE, 0, chunk * CHUNK, CHUNK, COLUMNS)[0].T


def hash_draws() -> Iterator[np.ndarray]:
    """An entry over all draws, then the next."""
    for chunk in count():
        draws = chunk * CHUNK + np.arange(CHUNK, dtype=np.uint32)[:, None]
        yield _entries(np.uint32(7), draws).T


def hash_seeds() -> Iterator[np.ndarray]:
    """An entry over all seeds, then the next."""
    for chunk in count():
        seeds = (chunk * CHUNK + np.arange(CHUNK, dtype=np.int64)) % 2**31
        yield _entries(seeds.astype(np.uint32)[:, None], np.uint32(0)).T


def _entries(seed: hashed.Words, draw: hashed.Words) -> hashed.Words:
    zero = np.zeros((CHUNK, 1), np.uint32)
    key = (zero + seed, zero + np.uint32(Purpose.NOISE), zero, zero)
    keys = hashed.threefry(key, (zero, zero + draw, zero, zero))
    return hashed.entry(keys[0], keys[1], np.arange(COLUMNS, dtype=np.uint32)[None, :])


def philox_columns() -> Iterator[np.ndarray]:
    """Mask after mask."""
    key = philox_key(7, Purpose.DROPOUT)
    for draw in count():
        yield np.random.Philox(key=key, counter=[0, draw, 0, 0]).random_raw(64 * WIDTH // 2)


STREAMS = {
    "hash:columns": hash_columns,
    "hash:rows": hash_rows,
    "hash:draws": hash_draws,
    "hash:seeds": hash_seeds,
    "philox:columns": philox_columns,
}


def run(stream: str, arguments: list[str]) -> Iterator[list[str]]:
    """Rows (test, ntuple, samples, p-samples, p-value, assessment) of one call of dieharder."""
    columns = ("test_name", "ntuple", "tsamples", "psamples", "pvalues", "assessment")
    shown = [part for column in columns for part in ("-D", column)]
    command = ["dieharder", "-g", "200", "-c", "|", *arguments, *shown]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        try:
            for words in STREAMS[stream]():
                process.stdin.write(np.ascontiguousarray(words).tobytes())
        except BrokenPipeError:
            pass
        found = process.stdout.read().decode()
    for line in found.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if cells[-1] in ("PASSED", "WEAK", "FAILED"):
            yield cells


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("streams", nargs="*", default=list(STREAMS), metavar="STREAM")
    parser.add_argument("--all", action="store_true", help="every test of dieharder")
    options = parser.parse_args()
    calls = [["-a"]] if options.all else [["-d", str(n), *more] for n, more in TESTS]
    print("| stream | p-values | passed | weak | failed | seconds |\n|---|---|---|---|---|---|")
    for stream in options.streams:
        began, counts = time.monotonic(), Counter[str]()
        for call in calls:
            for cells in run(stream, call):
                counts[cells[-1]] += 1
                if cells[-1] != "PASSED":
                    print("<!--", stream, *cells, "-->", flush=True)
        cells = [counts.total(), *(counts[name] for name in ("PASSED", "WEAK", "FAILED"))]
        print("|", stream, *("| " + str(cell) for cell in cells), end="")
        print(f" | {time.monotonic() - began:.0f} |", flush=True)


if __name__ == "__main__":
    main()
