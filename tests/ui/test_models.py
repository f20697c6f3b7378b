"""The page of models. Nothing is computed here: versions are stored as `ganboard models` stores
them."""

from __future__ import annotations

import numpy as np
from streamlit.testing.v1 import AppTest

from ganboard.db import versions
from ganboard.db.models import ModelVersion
from ganboard.gan.generation import package
from ganboard.gan.generation.package import Manifest
from ganboard.worker.context import Context
from tests.factories import png
from tests.registered import DCGAN, config
from tests.ui.pages import button, checked, open_page, words
from tests.ui.pictures import captions


def stored(context: Context, parent: ModelVersion | None = None) -> ModelVersion:
    version = ModelVersion(
        name="digits", model="dcgan", variant="int8" if parent else "float32",
        parent_id=parent and parent.id, run_id="abcdefghjk", attempt=1, epoch=3, step=12, digest="",
        size=0, version=0, quality={"psnr": 62.5, "fid": 4.3, "fid_full": 4.2} if parent else {},
    )  # fmt: skip
    manifest = Manifest(
        **version.model_dump(
            include={
                "id", "name", "variant", "parent_id", "run_id", "attempt", "epoch", "step",
                "quality",
            }
        ),
        config=config(DCGAN).model_dump(mode="json"), signature={}, checkpoint="c" * 64, data=None,
        versions={"keras": "3.15"}, commit=None,
    )  # fmt: skip
    folder = context.settings.model_dir(version.id)
    version.digest, version.size = package.write(folder, manifest, {"kernel": np.zeros(3)}, png(1))
    return versions.add(context.engine, version)


def pictures(at: AppTest) -> list[str]:
    """Their captions, Markdown escapes removed."""
    return [caption.replace("\\", "").replace("\u2060", "") for caption in captions(at)]


def test_without_models_it_says_how_one_is_made(context: Context) -> None:
    assert "`ganboard models add latest --name digits`" in words(open_page("models"))


def test_versions_with_pictures_figures_and_lineage(context: Context) -> None:
    full = stored(context)
    quantized = stored(context, full)
    at = open_page("models")
    table = at.dataframe[0].value
    assert table["Version"].tolist() == [2, 1]
    assert table["Quality"].tolist() == ["PSNR 62.5 dB, FID (classifier) 4.30", ""]
    assert at.selectbox[0].value == quantized.id
    assert pictures(at) == ["digits:2 in int8", "digits:1 in float32"]
    assert at.dataframe[1].value.to_numpy().tolist() == [
        ["PSNR (dB)", "62.5", ""],
        ["FID (classifier)", "4.3", "4.2"],
    ]
    assert "c" * 64 in at.dataframe[2].value[""].tolist()
    shown = open_page("models", model=full.id)
    assert shown.selectbox[0].value == full.id
    assert pictures(shown) == ["digits:1 in float32"]
    assert "There is no version with this id" in words(open_page("models", model="gone"))


def test_an_alias_is_set_and_a_bad_one_refused(context: Context) -> None:
    version = stored(context)
    at = open_page("models")
    at.text_input[0].set_value("production")
    checked(button(at, "Set").click().run())
    assert versions.find(context.engine, "digits@production").id == version.id
    assert at.dataframe[0].value["Aliases"].tolist() == ["production"]
    at.text_input[0].set_value("Not a word")
    checked(button(at, "Set").click().run())
    assert "is not a valid alias" in words(at)


def test_a_damaged_version_is_said_so(context: Context) -> None:
    version = stored(context)
    (context.settings.model_dir(version.id) / "manifest.json").write_text("{}")
    assert "manifest.json is not the one that was registered" in words(open_page("models"))
