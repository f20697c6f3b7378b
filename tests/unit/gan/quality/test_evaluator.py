from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ganboard.gan.config import ConfigError
from ganboard.gan.data import digits
from ganboard.gan.data.dataset import Dataset
from ganboard.gan.events import FACTS
from ganboard.gan.models.dcgan.config import Config
from ganboard.gan.quality import classifier, encoder, extract, picture_classifier
from ganboard.gan.quality.evaluator import MEASURES, Evaluator
from ganboard.gan.settings.features import FACT, recorded

CONFIG = Config(dataset="digits", quality_every=1, quality_images=800)
DIGITS = digits.load(None)
ORDER = classifier.order(len(DIGITS.images))
# 997 real images that the evaluator does not compare with
OTHERS = (DIGITS.images[ORDER[800:]] / 127.5 - 1).astype(np.float32)
LABELS = DIGITS.labels[ORDER[800:]]  # type: ignore[index]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("quality")


@pytest.fixture(scope="module")
def evaluator(cache: Path) -> Evaluator:
    return Evaluator(CONFIG, DIGITS, cache, lambda share: None)


def degraded(amounts: tuple[float, ...]) -> list[np.ndarray]:
    noise = np.random.default_rng(0).standard_normal(OTHERS.shape)
    return [np.clip(OTHERS + amount * noise, -1, 1).astype(np.float32) for amount in amounts]


def blurred(times: int) -> np.ndarray:
    images = OTHERS
    for _ in range(times):
        for axis in (1, 2):
            images = (np.roll(images, 1, axis) + 2 * images + np.roll(images, -1, axis)) / 4
    return images


@pytest.mark.thorough
def test_other_real_images_are_found_good(evaluator: Evaluator) -> None:
    measures, histogram = evaluator.compare(OTHERS)
    assert tuple(measures) == tuple(MEASURES)
    assert all(type(value) is float for value in (*measures.values(), *histogram))
    assert measures["fid"] < 1
    assert abs(measures["kid"]) < 0.02
    assert min(measures["precision"], measures["recall"], measures["coverage"]) > 0.7
    assert measures["density"] > 0.7
    assert measures["class_distance"] < 0.05
    assert measures["diversity"] == pytest.approx(1, abs=0.05)
    assert len(histogram) == 10
    assert sum(histogram) == pytest.approx(1)


def test_noise_is_found_bad(evaluator: Evaluator) -> None:
    noise = np.random.default_rng(0).uniform(-1, 1, OTHERS.shape).astype(np.float32)
    measures, good = evaluator.compare(noise)[0], evaluator.compare(OTHERS)[0]
    assert measures["fid"] > 30 * good["fid"]
    assert measures["kid"] > 0.5
    assert max(measures[name] for name in ("precision", "recall", "density", "coverage")) < 0.05


@pytest.mark.parametrize("kind", ["noise", "blur"])
def test_the_worse_the_images_the_worse_the_measures(kind: str, evaluator: Evaluator) -> None:
    images = (
        degraded((0, 0.2, 0.4, 0.8))
        if kind == "noise"
        else [blurred(times) for times in (0, 1, 3, 8)]
    )
    found = [evaluator.compare(image)[0] for image in images]
    for name in ("fid", "kid"):
        values = [measures[name] for measures in found]
        assert values == sorted(values), name
        assert values[3] - values[0] > 10 * max(abs(values[0]), 0.01)
    coverage = [measures["coverage"] for measures in found]
    assert coverage == sorted(coverage, reverse=True)


def test_real_images_that_are_not_trained_on_are_no_copies(cache: Path) -> None:
    """Of the 1,797 digits a run with limit=800 sees the first 800."""
    config = CONFIG.model_copy(update={"limit": 800, "quality_images": 400})
    evaluator = Evaluator(config, DIGITS, cache, lambda share: None)
    others = DIGITS.images[800:] / np.float32(127.5) - 1
    # digits are ordered by their writers: the others' are a little further away
    assert evaluator.compare(others)[0]["memorization"] == pytest.approx(0.5, abs=0.08)
    copies = np.repeat(DIGITS.images[:100], 4, axis=0) / np.float32(127.5) - 1
    assert evaluator.compare(copies)[0]["memorization"] > 0.99


