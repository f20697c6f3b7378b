"""`ganboard models publish`: a registered version in MLflow's registry with aliases, signature and
environment, ready to be served."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

from ganboard.db import versions
from ganboard.db.models import ModelVersion
from ganboard.gan.generation import package
from ganboard.gan.settings import registry
from ganboard.worker.artifacts import model_versions
from ganboard.worker.context import Context
from ganboard.worker.registry import mlflow_sync

CODE = Path(__file__).with_name("mlflow_pyfunc.py")


def publish(context: Context, version: ModelVersion, uri: str) -> str:
    """Make `version` the next one of MLflow's model of that name, below the mirrored run where
    there is one; its number there.

    Raises StoreError, VersionError for damaged files, SettingsError and MlflowUnreachable.
    """
    folder = model_versions.folder(context, version)
    manifest, _ = package.read(folder, version.digest)
    client = mlflow_sync.client(uri)
    import mlflow
    from mlflow.exceptions import MlflowException

    try:
        mlflow.set_tracking_uri(uri)
        experiment = client.get_experiment_by_name(mlflow_sync.EXPERIMENT)
        where = (
            experiment.experiment_id
            if experiment
            else client.create_experiment(mlflow_sync.EXPERIMENT)
        )
        synced = client.search_runs(
            [where], f"tags.`{mlflow_sync.RUN_TAG}` = '{version.run_id}'", max_results=1
        )
        known = synced[0].info.run_id if synced else None
        with mlflow.start_run(
            run_id=known,
            experiment_id=None if known else where,
            run_name=f"{version.name}:{version.version}",
        ):
            model = mlflow.pyfunc.log_model(
                name=f"{version.name}-{version.version}",
                python_model=str(CODE),
                artifacts={"version": str(folder)},
                model_config={"digest": version.digest},
                signature=_signature(manifest),
                pip_requirements=_requirements(),
                registered_model_name=version.name,
                metadata={"ganboard": manifest.model_dump(mode="json", exclude={"config"})},
            )
        number = str(model.registered_model_version)
        details = {
            "version": f"{version.name}:{version.version}",
            "variant": version.variant,
            "run_id": version.run_id,
            "digest": version.digest,
        }
        for name, value in details.items():
            client.set_model_version_tag(version.name, number, f"ganboard.{name}", value)
        for alias in versions.aliases(context.engine).get(version.id, []):
            client.set_registered_model_alias(version.name, alias, number)
    except (MlflowException, OSError) as error:
        raise mlflow_sync.down(uri, error) from error
    return number


def _signature(manifest: package.Manifest) -> Any:
    import numpy as np
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema, TensorSpec

    ((name, output),) = manifest.signature["outputs"].items()
    shape = tuple(-1 if length is None else length for length in output["shape"])
    return ModelSignature(
        Schema([ColSpec("string", "request")]),
        Schema([TensorSpec(np.dtype(output["dtype"]), shape, name)]),
    )


def _requirements() -> list[str]:
    installed = {found.metadata["Name"].lower() for found in importlib.metadata.distributions()}
    needed = ("ganboard", "numpy", "keras", "tensorflow", "tensorflow-cpu")
    return [f"{name}=={importlib.metadata.version(name)}" for name in needed if name in installed]


def example(model: str) -> str | None:
    """A request as MLflow's server takes it; None where it would fill a page."""
    request = registry.get(model).spec.request
    if request is None:
        return None
    return json.dumps({"dataframe_records": [{"request": json.dumps(request)}]})
