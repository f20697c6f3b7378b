"""What goes over the wire: requests as JSON or npz, answers as JSON, npz or PNG."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from starlette.exceptions import HTTPException

from ganboard.gan.generation import latent_requests
from ganboard.gan.generation.latent_requests import InvalidRequest
from ganboard.worker.serving import bodies
from ganboard.worker.serving.batches import Floats

if TYPE_CHECKING:
    from ganboard.gan.generation.generation import Generation

JSON, NPZ, PNG = "application/json", "application/x-npz", "image/png"


def wanted(accept: str) -> str:
    """The first form of answers that the client takes; JSON where it does not care. Raises
    HTTPException."""
    for part in accept.split(",") if accept else ["*/*"]:
        form = part.partition(";")[0].strip().lower()
        if form in (JSON, NPZ, PNG):
            return form
        if form in ("*/*", "application/*"):
            return JSON
    raise HTTPException(
        406, f"Responses are {JSON}, {NPZ} or {PNG}. Specify one in the Accept header."
    )


def document(content_type: str, content: bytes | bytearray) -> Mapping[str, Any]:
    """The request as names and values. Raises InvalidRequest, HTTPException."""
    form = content_type.partition(";")[0].strip().lower()
    if form == NPZ:
        return _arrays(content)
    if form != JSON:
        raise HTTPException(
            415, f"Requests are {JSON} or {NPZ}. Specify one in the Content-Type header."
        )
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(
            f"The request is not JSON ({str(error)[:100]}). Send an object as described by GET"
            " /version."
        ) from None
    if not isinstance(found, dict):
        raise InvalidRequest(
            "The request is not a JSON object. Send one as described by GET /version."
        )
    return found


def _arrays(content: bytes | bytearray) -> dict[str, Any]:
    try:
        buffer = io.BytesIO(content)
        with zipfile.ZipFile(buffer) as archive:
            if (size := sum(member.file_size for member in archive.infolist())) > bodies.MAX_BYTES:
                raise HTTPException(
                    413,
                    f"The arrays have {size:,} bytes; the limit is {bodies.MAX_BYTES:,}. Send"
                    " fewer examples per request.",
                )
        with np.load(buffer, allow_pickle=False) as file:
            return {
                name: array.item() if array.ndim == 0 else array
                for name in file.files
                if (array := file[name]) is not None
            }
    except HTTPException:
        raise
    except Exception as error:  # zipfile and numpy raise far more kinds than they document
        raise InvalidRequest(
            f"The request is not an npz file ({type(error).__name__}). Create it with numpy.savez."
        ) from None


def encoded(asked: Generation, name: str, made: Floats, form: str) -> bytes:
    """What G has made, for a client that takes `form`."""
    from ganboard.gan.modeling import samples

    if form == PNG:
        return samples.png(
            asked.pictures(made), latent_requests.Draw(seed=0, images=len(made)).columns
        )
    outputs = asked.outputs(made)
    if form == JSON:
        return orjson.dumps(
            {"model": name, asked.output: np.ascontiguousarray(outputs)},
            option=orjson.OPT_SERIALIZE_NUMPY,
        )
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{asked.output: outputs})
    return buffer.getvalue()
