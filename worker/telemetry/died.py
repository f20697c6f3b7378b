"""`python -m ganboard.worker.telemetry.died RUN_ID ATTEMPT`: see `recording.died`."""

from __future__ import annotations

import sys

from ganboard.db.engine import make_engine
from ganboard.db.settings import Settings
from ganboard.worker import logs
from ganboard.worker.context import Context
from ganboard.worker.process.parent_death import die_with_named_parent
from ganboard.worker.telemetry import recording


def main() -> None:
    die_with_named_parent()
    logs.configure()
    settings = Settings()
    recording.send_died(
        Context(settings, make_engine(settings.database)), sys.argv[1], int(sys.argv[2])
    )


if __name__ == "__main__":
    main()
