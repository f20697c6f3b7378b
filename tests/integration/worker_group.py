"""A trainer process whose rank can be kept from joining: python -m tests.integration.worker_group
RANK SECONDS, then worker.training.trainer's arguments."""

from __future__ import annotations

import sys
import time

from ganboard.gan.distributed import cluster
from ganboard.worker.training import trainer

if __name__ == "__main__":
    missing, seconds = int(sys.argv[1]), float(sys.argv[2])
    del sys.argv[1:3]
    if cluster.rank() == missing:
        time.sleep(1000)
    cluster.JOIN_SECONDS = seconds
    sys.exit(trainer.main())
