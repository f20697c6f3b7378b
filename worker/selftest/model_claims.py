"""What `ganboard check` claims of a model of one file: that whatever is in it keeps the promises
that the built-in models keep.

Differences count as a share of the largest move of a network in one step of SGD, as for models
that declare how they are compared (`worker.selftest.claims`): a wrong factor would be half of it or
more.
"""

from __future__ import annotations

from collections.abc import Iterator

from ganboard.gan.settings import registry
from ganboard.gan.settings.pictures import PictureConfig
from ganboard.worker.selftest.claims import Claim, Settings, Training, claims_of, compared, small
from ganboard.worker.selftest.claims import claims as all_claims

_BOUND = 0.02
_HALF = 0.5
_FINITE = 1e6
_ROUNDED = "share of the largest move; rounding to 8 bits"


def claims(model: str, *, gpu: bool) -> tuple[Claim, ...]:
    """The claims of a model, float16 with a `gpu` alone. Raises ConfigError for one that is unknown
    or cannot be used."""
    found = registry.get(model)
    if not issubclass(found.config, PictureConfig):
        of_selftest = tuple(claim for claim in all_claims() if claim.one.config.model == model)
        return of_selftest or claims_of(model)
    base = small(model, dataset="digits", batch_size=8, limit=8)
    base |= {"g_learning_rate": 1e-3, "d_learning_rate": 1e-3}
    if found.config.model_fields["conditional"].default:
        base |= {"conditional": True, "classes": 10}
    return (*compared(model, base, _BOUND), *_precisions(model, base, gpu))


def _precisions(model: str, base: Settings, gpu: bool) -> Iterator[Claim]:
    once = {**base, "optimizer": "sgd", "beta_1": 0.0}
    start = Training(once, "untrained")
    compiled = Training({**once, "xla": True})
    yield Claim(
        f"{model}: XLA = no XLA",
        Training(once),
        compiled,
        _BOUND,
        "share of the largest move",
        start,
    )
    half = Training({**once, "precision": "mixed_bfloat16"})
    yield Claim(f"{model}: mixed_bfloat16 = float32", Training(once), half, _HALF, _ROUNDED, start)
    if not gpu:
        return
    scaled = Training({**once, "precision": "mixed_float16"})
    yield Claim(
        f"{model}: mixed_float16 stays finite", Training(once), scaled, _FINITE, "any number"
    )