def test_a_copy_machine_is_caught_where_all_images_are_trained_on(evaluator: Evaluator) -> None:
    found = evaluator.compare(np.repeat(OTHERS[:100], 8, axis=0))[0]
    assert found["memorization"] > 0.99
    # which the distance alone rewards
    assert found["fid"] < evaluator.compare(degraded((0.4,))[0])[0]["fid"]
    noise = np.random.default_rng(0).uniform(-1, 1, OTHERS.shape).astype(np.float32)
    assert evaluator.compare(noise)[0]["memorization"] < 0.05


def test_a_single_repeated_image_is_a_collapse(evaluator: Evaluator) -> None:
    measures, histogram = evaluator.compare(np.repeat(OTHERS[:1], 800, axis=0))
    assert max(measures[name] for name in ("recall", "coverage", "diversity")) < 0.05
    assert measures["class_distance"] > 0.85
    assert max(histogram) == 1


def test_half_the_classes_missing_is_seen(evaluator: Evaluator) -> None:
    whole, half = evaluator.compare(OTHERS)[0], evaluator.compare(OTHERS[LABELS < 5])[0]
    assert half["class_distance"] == pytest.approx(0.5, abs=0.05)
    assert half["recall"] < 0.7 * whole["recall"]
    assert half["coverage"] < 0.7 * whole["coverage"]
    assert half["fid"] > 10 * whole["fid"]


def test_a_second_evaluator_has_the_same_bits(evaluator: Evaluator, cache: Path) -> None:
    again = Evaluator(
        CONFIG, DIGITS, cache, lambda share: pytest.fail("the classifier is trained again")
    )
    images = degraded((0.3,))[0]
    first, second = evaluator.compare(images), again.compare(images)
    assert [value.hex() for value in (*first[0].values(), *first[1])] == [
        value.hex() for value in (*second[0].values(), *second[1])
    ]
    assert evaluator.facts == again.facts


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_values_that_are_not_finite_give_no_numbers_and_no_crash(
    value: float, evaluator: Evaluator
) -> None:
    images = OTHERS.copy()
    images[3, 4, 5, 0] = value
    measures, histogram = evaluator.compare(images)
    assert tuple(measures) == tuple(MEASURES)
    assert all(math.isnan(number) for number in (*measures.values(), *histogram))
    assert len(histogram) == 10


def test_values_out_of_range_are_taken_as_black_and_white(evaluator: Evaluator) -> None:
    assert evaluator.compare(OTHERS * 1e30) == evaluator.compare(
        np.where(OTHERS < 0, -1, 1).astype(np.float32)
    )


def test_facts_are_known_by_name(evaluator: Evaluator) -> None:
    assert evaluator.facts.keys() <= FACTS.keys()
    assert 0.95 <= evaluator.facts["classifier_accuracy"] <= 1
    assert evaluator.remarks == []


