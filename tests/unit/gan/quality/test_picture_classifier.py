from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ganboard.gan.data import digits
from ganboard.gan.quality import picture_classifier
from ganboard.gan.quality.picture_classifier import obtain

DIGITS = digits.load(None)
LABELS = DIGITS.labels
assert LABELS is not None
COLOURED = np.repeat(np.pad(DIGITS.images, [(0, 0), (4, 4), (4, 4), (0, 0)]), 3, axis=3)


def silent(share: float) -> None:
    pass


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A training of a few steps, for tests that need no good classifier."""
    monkeypatch.setattr(picture_classifier, "_STEPS", 3)


def test_a_kept_classifier_is_not_trained_again_and_has_the_same_bits(
    short: None, tmp_path: Path
) -> None:
    images, labels = COLOURED[:300], LABELS[:300]
    trained = obtain("images", images, labels, tmp_path, silent)
    kept = obtain(
        "images", images, labels, tmp_path, lambda share: pytest.fail("it is trained again")
    )
    assert trained(images).tobytes() == kept(images).tobytes()
    assert trained.shares.tolist() == kept.shares.tolist()
    assert trained.source == kept.source
    features, classes = trained.classify(images[:7])
    assert features.shape == (7, trained.dimensions)
    assert features.tobytes() == trained(images)[:7].tobytes()
    assert classes.tolist() == trained.classify(images)[1][:7].tolist()
    assert trained.shares.sum() == pytest.approx(1)
    assert len(trained.shares) == 10


@pytest.mark.thorough
def test_other_labels_make_another_classifier(short: None, tmp_path: Path) -> None:
    images, labels = COLOURED[:300], LABELS[:300]
    one = obtain("images", images, labels, tmp_path, silent)
    other = obtain("images", images, labels[::-1].copy(), tmp_path, silent)
    assert one.source.digest != other.source.digest


@pytest.mark.thorough
def test_it_knows_pictures_it_never_saw(tmp_path: Path) -> None:
    found = obtain("images", COLOURED, LABELS, tmp_path, silent)
    assert found.accuracy > 0.93
    assert found.shares.tolist() == pytest.approx([0.1] * 10, abs=0.02)
