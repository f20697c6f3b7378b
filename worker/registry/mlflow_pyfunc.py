"""A registered generator as MLflow loads and serves it: a model from code, so nothing is unpickled.
MLflow runs this file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel, PythonModelContext


class Generates(PythonModel):  # type: ignore[misc]  # MLflow has no types here
    """Each row's `request` is a JSON document as `POST /generate` of `ganboard serve` takes it; all
    answers, one after the other."""

    def load_context(self, context: PythonModelContext) -> None:
        os.environ.setdefault("KERAS_BACKEND", "tensorflow")
        from ganboard.gan.generation import generation, package

        found = package.read(Path(context.artifacts["version"]), context.model_config["digest"])
        self._generator = generation.Generator(*found)

    # hints would be taken for a signature
    def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def]
        from ganboard.gan.generation import generation
        from ganboard.gan.generation.latent_requests import InvalidRequest

        made = []
        for text in model_input["request"]:
            try:
                document = json.loads(text)
            except json.JSONDecodeError:
                raise InvalidRequest(
                    f"request={text[:80]} is not JSON. Send an object such as the example in the"
                    " signature."
                ) from None
            inputs = generation.read(self._generator.generation, document)
            made.append(self._generator.generation.outputs(self._generator(inputs)))
        return np.concatenate(made)


set_model(Generates())
