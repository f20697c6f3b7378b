"""A registered version in MLflow's registry: loaded there by version and by alias it makes the same
images to the bit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ganboard.db import versions
from ganboard.gan.generation import generation, package
from ganboard.gan.generation.package import VersionError
from ganboard.worker.context import Context
from ganboard.worker.registry import mlflow_sync
from ganboard.worker.registry import versions as models
from ganboard.worker.registry.publish import example, publish
from tests.cli import ganboard
from tests.registered import DCGAN, config, finished

pytestmark = [
    pytest.mark.slow,
    # of MLflow's own tables
    pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning"),
    # MLflow advises hints, which it would take for a signature
    pytest.mark.filterwarnings("ignore::UserWarning:mlflow.*"),
]


@pytest.fixture
def uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return f"sqlite:///{tmp_path}/mlflow.db"


@pytest.mark.thorough
def test_a_published_version_generates_what_ganboard_does(context: Context, uri: str) -> None:
    run, _ = finished(context, config(DCGAN))
    version = models.add(context, run, "digits")
    versions.alias(context.engine, version, "production")
    mlflow_sync.MlflowSync(context, uri).round()
    assert publish(context, version, uri) == "1"
    assert (
        "is version 2 of digits in MLflow"
        in ganboard("models", "publish", "digits:1", "--to", uri).stdout
    )
    import mlflow

    registered = mlflow_sync.client(uri).get_model_version("digits", "1")
    assert registered.tags["ganboard.run_id"] == run.id
    assert (
        mlflow_sync.client(uri).get_run(registered.run_id).data.tags[mlflow_sync.RUN_TAG] == run.id
    )
    request = {"seed": 5, "count": 3}
    full = generation.Generator(
        *package.read(context.settings.model_dir(version.id), version.digest)
    )
    wanted = full(generation.read(full.generation, request))
    for place in ("models:/digits/1", "models:/digits@production"):
        loaded = mlflow.pyfunc.load_model(place)
        assert loaded.metadata.signature.outputs.to_dict()[0]["tensor-spec"]["shape"] == (
            -1,
            28,
            28,
            1,
        )
        made = loaded.predict(
            pd.DataFrame({"request": [json.dumps(request), json.dumps({"seed": 5, "first": 1})]})
        )
        np.testing.assert_array_equal(made, np.concatenate([wanted, wanted[1:2]]))
    document = json.loads(example("dcgan") or "")
    assert json.loads(document["dataframe_records"][0]["request"]) == {"seed": 0, "count": 4}


def test_a_damaged_version_is_not_published(context: Context, uri: str) -> None:
    run, _ = finished(context, config(DCGAN))
    version = models.add(context, run, "digits")
    weights = context.settings.model_dir(version.id) / "weights.npz"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(VersionError, match=r"weights\.npz is damaged"):
        publish(context, version, uri)
    with pytest.raises(mlflow_sync.MlflowUnreachable, match="does not accept data"):
        publish(context, models.add(context, run, "digits"), "http://127.0.0.1:9")
