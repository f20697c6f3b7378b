"""Which runs share a figure."""

from __future__ import annotations

from ganboard.gan.settings.features import Source
from ganboard.worker.comparison import comparable
from ganboard.worker.comparison.comparable import Entry
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
