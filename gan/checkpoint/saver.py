"""When to save a checkpoint, and what to report when that fails. Free of TensorFlow."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tenacity import RetryError, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from ganboard.gan.checkpoint import store
from ganboard.gan.checkpoint.reader import Arrays, CheckpointError, NotFiniteError
from ganboard.gan.config import RunConfig
from ganboard.gan.events import Control, Note, Phase, Saved, Sink
from ganboard.gan.progress import Progress

SAVE_SECONDS = 300.0  # save at least this often
ROOM_SECONDS = 600.0  # how long the last state of a run waits for a disk that refuses it
AGAIN_SECONDS = 2.0
LEFT = "The previous checkpoint is kept, and the run can resume from it."


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
    control: Control
    writes: bool = True  # of several processes only the first one does
    _saved_at: float = field(default_factory=time.monotonic)
    _finite: bool = True

    def due(self, ended_epoch: int | None) -> bool:
        """Whether to save now, after a step that ended `ended_epoch` or none."""
        ended = ended_epoch is not None and ended_epoch % self.config.checkpoint_every == 0
        return ended or time.monotonic() - self._saved_at >= SAVE_SECONDS

    def save(self, progress: Progress, *, leaving: bool) -> bool:
        """Save, unless that step is saved or weights are no longer finite (reported once: they
        never recover, and older ones are kept).

        Older checkpoints are deleted before a save, when the sink has committed that newer ones
        exist. A disk that refuses is reported in a note: training goes on, and the last state of an
        attempt that is `leaving` waits for room unless `control` says to end. Returns whether
        resume would go on from here. Raises CheckpointError when no room came in ROOM_SECONDS.
        """
        self._saved_at = time.monotonic()
        if progress.step == self.saved_step or not self._finite or not self.writes:
            return True
        self.sink(Phase("saving"))
        try:
            saved = self._saved(progress, leaving)
        except NotFiniteError as error:
            self._finite = False
            self.sink(
                Note(
                    "error",
                    f"{error} The last good checkpoint is kept; no further ones will be saved.",
                )
            )
            return True
        if saved:
            self.saved_step = progress.step
            self.sink(saved)
        self.sink(Phase("saving" if leaving else "training"))
        if leaving:  # the sink has committed everything
            store.prune(self.directory, self.config.keep_checkpoints)
        return saved is not None

    def _saved(self, progress: Progress, leaving: bool) -> Saved | None:
        try:
            return self._write(progress)
        except NotFiniteError:
            raise
        except CheckpointError as error:
            refusal, waits = error, leaving and self.control() == "go"
            then = (
                "Training continues."
                if not leaving
                else f"Waiting up to {ROOM_SECONDS / 60:.0f} minutes for that."
                if waits
                else LEFT
            )
            self.sink(Note("error", f"{error} {then}"))
        if not waits:
            return None
        try:
            return Retrying(
                retry=retry_if_exception_type(CheckpointError),
                stop=lambda state: self.control() != "go" or stop_after_delay(ROOM_SECONDS)(state),
                wait=wait_fixed(AGAIN_SECONDS),
            )(self._write, progress)
        except RetryError:
            if self.control() == "go":
                raise refusal from None
            self.sink(Note("error", LEFT))
            return None

    def _write(self, progress: Progress) -> Saved:
        store.prune(self.directory, self.config.keep_checkpoints)
        return store.save(
            self.directory, self.arrays(), progress, digest=self.digest, attempt=self.attempt
        )