def test_more_images_than_the_data_have_are_compared_with_all_and_it_is_said(cache: Path) -> None:
    evaluator = Evaluator(
        CONFIG.model_copy(update={"quality_images": 2000}), DIGITS, cache, lambda share: None
    )
    assert evaluator.remarks == [
        "quality_images=2,000 exceeds the 1,797 images of digits: all of them are compared with"
        " 2,000 generated images."
    ]
    assert evaluator.compare(OTHERS)[0]["recall"] > 0.7


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (
            Dataset(DIGITS.images[:199], LABELS[:199], ""),
            "needs 200 real images, but digits has 199. Set quality_every to 0",
        )
    ],
)
def test_data_that_cannot_be_evaluated_with_are_refused(
    data: Dataset, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Evaluator(CONFIG, data, tmp_path, lambda share: None)
    assert not list(tmp_path.iterdir())


# --- pictures of any size, with and without labels ---


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings of a few steps, for tests that need no good features."""
    monkeypatch.setattr(encoder, "_STEPS", 3)
    monkeypatch.setattr(picture_classifier, "_STEPS", 3)


def pictures(path: Path, labels: np.ndarray | None) -> Dataset:
    """300 coloured pictures of 40x40 pixels on disk."""
    images = np.lib.format.open_memmap(
        path / "pictures.npy", mode="w+", dtype=np.uint8, shape=(300, 40, 40, 3)
    )
    images[:] = np.pad(DIGITS.images[:300], [(0, 0), (6, 6), (6, 6), (0, 0)])
    return Dataset(images, labels, "")


def test_pictures_without_labels_are_evaluated_by_an_encoder(short: None, tmp_path: Path) -> None:
    config = CONFIG.model_copy(update={"quality_images": 250, "limit": 120})
    data = pictures(tmp_path, None)
    evaluator = Evaluator(config, data, tmp_path, lambda share: None)
    assert recorded(evaluator.facts).name == "encoder"
    assert evaluator.facts.keys() <= FACTS.keys()
    assert 0 <= evaluator.facts["encoder_accuracy"] <= 1
    assert "a small encoder trained on the same data set without labels" in evaluator.remarks[0]
    images = (data.images[:60] / 127.5 - 1).astype(np.float32)
    measures, histogram = evaluator.compare(images)
    assert tuple(measures) == tuple(name for name in MEASURES if name != "class_distance")
    assert all(math.isfinite(value) for value in measures.values())
    assert histogram == ()
    assert measures["memorization"] > 0.9  # they are among the first 120
    assert evaluator.compare(iter([images[:20], images[20:]])) == (measures, histogram)
    images[7, 0, 0, 0] = math.nan
    measures, histogram = evaluator.compare(images)
    assert all(math.isnan(value) for value in measures.values())
    assert histogram == ()


@pytest.mark.thorough
def test_pictures_with_labels_are_evaluated_by_a_classifier(short: None, tmp_path: Path) -> None:
    config = CONFIG.model_copy(update={"quality_images": 250})
    data = pictures(tmp_path, DIGITS.labels[:300])  # type: ignore[index]
    evaluator = Evaluator(config, data, tmp_path, lambda share: None)
    assert recorded(evaluator.facts).name == "classifier"
    measures, histogram = evaluator.compare((data.images[:60] / 127.5 - 1).astype(np.float32))
    assert tuple(measures) == MEASURES
    assert sum(histogram) == pytest.approx(1)


@pytest.mark.thorough
def test_labels_are_not_needed_where_an_encoder_is_asked_for(short: None, tmp_path: Path) -> None:
    made = []
    for labels in (DIGITS.labels, None):
        data = Dataset(DIGITS.images, labels, "")
        made.append(Evaluator(CONFIG, data, tmp_path, lambda share: None, features="encoder"))
    assert made[0].facts == made[1].facts
    assert recorded(made[0].facts).name == "encoder"
    with pytest.raises(ConfigError, match=r"=classifier needs images of two classes or more"):
        Evaluator(CONFIG, data, tmp_path, lambda share: None, features="classifier")


def test_the_first_numbers_stay_comparable(evaluator: Evaluator, cache: Path) -> None:
    """The classifier of grey images has the file, and with it the weights, that it always had."""
    [kept] = cache.glob("*.npz")
    assert evaluator.facts[FACT] == f"classifier {kept.stem.removeprefix('digits-')}"


@pytest.mark.thorough
def test_copies_are_looked_for_in_a_bounded_number_of_images(
    short: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder.Encoder, "bound", 50)
    config = CONFIG.model_copy(update={"quality_images": 220, "limit": 200})
    data = pictures(tmp_path, None)
    evaluator = Evaluator(config, data, tmp_path, lambda share: None)
    among = np.sort(extract.order(200)[:50])
    copies = (data.images[among] / 127.5 - 1).astype(np.float32)
    others = (data.images[np.setdiff1d(np.arange(200), among)] / 127.5 - 1).astype(np.float32)
    assert evaluator.compare(copies)[0]["memorization"] > 0.99
    # real images that are among the 50 are held out by leaving themselves out
    assert evaluator.compare(others)[0]["memorization"] == pytest.approx(0.5, abs=0.1)
