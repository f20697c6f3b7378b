"""When to save a checkpoint, and what to tell when that fails. Free of TensorFlow."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gan import checkpoints
from gan.checkpoints import Arrays, CheckpointError, NotFiniteError
from gan.config import RunConfig
from gan.events import Note, Phase, Sink
from gan.progress import Progress

SAVE_SECONDS = 300.0  # save at least this often


@dataclass
class Saver:
    """Saves `arrays()` of one attempt; `saved_step` is the step of the newest checkpoint."""

    config: RunConfig
    directory: Path
    digest: str
    attempt: int
    arrays: Callable[[], Arrays]
    sink: Sink
    saved_step: int
    writes: bool = True  # of several processes only the first one does
    _saved_at: float = field(default_factory=time.monotonic)
    _finite: bool = True

    def due(self, ended_epoch: int | None) -> bool:
        """Whether to save now, after a step that ended `ended_epoch` or none."""
        ended = ended_epoch is not None and ended_epoch % self.config.checkpoint_every == 0
        return ended or time.monotonic() - self._saved_at >= SAVE_SECONDS

    def save(self, progress: Progress, *, leaving: bool) -> None:
        """Save, unless that step is saved or weights are no longer finite (said once: they never recover, and older ones are kept).

        Raises CheckpointError when the disk refuses the last state of an attempt that is `leaving`; otherwise training goes on with a note.
        """
        self._saved_at = time.monotonic()
        if progress.step == self.saved_step or not self._finite or not self.writes:
            return
        self.sink(Phase("saving"))
        try:
            saved = checkpoints.save(
                self.directory, self.arrays(), progress, digest=self.digest, attempt=self.attempt, keep=self.config.keep_checkpoints
            )
        except NotFiniteError as error:
            self._finite = False
            self.sink(Note("error", f"{error} The last good checkpoint is kept and no other will follow."))
        except CheckpointError as error:
            if leaving:
                raise
            self.sink(Note("error", f"{error} Training goes on."))
        else:
            self.saved_step = progress.step
            self.sink(saved)
        if not leaving:
            self.sink(Phase("training"))
