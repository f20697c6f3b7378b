"""Remarks on what makes a comparison unfair, and on runs that did not end as planned."""

from __future__ import annotations

from ganboard.gan.data import revision
from tests.factories import HARDWARE
from tests.unit.worker.comparison.results import STEADY, result, said


def test_failures_stops_and_divergence_are_reported() -> None:
    diverged = result("c", seed=3)
    diverged.run.g_loss = float("nan")
    text = said(
        result("a", status="stopped", epochs=3, planned=9),
        result("b", status="failed", epochs=3, planned=9, xla=True),
        diverged,
    )
    assert text.remarks[0] == "The baseline was stopped after 3 of 9 epochs."
    assert "xla on failed after 3 of 9 epochs." in text.remarks
    assert "seed 3 diverged: its losses are no longer finite." in text.remarks


def test_finished_epochs_that_differ() -> None:
    text = said(result(epochs=9), result(epochs=3, status="failed", planned=9, xla=True))
    assert (
        "The numbers of finished epochs differ (3 and 9): final losses and total times cannot be"
        " compared." in text.remarks
    )


def test_few_epochs_are_a_first_impression() -> None:
    text = said(result(epochs=1), result(epochs=2, planned=1, rate=2000, xla=True))
    assert "The baseline has only 1 measured epoch: its speed is a rough estimate." in text.remarks
    assert "xla on has only 2 measured epochs: its speed is a rough estimate." in text.remarks


def test_other_data_cannot_be_compared() -> None:
    text = said(
        result(fids=STEADY, dataset="digits"), result(fids=STEADY, dataset="mnist", rate=3000)
    )
    assert text.headline == "mnist is 3.00× faster than digits."
    assert text.remarks == [
        "The data sets differ (mnist and digits): quality and losses cannot be compared, and"
        " speeds are per image."
    ]
    assert "The amounts of data differ" in said(result(limit=64), result(limit=128)).remarks[0]


def test_other_revisions_of_sampled_data_cannot_be_compared() -> None:
    one, two = (result(fids=STEADY, dataset="showers", model="gan3d", seed=seed) for seed in (1, 2))
    two.run.facts = {**two.run.facts, revision.FACT: 2}
    sentence = "The sampled data differ (revisions 1 and 2): quality and losses cannot be compared."
    assert sentence in said(one, two).remarks


def test_other_losses_and_networks() -> None:
    text = said(result(fids=STEADY), result(fids=STEADY, loss="hinge", model="other"))
    assert "The loss functions differ: loss curves cannot be compared." in text.remarks
    assert "The networks differ: the cost of a step is not the same." in text.remarks


def test_other_machines() -> None:
    gpu = {
        "gpus": [{"name": "H200", "memory_bytes": 1}] * 2,
        "versions": HARDWARE["versions"] | {"tensorflow": "2.20.0"},
        "host": "box",
    }
    remarks = said(result(), result(rate=2000, hardware=gpu, xla=True)).remarks
    assert (
        "The hardware differs (2 × H200; Test CPU @ 2.00 GHz, 2 cores): the speeds also reflect"
        " the machines." in remarks
    )
    assert "The versions differ (tensorflow 2.20.0 and 2.21.0)." in remarks
    tpu = said(result(), result(hardware={"tpus": ["a"] * 8}, xla=True)).remarks
    assert any(remark.startswith("The hardware differs (8 TPU cores;") for remark in tpu)
    missing = result(xla=True)
    missing.run.hardware = None
    assert not any("hardware" in remark for remark in said(result(), missing).remarks)


def test_side_by_side_on_one_machine() -> None:
    slowed = (
        "They trained at the same time on the same machine and may have slowed each other down."
    )
    assert slowed in said(result(start=-1000), result(start=-980, xla=True)).remarks
    # 2 of 50 seconds
    assert slowed not in said(result(start=-1000), result(start=-952, xla=True)).remarks
    assert (
        slowed
        not in said(
            result(start=-1000), result(start=-980, xla=True, hardware={"host": "other"})
        ).remarks
    )
    assert (
        slowed in said(result(start=-1000), result(start=-1500, xla=True, status="running")).remarks
    )


def test_different_classifiers() -> None:
    base, other = result(fids=STEADY), result(fids=STEADY, xla=True)
    base.run.facts, other.run.facts = {"classifier_accuracy": 0.98}, {"classifier_accuracy": 0.99}
    assert said(base, other).remarks == [
        "The quality was measured with different classifiers: small differences in FID are not"
        " meaningful."
    ]


def test_a_remark_on_some_names_them() -> None:
    text = said(
        result(fids=STEADY),
        result(fids=STEADY, xla=True),
        result(fids=STEADY, loss="hinge"),
        result(fids=STEADY, seed=5),
    )
    assert text.remarks == ["hinge: The loss functions differ: loss curves cannot be compared."]
