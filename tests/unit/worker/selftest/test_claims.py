from __future__ import annotations

import pytest

from ganboard.gan.config import ConfigError
from ganboard.worker.selftest.claims import chosen, claims, claims_of


def test_every_claim_compares_two_configurations_that_can_be_parsed() -> None:
    for claim in claims():
        assert claim.one != claim.other
        assert claim.one.config.batch_size == claim.other.config.batch_size
    assert len({claim.name for claim in claims()}) == len(claims())


def test_claims_are_chosen_by_their_name() -> None:
    assert chosen(None) == claims()
    fit = {
        "fit = custom loop",
        "fit = custom loop on 2 replicas",
        "gan3d: fit = custom loop",
        "pix2pix: fit = custom loop",
    }
    assert {claim.name for claim in chosen("FIT")} == fit
    for model, count in (("gan3d", 6), ("pix2pix", 4)):
        assert [claim.one.config.model for claim in chosen(model)] == [model] * count
    with pytest.raises(ConfigError, match=r"'nonsense'.*Available claims: 2 replicas"):
        chosen("nonsense")


def test_a_model_that_declares_nothing_to_compare_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model=convgan declares nothing to check\. Set"):
        claims_of("convgan")
