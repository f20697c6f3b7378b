"""The quality metrics of a 3DGAN's showers: the numbers of `evaluation.comparison`."""

from __future__ import annotations

from ganboard.gan.settings.metric import Metric

MINIMUM = 50  # events: with fewer no bin of energy says anything of the sampling fraction
METRICS = (
    Metric("objective", "Objective",
        "Objective of the 3DGAN: sum of the errors of moments, profiles and angle",
        note="0: perfect", better="lower", summary="objective {:.3f}", word="objective", digits=3,
        compared_as="objective.total"),
    Metric("moment_error", "Moments",
        "Mean relative error of the mean first and second moments along the three axes",
        better="lower", compared_as="objective.moment"),
    Metric("profile_error", "Profiles",
        "Mean relative error of the mean profiles along the three axes",
        better="lower", chart="moment_error", compared_as="objective.profile"),
    Metric("angle_error", "Angle",
        "Mean relative error of the measured angle of generated showers",
        better="lower", compared_as="objective.angle"),
    Metric("sampling_error", "Sampling fraction",
        "Mean relative error of the sampling fraction, over bins of energy",
        better="lower", summary="sampling fraction off by {:.1%}",
        compared_as="sampling_fraction.error"),
    Metric("correlation_error", "Correlations",
        "Mean difference of the correlations between 13 observables",
        better="lower", compared_as="correlation.difference"),
    Metric("empty", "Empty showers",
        "Share of generated showers without any energy",
        better="lower", compared_as="events.empty"),
)  # fmt: skip
