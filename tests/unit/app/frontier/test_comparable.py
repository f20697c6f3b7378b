"""Which runs share a figure, and what sets them apart."""

from __future__ import annotations

from ganboard.app.frontier import comparable
from ganboard.app.frontier.comparable import Entry
from ganboard.gan.settings.features import Source
from tests.unit.app.frontier.entries import entry

ONE, TWO = Source("encoder", "1" * 16), Source("encoder", "2" * 16)


def groups(*entries: Entry) -> dict[str, str]:
    found = comparable.by_evaluation(entries)
    return {name: "".join(one.run.id for one in own) for name, own in found.items()}


def test_features_and_amounts_are_kept_apart() -> None:
    assert groups(
        entry("a"), entry("b"), entry("c", source=ONE), entry("d", quality_images=5000)
    ) == {
        "classifier features, 2,000 samples": "ab",
        "encoder features, 2,000 samples": "c",
        "classifier features, 5,000 samples": "d",
    }


def test_features_made_of_other_data_are_other_features() -> None:
    unknown = Source("encoder")
    assert groups(entry("a", source=ONE), entry("b", source=unknown)) == {
        "encoder features, 2,000 samples": "ab"
    }
    assert groups(entry("a", source=ONE), entry("b", source=unknown), entry("c", source=TWO)) == {
        "encoder features 11111111, 2,000 samples": "ab",
        "encoder features 22222222, 2,000 samples": "bc",
    }


def test_a_data_set_is_its_path_and_revision() -> None:
    assert entry("a").data == "digits"
    assert entry("a", images_path="cats.zip").data == "cats.zip"
    assert entry("a", dataset="showers", revision=1).data == "showers (revision 1)"
    assert entry("a", dataset="showers", revision=2).data == "showers"


def test_metrics_have_a_better_end_and_the_headline_is_first() -> None:
    names = list(comparable.metrics([entry("a"), entry("b", model="gan3d"), entry("c")]))
    assert names[0] == "fid"
    assert "density" not in names
    assert "objective" in names


def test_few_varying_settings_are_all_named() -> None:
    runs = [entry("a"), entry("b", xla=True, seed=5), entry("c", seed=6, checkpoint_every=7)]
    assert comparable.varying(runs) == ["xla"]
    assert comparable.words(runs) == {"a": "xla off", "b": "xla on", "c": "xla off"}
    assert comparable.words(runs[::2]) == dict.fromkeys("ac", "the most common settings")


def test_of_many_varying_settings_the_unusual_ones_are_named() -> None:
    usual = [entry(f"u{n}") for n in range(3)]
    odd = entry(
        "o",
        xla=True,
        precision="mixed_bfloat16",
        batch_size=8,
        g_learning_rate=0.5,
        d_learning_rate=0.25,
        d_steps=3,
        latent_dim=7,
    )
    found = comparable.words([*usual, odd])
    assert found["u0"] == "the most common settings"
    assert "batch_size 8" in found["o"]
    assert found["o"].endswith("and 1 more")
