"""Seconds from an empty home to each picture of digits:
`python -m tests.scale.first_digits PRESET FOLDER [KEY=VALUE...]`.

Starts a ganboard of its own in an empty home, submits the preset as soon as the dashboard answers,
and writes the image grid of each epoch to FOLDER, so that a person can say which is legible. Times
are those at which the trainer made the grids.
"""

from __future__ import annotations

import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from sqlmodel import col, select

from ganboard.db.engine import reading
from ganboard.db.models import ENDED, Grid
from ganboard.db.runs import queries
from ganboard.db.settings import Settings
from ganboard.gan import presets
from ganboard.gan.config import parse_assignments
from ganboard.worker.bench.platform import Platform
from ganboard.worker.submission.submit import submit


def main(preset: str, folder: str, *assignments: str) -> None:
    into = Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    config = presets.load(preset, parse_assignments(list(assignments)))
    with tempfile.TemporaryDirectory() as home:
        began = datetime.now(UTC)
        platform = Platform(Path(home), Settings().data)
        try:
            engine = platform.context.engine
            run_id = submit(platform.context, config).id
            submitted = datetime.now(UTC)
            print(f"dashboard after {(submitted - began).total_seconds():.1f} s")
            while (run := queries.get_run(engine, run_id)) is None or run.status not in ENDED:
                time.sleep(0.5)
            with reading(engine) as session:
                own = select(Grid).where(col(Grid.run_id) == run_id).order_by(col(Grid.epoch))
                for grid in session.exec(own):
                    after = (grid.made_at - began).total_seconds()
                    print(f"epoch {grid.epoch}: {after:.1f} s")
                    (into / f"{preset}-{grid.epoch:03}.png").write_bytes(grid.png)
        finally:
            platform.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
