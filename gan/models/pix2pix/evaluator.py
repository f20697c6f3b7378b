"""Evaluates predictions of flows: how far from what came, in flows that were never trained with and
in those that were."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from ganboard.gan.models.pix2pix import architecture
from ganboard.gan.models.pix2pix.config import CHANNELS, Config
from ganboard.gan.models.pix2pix.flow.examples import Examples
from ganboard.gan.models.pix2pix.flow.frames import Pairs

_TOGETHER = 16  # pairs


class Evaluator:
    """See `gan.modeling.recipe.Evaluator`. Pairs and windows are functions of the data alone, so
    that all runs on them are evaluated by the same."""

    def __init__(self, config: Config, examples: Examples) -> None:
        self._side, wanted = config.side, config.quality_images
        self._masks = len(architecture.masks(config))
        self._pairs = {
            "l1": examples.stored.pairs("held-out", history=config.history),
            "l1_train": examples.stored.pairs("train", history=config.history),
        }
        self._chosen = {
            name: np.linspace(0, len(pairs) - 1, min(wanted, len(pairs))).round().astype(int)
            for name, pairs in self._pairs.items()
        }
        self.facts: dict[str, Any] = {}
        self.remarks = [
            f"quality_images={wanted:,} is more than the {len(pairs):,} pairs of flows that are"
            f" {where}: all of these are compared with."
            for where, pairs in zip(("held out", "trained with"), self._pairs.values(), strict=True)
            if len(pairs) < wanted
        ]

    def __call__(self, generator: keras.Model) -> tuple[dict[str, float], tuple[float, ...]]:
        keeps: list[None] = [None] * self._masks
        found = dict.fromkeys([*self._pairs, "l1_standing"], 0.0)
        for name, pairs in self._pairs.items():
            chosen = self._chosen[name]
            for index in np.array_split(chosen, -(-len(chosen) // _TOGETHER)):
                before, after = _windows(pairs, index, self._side)
                share = len(index) / len(chosen)
                found[name] += share * _distance(
                    generator([before, *keeps], training=False).numpy(), after
                )
                if name == "l1":
                    found["l1_standing"] += share * _distance(before[..., :CHANNELS], after)
        return found, ()


def _windows(
    pairs: Pairs, index: npt.NDArray[np.int_], side: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """These pairs through squares at places that follow from their numbers: [n, side, side, inputs]
    and [n, side, side, 3]."""
    seen: tuple[list[npt.NDArray[np.float32]], list[npt.NDArray[np.float32]]] = [], []
    for number in index:
        pair = pairs[int(number)]
        y, x = (
            np.random.default_rng(int(number)).random(2) * (np.array(pair[0].shape[:2]) - side + 1)
        ).astype(int)
        for parts, frame in zip(seen, pair, strict=True):
            parts.append(frame[y : y + side, x : x + side])
    return np.stack(seen[0]), np.stack(seen[1])


def _distance(made: npt.NDArray[np.float32], real: npt.NDArray[np.float32]) -> float:
    return float(np.abs(made - real).mean(dtype=np.float64))
