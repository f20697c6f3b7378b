"""The smallest recording that pix2pix can learn from: what checks train on."""

from __future__ import annotations

from pathlib import Path

FOLDER = "flow"  # in the data directory


def write(data_dir: Path) -> None:
    """Compute the recording into FOLDER of `data_dir` where it is not there yet: seconds. Raises
    DatasetError."""
    from ganboard.gan.models.pix2pix.flow import frames
    from ganboard.gan.models.pix2pix.flow.obstacle import Obstacle
    from ganboard.gan.models.pix2pix.flow.recording import Case, Recording

    if not (data_dir / FOLDER).exists():
        case = Case(Obstacle("circle", 6), 60)
        recording = Recording((case,), (72, 66), frames=9, discard=300, every=20)
        frames.write(data_dir / FOLDER, recording)
