from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from ganboard.gan.config import ConfigError
from ganboard.gan.quality.choice import choose
from ganboard.gan.settings.features import FACT, LABELS, Source, conflict, qualified, recorded

ONE, OTHER = "3f2a9c0d11e2b7c4", "77b10c0d11e2b7c4"
LABELLED = np.array([0, 1, 1])


def test_a_fact_is_read_as_it_was_written() -> None:
    for name in LABELS:
        source = Source(name, ONE)
        assert recorded({FACT: source.fact}) == source
        assert source.label
        assert source.description


@pytest.mark.parametrize(
    "facts", [{}, {FACT: ""}, {FACT: 5}, {FACT: "gpt 3f2a9c0d11e2b7c4"}, {FACT: "encoder xyz"}]
)
def test_a_run_that_recorded_nothing_used_the_classifier_of_its_data(facts: dict) -> None:
    assert recorded(facts) == Source("classifier")


def test_numbers_of_other_features_cannot_be_compared() -> None:
    classifier, encoder = Source("classifier", ONE), Source("encoder", ONE)
    assert not classifier.comparable(encoder)
    assert conflict("FID", [classifier, classifier, encoder]) == (
        "FID by classifier features and FID by encoder features cannot be compared."
    )
    assert conflict("KID", [encoder, Source("inception", ONE)]) == (
        "KID by encoder features and KID by Keras InceptionV3 features cannot be compared."
    )
    assert conflict("FID", [encoder, Source("encoder", OTHER)]) == (
        "FID by the encoder features 3f2a9c0d and FID by the encoder features 77b10c0d cannot be"
        " compared: they were made of different data."
    )


def test_numbers_of_the_same_features_can_be_compared() -> None:
    old, new = Source("classifier"), Source("classifier", ONE)
    assert old.comparable(new)
    assert new.comparable(old)
    assert conflict("FID", [old, new, old]) is None
    assert conflict("FID", []) is None
    # where the old one does not say, the two that do decide
    assert conflict("FID", [new, old, Source("classifier", OTHER)]) is not None


def test_names_among_numbers_of_all_features() -> None:
    assert [qualified("fid", name) for name in LABELS] == ["fid", "fid_encoder", "fid_inception"]


def test_auto_takes_the_classifier_where_there_are_classes() -> None:
    assert choose("auto", LABELLED) == "classifier"
    assert choose("auto", None) == "encoder"
    assert choose("auto", np.zeros(5, np.int64)) == "encoder"  # of one class nothing is learned
    assert choose("encoder", LABELLED) == "encoder"
    assert choose("inception", None) == "inception"


@pytest.mark.parametrize(
    ("labels", "what"), [(None, "no labels"), (np.zeros(5, np.int64), "one class")]
)
def test_a_classifier_without_classes_is_refused(labels: np.ndarray | None, what: str) -> None:
    sentence = f"needs images of two classes or more, but the data have {what}. Set .*=encoder"
    with pytest.raises(ConfigError, match=sentence):
        choose("classifier", labels)


def test_features_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"=vgg does not exist\. Choose from auto, classifier, "):
        choose("vgg", None)


def test_sources_are_free_of_tensorflow() -> None:
    code = (
        "import sys, ganboard.gan.quality.choice, ganboard.gan.quality.extract,"
        " ganboard.gan.quality.inception_weights; print({'tensorflow', 'keras'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
