from __future__ import annotations

import numpy as np

from ganboard.gan.rng import philox


def test_order_is_a_permutation_that_depends_on_seed_and_epoch_only() -> None:
    first = philox.order(7, 3, 1000)
    assert sorted(first) == list(range(1000))
    assert first.dtype == np.int32
    np.testing.assert_array_equal(first, philox.order(7, 3, 1000))
    assert (first != philox.order(7, 4, 1000)).any()
    assert (first != philox.order(8, 3, 1000)).any()


def test_order_is_the_same_for_ever() -> None:
    # The promise behind every resumed run: if this changes, old runs no longer resume to the same
    # losses
    assert philox.order(0, 1, 10).tolist() == [8, 7, 1, 6, 0, 5, 3, 9, 4, 2]


def test_signs_are_fair_and_differ_between_axes_nets_and_tensors() -> None:
    draws = [
        philox.signs(1, *where, 10_000) for where in ((0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0))
    ]
    for i, a in enumerate(draws):
        assert abs(a.mean() - 0.5) < 0.02
        assert all(abs((a ^ b).mean() - 0.5) < 0.02 for b in draws[:i])
    np.testing.assert_array_equal(draws[0][:77], philox.signs(1, 0, 0, 0, 77))


def test_layer_seeds_are_distinct_and_fit_31_bits() -> None:
    seeds = {
        philox.layer_seed(seed, net, layer)
        for seed in (0, 1, 2**31 - 1)
        for net in (0, 1)
        for layer in range(6)
    }
    assert len(seeds) == 36
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_keys_of_all_seeds_and_purposes_differ() -> None:
    assert philox.philox_key(1, 0) > philox.philox_key(0, 255)
    assert philox.philox_key(2**31 - 1, 31) < 2**63
