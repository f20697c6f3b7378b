"""`python -m ganboard.gan.bench MODULE TASK`: be a candidate."""

from __future__ import annotations

import sys

from ganboard.gan.bench.protocol import serve

if __name__ == "__main__":
    serve(*sys.argv[1:])
