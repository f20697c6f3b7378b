"""How good a version of a model is, in words: its main metric, how it was measured, and how many
other versions that were measured alike are worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ganboard.db.models import ModelVersion
from ganboard.db.runs import queries
from ganboard.gan.generation import package
from ganboard.gan.generation.package import VersionError
from ganboard.gan.quality.declared import OF_MODEL, QUALIFIED, headline
from ganboard.gan.settings.features import LABELS, Source
from ganboard.gan.settings.metric import Metric
from ganboard.worker.artifacts import model_versions
from ganboard.worker.artifacts.store import StoreError
from ganboard.worker.context import Context
from ganboard.worker.formatting import plural, share
from ganboard.worker.registry import lineage

FEWEST = 3  # other versions: a rank among fewer says nothing
ENOUGH = 10  # of them for a percentage
# of quantized versions, beside the headlines of the models
COMPARED_FORMATS = {"percent_worse": "{:.1f} % worse", "psnr": "PSNR {:.1f} dB"}
EVALUATE = "Evaluate its run, which takes the checkpoint of this epoch if that is stored."


def in_a_line(metrics: Mapping[str, float]) -> str:
    """The main metrics of a version."""
    formats = dict(COMPARED_FORMATS)
    headlines = {headline(model).name for model in OF_MODEL}
    for name, metric in QUALIFIED.items():
        if metric.name in headlines:
            formats |= dict.fromkeys((name, metric.compared_as), metric.summary)
    return ", ".join(
        form.format(metrics[name]).replace("-0.0 %", "0.0 %")
        for name, form in formats.items()
        if name in metrics
    )


@dataclass(frozen=True)
class Standing:
    """What is said of one version: for a cell of a table, and in sentences."""

    short: str
    sentences: str


@dataclass(frozen=True)
class _Measured:
    """The main metric of a version, and what must be equal to compare it with another one's."""

    metric: Metric
    value: float
    alike: tuple[Any, ...]
    basis: str  # how it was measured


def standings(context: Context, found: Sequence[ModelVersion]) -> dict[str, Standing]:
    """The standing of each of `found` among them, by id."""
    measured = {one.id: _measured(context, one) for one in found if one.parent_id is None}
    called = {one.id: f"{one.name}:{one.version}" for one in found}
    return {
        one.id: _quantized(one, called)
        if one.parent_id is not None
        else _trained(one, measured[one.id], [other for other in measured.values() if other])
        for one in found
    }


def _trained(
    version: ModelVersion, own: _Measured | None, measured: Sequence[_Measured]
) -> Standing:
    if own is None:
        return Standing("not evaluated", f"Not evaluated after epoch {version.epoch}. {EVALUATE}")
    text = own.metric.summary.format(own.value)
    others = [one.value for one in measured if one.alike == own.alike and one is not own]
    if len(others) < FEWEST:
        few = f"Only {plural(len(others), 'other version')}" if others else "No other version"
        were = "was" if len(others) < 2 else "were"
        too_few = f"{few} {were} measured alike: too few for a rank."
        return Standing(text, f"{own.basis} {too_few}")
    worse = sum(value > own.value for value in others)
    if worse == len(others):
        better = f"the best of {len(others) + 1}"
    elif len(others) < ENOUGH:
        better = f"better than {worse} of {len(others)} others"
    else:
        better = f"better than {share(worse / len(others))} of {len(others)} others"
    return Standing(
        f"{text}, {better}",
        f"{own.basis} It is better than {worse} of the {len(others)} other versions that were"
        " measured alike.",
    )


def _quantized(version: ModelVersion, called: Mapping[str, str]) -> Standing:
    parent = called.get(version.parent_id or "", "the full version")
    worse = version.quality.get("percent_worse")
    if worse is None:
        return Standing(in_a_line(version.quality), f"Made of {parent}; not compared with it.")
    if abs(worse) < 0.05:
        text = f"as good as {parent}"
    else:
        text = f"{abs(worse):.1f} % {'worse' if worse > 0 else 'better'} than {parent}"
    how = f"by the model's metric, for the same inputs: {in_a_line(version.quality)}."
    measured = "Measured when it was quantized."
    return Standing(text, f"{text[0].upper()}{text[1:]} {how} {measured}")


def _measured(context: Context, version: ModelVersion) -> _Measured | None:
    """From the version itself; from its run where that was evaluated later; None without both."""
    if version.model not in OF_MODEL:
        return None
    main = headline(version.model)
    for names in (version.quality, _later(context, version) if not version.quality else {}):
        for source in map(Source, LABELS):
            if (name := main.qualified(source)) in names:
                return _comparable(context, version, name, float(names[name]))
    return None


def _comparable(
    context: Context, version: ModelVersion, name: str, value: float
) -> _Measured | None:
    try:
        manifest = _manifest(model_versions.preview(context, version), version.digest)
    except (StoreError, VersionError):  # what is shown of such a version says so
        return None
    amount, data = manifest.config.get("quality_images"), manifest.config.get("dataset", "its data")
    basis = f"{QUALIFIED[name].label} after epoch {version.epoch} on {data}"
    if QUALIFIED[name].by_features and amount:
        basis += f", from up to {amount:,} generated and as many real images"
    # a version of unknown data is compared with none
    known = (manifest.data, amount) if manifest.data else (version.id,)
    return _Measured(QUALIFIED[name], value, (name, *known), f"{basis}.")


def _later(context: Context, version: ModelVersion) -> dict[str, float]:
    run = queries.get_run(context.engine, version.run_id)
    if run is None:
        return {}
    return lineage.quality(context, run, version.epoch)


@lru_cache(maxsize=512)
def _manifest(directory: Path, digest: str) -> package.Manifest:
    """What a version says of itself, which never changes."""
    return package.read_manifest(directory, digest)
