"""The quality metrics of images, in the features of a small classifier. Free of TensorFlow."""

from __future__ import annotations

from ganboard.gan.settings.metric import Metric

METRICS = (
    Metric("fid", "FID",
        "Fréchet distance in the classifier's features",
        note="not Inception FID; also low for copies of training images: see memorization",
        better="lower", summary="FID {:.2f}", word="classifier-FID", digits=2),
    Metric("kid", "KID",
        "Kernel distance in the classifier's features",
        better="lower", summary="KID {:.4f}"),
    Metric("precision", "Precision",
        "Share of generated images within the neighbourhoods of real images",
        better="higher", summary="precision {:.2f}"),
    Metric("recall", "Recall",
        "Share of real images within the neighbourhoods of generated images",
        better="higher", summary="recall {:.2f}", chart="precision"),
    Metric("density", "Density",
        "Density of generated images in the neighbourhoods of real images",
        note="1: as dense as real images"),
    Metric("coverage", "Coverage",
        "Share of real neighbourhoods that contain a generated image",
        better="higher", summary="coverage {:.2f}", chart="density"),
    Metric("class_distance", "Class distance",
        "Total variation distance between generated and real class shares",
        note="0: equal, 1: disjoint", better="lower"),
    Metric("diversity", "Diversity",
        "Mean distance of generated pairs / mean distance of real pairs",
        note="1: as diverse"),
    Metric("memorization", "Memorization",
        "Probability that a generated image is closer to a training image than a held-out real"
        " image",
        note="0.5: as novel as held-out images, 1: all copies", summary="memorization {:.2f}"),
)  # fmt: skip
