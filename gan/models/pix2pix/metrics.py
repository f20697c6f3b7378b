"""The quality metrics of a pix2pix network: how far its predictions are from the next frame."""

from __future__ import annotations

from ganboard.gan.settings.metric import Metric

METRICS = (
    Metric("l1", "L1",
        "Mean distance between predicted and real fields in held-out flows",
        better="lower", summary="L1 {:.4f}"),
    Metric("l1_train", "L1 in training flows",
        "The same in training flows; the difference is the overfitting",
        better="lower", summary="{:.4f} in training flows", chart="l1"),
    Metric("l1_standing", "L1 of a static flow",
        "The same distance in held-out flows for a static prediction; an upper bound for useful"
        " predictions",
        summary="{:.4f} for a static flow", chart="l1"),
)  # fmt: skip
