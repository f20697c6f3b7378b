"""The quality metrics of a DCGAN's images, in the features that the run is evaluated with."""

from __future__ import annotations

from ganboard.gan.settings.metric import Metric

MINIMUM = 200  # real images; the covariance of 64 features needs well more than 64
METRICS = (
    Metric("fid", "FID",
        "Fréchet distance of the features of real and generated images",
        note="also low for copies of training images: see memorization",
        better="lower", summary="FID {:.2f}", digits=2, by_features=True),
    Metric("kid", "KID",
        "Kernel distance of the features of real and generated images",
        better="lower", summary="KID {:.4f}", by_features=True),
    Metric("precision", "Precision",
        "Share of generated images within the neighbourhoods of real images",
        better="higher", summary="precision {:.2f}", by_features=True),
    Metric("recall", "Recall",
        "Share of real images within the neighbourhoods of generated images",
        better="higher", summary="recall {:.2f}", chart="precision", by_features=True),
    Metric("density", "Density",
        "Density of generated images in the neighbourhoods of real images",
        note="1: as dense as real images", by_features=True),
    Metric("coverage", "Coverage",
        "Share of real neighbourhoods that contain a generated image",
        better="higher", summary="coverage {:.2f}", chart="density", by_features=True),
    Metric("class_distance", "Class distance",
        "Total variation distance between generated and real class shares",
        note="0: equal, 1: disjoint", better="lower"),
    Metric("diversity", "Diversity",
        "Mean distance of generated pairs / mean distance of real pairs",
        note="1: as diverse", by_features=True),
    Metric("memorization", "Memorization",
        "Probability that a generated image is closer to a training image than a held-out real"
        " image",
        note="0.5: as novel as held-out images, 1: all copies", summary="memorization {:.2f}",
        by_features=True),
)  # fmt: skip
