"""`ganboard serve` over HTTP with real generators: answers and refusals."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image

from ganboard.db import versions
from ganboard.gan.generation import generation
from ganboard.worker import access
from ganboard.worker.context import Context
from ganboard.worker.registry import versions as models
from ganboard.worker.serving import bodies
from ganboard.worker.serving.formats import NPZ, PNG
from tests.cli import refused
from tests.registered import GAN3D, PIX2PIX
from tests.unit.worker.serving.services import TOKEN, client, registered, service


@pytest.fixture
def digits(context: Context) -> Iterator[httpx.Client]:
    registered(context)
    with client(service(context)) as opened:
        yield opened


def arrays(content: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return dict(file)


def npz(**values: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **values)
    return buffer.getvalue()


def test_images_come_as_json_npz_or_png(context: Context, digits: httpx.Client) -> None:
    generator = models.load(context, versions.find(context.engine, "some"))
    wanted = generator(generation.read(generator.generation, {"seed": 3, "count": 4}))
    asked = {"seed": 3, "count": 4}
    said = digits.post("/generate", json=asked)
    assert (said.status_code, said.headers["x-model-version"]) == (200, "some:1")
    np.testing.assert_array_equal(np.array(said.json()["images"], np.float32), wanted)
    packed = digits.post("/generate", json=asked, headers={"Accept": NPZ, "X-Request-ID": "mine"})
    np.testing.assert_array_equal(arrays(packed.content)["images"], wanted)
    assert packed.headers["x-request-id"] == "mine"
    assert (
        digits.post(
            "/generate", content=npz(seed=3, count=4), headers={"Content-Type": NPZ, "Accept": NPZ}
        ).content
        == packed.content
    )
    picture = digits.post("/generate", json=asked, headers={"Accept": f"text/html, {PNG};q=0.9"})
    assert picture.headers["content-type"] == PNG
    assert Image.open(io.BytesIO(picture.content)).size == (56, 56)


def test_an_answer_does_not_depend_on_its_companions(digits: httpx.Client) -> None:
    asked = [{"seed": seed, "count": 1 + seed % 5} for seed in range(24)]

    def answer(document: dict[str, int]) -> bytes:
        return digits.post("/generate", json=document, headers={"Accept": NPZ}).content

    alone = [answer(document) for document in asked]
    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(answer, asked))
    assert together == alone  # to the bit
    metrics = digits.get("/metrics").text
    calls = float(
        next(
            line
            for line in metrics.splitlines()
            if line.startswith("ganboard_serve_batch_examples_count")
        ).split()[-1]
    )
    assert calls < 48  # some went together
    assert 'ganboard_serve_answers_total{model="some:1",outcome="ok"} 48.0' in metrics


def test_health_makes_an_example_and_version_describes_the_inputs(digits: httpx.Client) -> None:
    well = digits.get("/healthz")
    assert (well.status_code, well.json()["made"]) == (200, [1, 28, 28, 1])
    version = digits.get("/version").json()
    assert (version["main"]["model"], version["main"]["variant"], version["canary"]) == (
        "some:1",
        "float32",
        None,
    )
    assert version["main"]["signature"]["inputs"]["count"]["maximum"] == 64


@pytest.mark.parametrize(
    ("request_", "status", "words"),
    [
        ({"json": {"seed": -1}}, 400, "seed=-1 is invalid"),
        ({"json": {"seed": 1, "count": 65}}, 400, "count=65 is invalid"),
        ({"json": [1]}, 400, "not a JSON object"),
        ({"content": b"{", "headers": {"Content-Type": "application/json"}}, 400, "is not JSON"),
        (
            {"content": b'{"seed": NaN}', "headers": {"Content-Type": "application/json"}},
            400,
            "is not JSON",
        ),
        ({"content": b"PK", "headers": {"Content-Type": NPZ}}, 400, "is not an npz file"),
        ({"content": b"x", "headers": {"Content-Type": "text/plain"}}, 415, "Content-Type"),
        ({"json": {"seed": 1}, "headers": {"Accept": "text/html"}}, 406, "in the Accept header"),
        ({"json": {"seed": 1}, "headers": {"Host": "evil.example"}}, 400, "Invalid host header"),
    ],
    ids=str,
)
def test_what_cannot_be_answered_is_refused_in_a_sentence(
    digits: httpx.Client, request_: dict[str, Any], status: int, words: str
) -> None:
    said = digits.post("/generate", **request_)
    assert said.status_code == status
    assert words in said.text
    assert digits.get("/healthz").status_code == 200


def test_objects_and_too_many_bytes_are_refused(
    digits: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = npz(seed=np.array([print], dtype=object))
    assert digits.post("/generate", content=evil, headers={"Content-Type": NPZ}).status_code == 400
    monkeypatch.setattr(bodies, "MAX_BYTES", 5000)
    assert (
        digits.post("/generate", content=b"x" * 5001, headers={"Content-Type": NPZ}).status_code
        == 413
    )
    bomb = io.BytesIO()
    np.savez_compressed(bomb, seed=np.zeros(10_000))
    said = digits.post("/generate", content=bomb.getvalue(), headers={"Content-Type": NPZ})
    assert (said.status_code, len(bomb.getvalue()) < 5000) == (413, True)
    assert "Send fewer examples" in said.json()["error"]


def test_other_paths_and_methods_are_refused_as_json(digits: httpx.Client) -> None:
    assert digits.get("/generate").json() == {"error": "Method Not Allowed"}
    assert digits.get("/etc/passwd").json() == {"error": "Not Found"}


@pytest.mark.thorough
def test_showers_and_frames_are_served(context: Context) -> None:
    registered(context, GAN3D, "showers")
    registered(context, PIX2PIX, "street")
    with client(service(context, "showers")) as showers:
        found = arrays(
            showers.post(
                "/generate", json={"energies": [50, 200], "seed": 1}, headers={"Accept": NPZ}
            ).content
        )["showers"]
        assert found.shape == (2, 25, 25, 25)
        assert (
            showers.post("/generate", json={"energies": [50]}, headers={"Accept": PNG}).status_code
            == 200
        )
    with client(service(context, "street")) as street:
        frames = np.zeros((2, 64, 64, 4), np.float32)
        made = arrays(
            street.post(
                "/generate",
                content=npz(frames=frames),
                headers={"Content-Type": NPZ, "Accept": NPZ},
            ).content
        )["frames"]
        assert made.shape == (2, 64, 64, 3)
        assert (
            "do not fit"
            in street.post(
                "/generate", content=npz(frames=frames[..., :3]), headers={"Content-Type": NPZ}
            ).json()["error"]
        )


def test_a_token_is_asked_for_everywhere(context: Context) -> None:
    registered(context)
    with client(service(context, token=TOKEN)) as shut:
        for path in ("/healthz", "/version", "/metrics"):
            assert shut.get(path).status_code == 401
        for shown in ("", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"):
            assert (
                shut.post(
                    "/generate", json={"seed": 1}, headers={"Authorization": shown}
                ).status_code
                == 401
            )
        assert (
            shut.post(
                "/generate", json={"seed": 1}, headers={"Authorization": f"Bearer {TOKEN}"}
            ).status_code
            == 200
        )


def test_what_is_not_there_or_not_allowed_is_said_before_anything_is_served(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "There is no model nothing: `ganboard models` lists them." in refused(
        "serve", "nothing", "--port", "0"
    )
    assert (
        "Models cannot be served on 0.0.0.0 without a token. Set GANBOARD_SERVE_TOKEN"
    ) in refused("serve", "some", "--host", "0.0.0.0")
    registered(context)
    registered(context, GAN3D, "showers")
    assert "There is no model some:9: `ganboard models` lists them." in refused(
        "serve", "some:9", "--port", "0"
    )
    assert "The canary must be a version of the same model" in refused(
        "serve", "some", "--canary", "showers", "--port", "0"
    )
    monkeypatch.setenv("GANBOARD_SERVE_TOKEN", TOKEN)
    assert "Cannot listen on no.such.host.invalid:8600" in refused(
        "serve", "some", "--host", "no.such.host.invalid"
    )
    monkeypatch.setenv("GANBOARD_SERVE_TOKEN", "short")
    assert "GANBOARD_SERVE_TOKEN is too short" in refused("serve", "some")


def test_a_token_opens_public_addresses(context: Context) -> None:
    access.check_serving(context.settings.model_copy(update={"serve_token": TOKEN}), "0.0.0.0")
    access.check_serving(context.settings, "::1")
