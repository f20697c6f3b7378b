"""What a trainer writes into the log of its run: a line for each epoch, phase, checkpoint,
warning."""

from __future__ import annotations

import logging

from ganboard.gan.config import RunConfig
from ganboard.gan.events import EpochDone, Event, Note, Phase, Quality, Saved, Started
from ganboard.worker.formatting import clean, decimal, duration, quality_summary, rate

# phases of every epoch: what they end with is logged
REPEATED = ("training", "evaluating", "saving")
LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

log = logging.getLogger("ganboard.run")


class RunLog:
    """A `Sink` that logs."""

    def __init__(self, config: RunConfig) -> None:
        self._epochs = config.epochs
        self._training = False

    def __call__(self, event: Event) -> None:
        match event:
            case Phase():
                self._phase(event.name)
            case Started():
                begin = (
                    f"from step {event.start_step}" if event.start_step else "from the beginning"
                )
                log.info(
                    "%d examples, %d steps per epoch, %s",
                    event.examples,
                    event.steps_per_epoch,
                    begin,
                )
            case EpochDone():
                self._epoch(event)
            case Quality():
                log.info(
                    "quality after epoch %d: %s, evaluated in %s",
                    event.epoch,
                    quality_summary(event.measures),
                    duration(event.seconds),
                )
            case Saved():
                log.info(
                    "checkpoint of step %d (epoch %d), %.1f MB",
                    event.step,
                    event.epoch,
                    event.size / 1e6,
                )
            case Note():
                log.log(LEVELS[event.level], "%s", clean(event.text))

    def _phase(self, name: str) -> None:
        if name not in REPEATED or (name == "training" and not self._training):
            log.info("%s", name)
        self._training = self._training or name == "training"

    def _epoch(self, done: EpochDone) -> None:
        speed = rate(done.images / done.seconds if done.seconds else None)
        compiling = (
            f" and {duration(done.compile_seconds)} compiling" if done.compile_seconds else ""
        )
        log.info(
            "epoch %d/%d: G %s, D %s, %s%s, %s images/s",
            done.epoch,
            self._epochs,
            decimal(done.g_loss),
            decimal(done.d_loss),
            duration(done.seconds),
            compiling,
            speed,
        )
