"""Monitors the metrics of a run and reports problems and recoveries. Free of TensorFlow.

Every monitor warns once when its metrics become bad and reports again only when they have
recovered. Nothing is kept in checkpoints: a resumed run whose trouble goes on is warned about
again. The thresholds were chosen on traces of healthy and of ruined runs (DCGAN on digits and
MNIST; G's or D's rate 5 to 200 times too high or too low); what those showed stands beside each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ganboard.gan.config import RunConfig
from ganboard.gan.events import COLLAPSE, SLOW_REPLICA, Note, Quality
from ganboard.gan.settings.adversarial import AdversarialConfig
from ganboard.gan.training.guards.alarm import Alarm
from ganboard.gan.training.lr_schedules import scaling

Floats = npt.NDArray[np.floating[Any]]

# D's opinion: mean sigmoid of its logits, averaged over a window. Healthy runs stay within 0.5 to
# 0.8 for real and 0.3 to 0.6 for generated images. With rates that were wrong for G or D by a
# factor of 5 to 200 it was beyond these bounds within four epochs, or 0.51 and 0.73. For real
# images; 1 minus it for generated ones
SURE, SURE_NO_MORE = 0.95, 0.90
# generated images believed so much more than real ones; noise over a window is below 0.05
INVERTED, INVERTED_NO_MORE = 0.2, 0.05
# the longer of both: single steps swing, and a quarter of an epoch is soon enough
WINDOW_STEPS, WINDOW_EPOCHS = 50, 0.25

# Mean distance of the images of a grid / that of real images of equal contrast. A grown G is at 0.8
# and above, and below 0.4 for one grid at most; a collapsed one, which still jitters about its one
# image, at 0.25 to 0.5.
ALIKE, ALIKE_NO_MORE = 0.4, 0.6
# of real images: below, an untrained generator's grey blobs are alike for good reason
CONTRAST = 0.3
GRID_IMAGES = 16  # fewer say little about variety
REAL_IMAGES = 512  # maximum number of real images, evenly spread, for comparison
# steps * rate: Adam and RMSprop move a weight by about the rate per step, and G's images first
# varied at 0.05 to 0.08
GROWN = 0.2
# grids or evaluations: a G may collapse for one only, and a collapsed one look varied for one
IN_A_ROW = 2

# Evaluations. Precision, recall and coverage do not distinguish a collapsed G from an untrained
# one, nor coverage a collapsed from a good one; these do: diversity: 0.6 and above in healthy runs,
# 0.17 to 0.37 in collapsed ones
FEW, FEW_NO_MORE = 0.4, 0.5
# share of the commonest class, where the real images have ten equal ones
ONE_CLASS, ONE_CLASS_NO_MORE = 0.6, 0.5

# Median step time of a replica / that of the others. All wait for the slowest: at 1.3 nearly a
# quarter of all time is lost (0.3 / 1.3).
SLOW, SLOW_NO_MORE = 1.3, 1.15
TIMED_STEPS = 10  # fewer steps have no meaningful median


class Monitors:
    """The monitors of one attempt; each method takes new metrics and returns what is to be said
    now, nearly always nothing.

    `real` are the data set's images [N, H, W, C] uint8, `hosts` the names of the replicas' hosts
    where there are several.
    """

    def __init__(
        self,
        config: RunConfig,
        steps_per_epoch: int,
        real: npt.NDArray[np.uint8],
        hosts: Sequence[str] = (),
    ) -> None:
        self._config, self._steps_per_epoch = config, steps_per_epoch
        self._hosts = hosts
        self._window = max(WINDOW_STEPS, int(WINDOW_EPOCHS * steps_per_epoch))
        self._opinions = np.empty((2, 0))
        self._next_step = -1
        self._wins, self._lost = Alarm(), Alarm()
        self._alike, self._few = Alarm(IN_A_ROW), Alarm(IN_A_ROW)
        self._slow = [Alarm() for _ in range(config.replicas)]
        # spread over data that may be sorted
        some = real[:: -(-len(real) // REAL_IMAGES)] / 127.5 - 1
        self._real = (
            _contrast_and_variety(some)
            if config.grid_size**2 >= GRID_IMAGES and len(some) > 1
            else (0.0, 0.0)
        )
        self._has_grown = False

    def opinions(self, first_step: int, d_real: Floats, d_fake: Floats) -> list[Note]:
        """D's mean opinion of real and of generated images in consecutive steps, [n] in [0, 1]
        each; `first_step` counts from 0.

        Only for the losses of Eq. 4 and 5, whose logits are those of a probability and where a D
        that is always right leaves G without a useful gradient (Goodfellow et al. 2014, section 3;
        Arjovsky & Bottou 2017, theorem 2.4). The logits of hinge and wgan_gp are not bounded by a
        probability, their G loss is linear in them, and a critic far ahead is what wgan_gp wants:
        there this is silent, as where G does not learn from D.
        """
        if not (self._config.logits_are_probabilities and self._config.g_learns_from_d):
            return []
        if first_step != self._next_step:  # resumed or rolled back
            self._opinions = np.empty((2, 0))
        self._next_step = first_step + len(d_real)
        self._opinions = np.concatenate([self._opinions, [d_real, d_fake]], axis=1)
        notes = []
        while self._opinions.shape[1] >= self._window:
            window, self._opinions = np.split(self._opinions, [self._window], axis=1)
            notes += self._compare_opinions(
                self._next_step - self._opinions.shape[1], *map(float, window.mean(1))
            )
        return notes

    def _compare_opinions(self, steps: int, real: float, fake: float) -> list[Note]:
        config = self._config
        own = config if isinstance(config, AdversarialConfig) else None
        # what D is taught to say of real images
        target = 1 - own.label_smoothing if own else 1.0
        found = (
            f"over the {self._window} steps up to {position(self._steps_per_epoch, steps - 1)}"
            f" its mean output was {real:.2f} for real and {fake:.2f} for generated images"
        )
        slower_d = [
            f"lower d_learning_rate (now {config.d_learning_rate:g})",
            *["set d_steps=1"] * (config.d_updates > 1),
        ]
        smoother = ["set label_smoothing=0.1"] if own and not own.label_smoothing else []
        smoother += ["set r1=10"] if own and not own.r1 else []
        wins = self._wins.notes(
            real > SURE * target and fake < 1 - SURE,
            real < SURE_NO_MORE * target or fake > 1 - SURE_NO_MORE,
            f"D dominates: {found}, so G gets no useful gradients. Clone the run and"
            f" {either(slower_d + smoother)}.",
            f"D no longer dominates: {found}.",
        )
        sure = (real > SURE * target and fake > SURE * target) or (
            real < 1 - SURE and fake < 1 - SURE
        )
        remedy = either(
            [
                f"lower g_learning_rate (now {config.g_learning_rate:g})",
                "raise d_learning_rate or d_steps" if own else "raise d_learning_rate",
            ]
        )
        lost = self._lost.notes(
            sure or fake - real > INVERTED,
            1 - SURE_NO_MORE < real < SURE_NO_MORE * target and fake - real < INVERTED_NO_MORE,
            f"D fails: {found}, so G gets misleading gradients. Clone the run and {remedy}.",
            f"D has recovered: {found}.",
        )
        return wins + lost

    def grid(self, epoch: int, generated: Floats) -> list[Note]:
        """Images [grid_size ** 2, H, W, C] in [-1, 1] that G made of the fixed latents after
        `epoch`.

        Silent for grids under 4 x 4, and where real images are blank or all alike.
        """
        if not all(self._real) or not np.isfinite(generated).all():  # the latter is said elsewhere
            return []
        contrast, distance = _compare(generated, self._real)
        fair = contrast >= CONTRAST
        varied = fair and distance >= ALIKE_NO_MORE
        if fair:
            found = (
                f"are too similar: at equal contrast, their mutual distances are {distance:.0%} of"
                " those of real images"
            )
        else:
            found = f"have lost contrast: it is {contrast:.0%} of that of real images"
        return self._alike.notes(
            self._grown(epoch, varied) and not (fair and distance >= ALIKE),
            varied,
            f"{COLLAPSE}the images of G after epoch {epoch} {found}. {self._against_collapse()}",
            f"The images of G after epoch {epoch} are diverse again.",
        )

    def evaluated(self, quality: Quality, real_shares: Sequence[float] = ()) -> list[Note]:
        """An evaluation of generated images (`gan.quality`); no indicator of a collapse is known
        for other data.

        `real_shares` are those of each class among the real images, or none: where one class has
        most of the images, so may those of G.
        """
        if "diversity" not in quality.measures:
            return []
        diversity, share = quality.measures["diversity"], max(quality.histogram, default=0.0)
        one_class = max(ONE_CLASS, (1 + max(real_shares, default=0.0)) / 2)
        found = f"pairs differ by {diversity:.0%} of the difference between real pairs"
        if quality.histogram:
            found += f", and {share:.0%} belong to one class"
        varied = diversity >= FEW_NO_MORE and share <= one_class - (ONE_CLASS - ONE_CLASS_NO_MORE)
        return self._few.notes(
            self._grown(quality.epoch, varied) and (diversity < FEW or share > one_class),
            varied,
            f"{COLLAPSE}after epoch {quality.epoch}, G generates few kinds of images:"
            f" {found}. {self._against_collapse()}",
            f"G generates more kinds of images again after epoch {quality.epoch}: {found}.",
        )

    def _grown(self, epoch: int, varied: bool) -> bool:
        """Whether G has been trained enough for its images to differ, which it has when they did
        once (`varied`).

        An average of weights lags behind, and how far SGD moves a weight does not follow from its
        rate: there only that once counts.
        """
        config = self._config
        if not config.ema and config.optimizer != "sgd":
            steps = (epoch - config.warmup_epochs) * self._steps_per_epoch
            varied |= steps * config.g_learning_rate * scaling(config) >= GROWN
        self._has_grown |= varied
        return self._has_grown

    def _against_collapse(self) -> str:
        config = self._config
        options = [f"lower g_learning_rate (now {config.g_learning_rate:g})"]
        options += ["set beta_1=0.5"] * (config.optimizer == "adam" and config.beta_1 > 0.5)
        if isinstance(config, AdversarialConfig):
            options += ["set loss=wgan_gp"] * (
                config.loss != "wgan_gp" and not config.examples_mix_in_d
            )
        return f"Clone the run and {either(options)}."

    def replicas(self, epoch: int, seconds: Floats) -> list[Note]:
        """Own working time of every replica in the steps of `epoch`, [steps, replicas] in seconds:
        from its images to its gradients, without the wait for the others, which makes all equally
        slow."""
        if seconds.shape[1] < 2 or len(seconds) < TIMED_STEPS:
            return []
        medians, notes = np.median(seconds, axis=0), []
        for replica, own in enumerate(medians):
            others = float(np.median(np.delete(medians, replica)))
            host = f" on {self._hosts[replica]}" if self._hosts else ""
            who = f"Replica {replica} of {len(medians)}{host}, counted from 0,"
            times = (
                f"its median step took {1000 * own:.3g} ms in epoch {epoch}, compared with"
                f" {1000 * others:.3g} ms for the others"
            )
            notes += self._slow[replica].notes(
                own > SLOW * others,
                own < SLOW_NO_MORE * others,
                f"{who}{SLOW_REPLICA}{times}. All replicas wait for the slowest one, which cost"
                f" {(own - others) * len(seconds):.2g} s in this epoch. Check what else runs on"
                " its device, or train with fewer replicas.",
                f"{who} is no longer slow: {times}.",
            )
        return notes


def _contrast_and_variety(images: Floats) -> tuple[float, float]:
    """Contrast and variety of images [n, H, W, C], n > 1: standard deviation of the pixels of an
    image, Euclidean distance of two images, each averaged over all."""
    flat = images.reshape(len(images), -1).astype(np.float64)
    contrast = flat.std(axis=1).mean()
    flat -= flat.mean(axis=0)  # keeps the squares below small, and so their differences exact
    squares = (flat**2).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, np.newaxis] + squares - 2 * flat @ flat.T, 0))
    return float(contrast), float(distances.sum() / (len(flat) * (len(flat) - 1)))


def _compare(generated: Floats, real: tuple[float, float]) -> tuple[float, float]:
    """Contrast of generated images / that of real ones, and their mean distance / that of real ones
    at equal contrast (NaN: no contrast); `real` are the `_contrast_and_variety` of real
    images, not 0."""
    contrast, distance = _contrast_and_variety(generated)
    contrast, distance = contrast / real[0], distance / real[1]
    return contrast, distance / contrast if contrast else math.nan


def position(steps_per_epoch: int, step: int) -> str:
    """A step of the whole run, in words."""
    epoch, within = divmod(step, steps_per_epoch)
    return f"step {within + 1} of epoch {epoch + 1}"


def either(options: list[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return " or ".join([", ".join(options[:-1]), options[-1]] if len(options) > 1 else options)
