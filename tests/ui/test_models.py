"""The page of models. Nothing is computed here: versions are stored as `ganboard models` stores
them."""

from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from ganboard.db import requests, versions
from ganboard.db.models import INFERENCE, Run
from ganboard.worker.context import Context
from tests.factories import make_worker
from tests.ui.pages import button, checked, open_page, words
from tests.ui.pictures import captions
from tests.versions import add_version

MakeRun = Callable[..., Run]


def pictures(at: AppTest) -> list[str]:
    """Their captions, Markdown escapes removed."""
    return [caption.replace("\\", "").replace("\u2060", "") for caption in captions(at)]


def test_without_models_it_leads_to_runs(context: Context, make_run: MakeRun) -> None:
    at = open_page("models")
    assert "`ganboard models add latest --name digits`" in words(at)
    assert [link.proto.label for link in at.get("page_link")] == ["Launch a run"]
    run, _ = make_run("done"), make_run("training", status="running")
    [link] = open_page("models").get("page_link")
    assert link.proto.label == "done"
    assert f"run={run.id}&view=Model" in link.proto.query_string


def test_versions_with_pictures_quality_and_lineage(context: Context) -> None:
    full = add_version(context)
    quantized = add_version(context, full)
    versions.alias(context.engine, full, "production")
    at = open_page("models", model=quantized.id)
    table = at.dataframe[0].value
    assert table["Model"].tolist() == ["digits:2", "digits:1"]
    assert table["Quality"].tolist() == ["2.4 % worse than digits:1", "not evaluated"]
    assert table["Run"].tolist()[0] == "abcdefghjk (deleted), epoch 3"
    assert table["Makes"].tolist()[0] == f"/api/models/{quantized.id}.png?height=80"
    assert "for the same inputs: 2.4 % worse, PSNR 62.5 dB, FID (classifier) 4.30" in words(at)
    assert pictures(at) == ["digits:2 in int8", "digits:1 in float32"]
    assert at.dataframe[1].value.to_numpy().tolist() == [
        ["Degradation (%)", "2.4", ""],
        ["PSNR (dB)", "62.5", ""],
        ["FID (classifier)", "4.3", "4.2"],
    ]
    assert "c" * 64 in at.dataframe[2].value[""].tolist()
    # without an address the one with an alias
    assert pictures(open_page("models")) == ["digits:1 in float32"]
    assert "There is no version with this id" in words(open_page("models", model="gone"))


def test_what_cannot_be_done_says_why(context: Context) -> None:
    add_version(context, add_version(context))
    at = open_page("models")
    off = {one.label: one.help for one in at.button if one.disabled}
    assert off["Run"] == "Its run was deleted."
    assert "Its run was deleted" in off["Playground"]
    assert "This version is stored as int8 already." in words(at)


def test_a_version_is_quantized_on_request(context: Context, make_run: MakeRun) -> None:
    make_worker(context, "inference", kind=INFERENCE)
    version = add_version(context, run_id=make_run().id)
    at = open_page("models")
    at.radio[0].set_value("float16")
    at = checked(button(at, "Quantize").click().run())
    request = requests.claim(context.engine, requests.MODELS)
    assert request is not None
    asked = {"version": version.id, "to": "float16", "limit": 5.0}
    assert (request.kind, request.options) == (requests.QUANTIZATION, asked)
    requests.heartbeat(context.engine, request, "comparing both versions", 0.3)
    progress = str(checked(at.run()).get("progress")[-1].proto)
    assert "digits:1 as float16: comparing both versions" in progress
    requests.answer(context.engine, request, error="digits:1 as float16 is 9.0 % worse.")
    assert "digits:1 as float16 is 9.0 % worse." in words(checked(at.run()))


def test_an_alias_is_set_and_a_bad_one_refused(context: Context) -> None:
    version = add_version(context)
    at = open_page("models")
    at.text_input[0].set_value("production")
    at = checked(button(at, "Set alias").click().run())
    assert versions.find(context.engine, "digits@production").id == version.id
    assert at.dataframe[0].value["Aliases"].tolist() == [["production"]]
    at.text_input[0].set_value("Not a word")
    at = checked(button(at, "Set alias").click().run())
    assert "is not a valid alias" in words(at)


def test_a_version_is_deleted(context: Context) -> None:
    version = add_version(context)
    versions.alias(context.engine, version, "production")
    at = open_page("models")
    assert "Its aliases go with it: production." in words(at)
    at = checked(button(at, "Delete digits:1").click().run())
    assert versions.listed(context.engine) == []
    assert not context.settings.model_dir(version.id).exists()
    assert "No model is registered yet" in words(at)


def test_a_damaged_version_is_said_so(context: Context) -> None:
    version = add_version(context)
    (context.settings.model_dir(version.id) / "manifest.json").write_text("{}")
    assert "manifest.json is not the one that was registered" in words(open_page("models"))
