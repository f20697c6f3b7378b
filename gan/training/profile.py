"""A trace of some steps by TensorFlow's profiler: `profile_steps`."""

from __future__ import annotations

import gzip
import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import tensorflow as tf

from ganboard.gan import files, profiling
from ganboard.gan.config import RunConfig
from ganboard.gan.events import Note, Sink
from ganboard.gan.training.guards.watchdog import Watchdog


class Profile:
    """Records the calls of the training step that contain one of the steps which `config` names,
    once per run. Use it as a context around the training: leaving it keeps what was recorded.

    The profiler's failure is a note, and training goes on without it. Steps compute the same with
    it and without.
    """

    def __init__(
        self, config: RunConfig, run_dir: Path, sink: Sink, watchdog: Watchdog, *, leads: bool
    ) -> None:
        self._wanted = profiling.steps(config.profile_steps) if leads else None
        self._text = config.profile_steps
        self._run_dir, self._sink, self._watchdog = run_dir, sink, watchdog
        self._began: int | None = None  # steps that were taken before the trace
        self._taken = 0  # steps by now
        # written last: an attempt before has recorded everything
        if any(path.name.endswith(profiling.TIMELINE) for path in profiling.found(run_dir)):
            self._wanted = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._began is not None:
            self._stop()

    def begin(self, step: int) -> None:
        """Training begins, or goes on, after `step` steps."""
        if self._wanted is not None and step >= self._wanted.stop:
            self._wanted = None
            text = f"profile_steps={self._text} records nothing: the run goes on after step {step}."
            self._sink(Note("warning", text))

    @contextmanager
    def call(self, step: int, count: int) -> Iterator[None]:
        """Around a call that takes `count` steps, after `step` that were taken."""
        if self._wanted is None:
            yield
            return
        if self._began is None and step < self._wanted.stop and step + count > self._wanted.start:
            self._start(step)
        with nullcontext() if self._began is None else _named(step):
            yield
        self._taken = step + count
        if self._began is not None and self._taken >= self._wanted.stop:
            self._stop()

    def _start(self, step: int) -> None:
        try:
            with self._watchdog.paused():
                tf.profiler.experimental.start(str(profiling.folder(self._run_dir)))
        except Exception as error:  # drivers and profilers raise whatever they like
            self._give_up(error)
        else:
            self._began = self._taken = step

    def _stop(self) -> None:
        began, self._began = self._began, None
        assert began is not None
        before = set(profiling.found(self._run_dir))
        try:
            with self._watchdog.paused():
                tf.profiler.experimental.stop()
                written = set(profiling.found(self._run_dir)) - before
                if not written:
                    raise OSError("the profiler has written no file")
                for path in written:
                    _timeline(path)
        except Exception as error:
            self._give_up(error)
            return
        self._wanted = None
        self._sink(
            Note(
                "info",
                f"Profiler trace of steps {began + 1:,} to {self._taken:,} recorded. It opens in"
                " TensorBoard's profiler and in Perfetto; the tab Timings has the files.",
            )
        )

    def _give_up(self, error: Exception) -> None:
        self._wanted = None
        logging.warning("The profiler failed", exc_info=error)
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        self._sink(
            Note(
                "warning",
                f"The profiler trace of profile_steps={self._text} is incomplete or missing:"
                f" {reason.rstrip('.')}. Training continues without it.",
            )
        )


def _named(step: int) -> AbstractContextManager[Any]:
    """What TensorBoard takes for a step."""
    named: AbstractContextManager[Any] = tf.profiler.experimental.Trace(
        "train", step_num=step, _r=1
    )
    return named


def _timeline(path: Path) -> None:
    """Beside the profiler's own file, the same as Chrome's trace events: TensorFlow converts them
    for TensorBoard, in a module that is not public."""
    from tensorflow.python.profiler.internal import _pywrap_profiler_plugin as plugin

    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:  # it leaves caches behind
        copy = shutil.copy(path, scratch)
        events, converted = plugin.xspace_to_tools_data([str(copy)], "trace_viewer@")
    if not converted:
        raise OSError("TensorFlow has not converted its trace for Perfetto")
    name = path.name.removesuffix(profiling.XPLANE) + profiling.TIMELINE
    with files.whole_file(path.with_name(name)) as file:
        file.write(gzip.compress(events, 6))
