"""`ganboard serve` over HTTP with real generators: answers, refusals, canary."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import numpy as np
import pytest
import uvicorn
from PIL import Image

from ganboard.db import versions
from ganboard.db.models import ModelVersion
from ganboard.gan.generation import generation
from ganboard.worker import access
from ganboard.worker.context import Context
from ganboard.worker.registry import versions as models
from ganboard.worker.serving import batches, bodies
from ganboard.worker.serving.application import Served, Service
from ganboard.worker.serving.formats import NPZ, PNG
from ganboard.worker.serving.measures import Measures
from ganboard.worker.serving.server import configured
from ganboard.worker.serving.split import LEAST, Split
from tests.cli import refused
from tests.polling import wait_until
from tests.registered import DCGAN, GAN3D, PIX2PIX, config, finished

TOKEN = "t" * 32


def registered(
    context: Context, settings: dict[str, Any] = DCGAN, name: str = "some", **changes: Any
) -> ModelVersion:
    run, _ = finished(context, config(settings, **changes))
    return models.add(context, run, name)


def service(
    context: Context,
    which: str = "some",
    canary: str | None = None,
    share: float = 0.5,
    token: str = "",
) -> Service:
    measures = Measures()
    served = [
        Served(one := versions.find(context.engine, text), models.load(context, one), measures)
        for text in (which, canary)
        if text
    ]
    return Service(
        served[0], served[1] if canary else None, Split(share if canary else 0), measures, token
    )


@contextmanager
def client(made: Service) -> Iterator[httpx.Client]:
    """A client of a real server on a free port."""
    server = uvicorn.Server(configured(made))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            wait_until(lambda: server.started, seconds=10, what="the server")
            with httpx.Client(
                base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=60
            ) as opened:
                yield opened
        finally:
            server.should_exit = True
            thread.join()


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


def test_a_share_of_the_requests_meets_the_canary(context: Context) -> None:
    registered(context)
    registered(context, seed=1)
    with client(service(context, "some:1", "some:2", share=0.5)) as split:
        answered = [
            split.post("/generate", json={"seed": n}, headers={"X-Request-ID": str(n)}).headers[
                "x-model-version"
            ]
            for n in range(30)
        ]
        assert 5 <= answered.count("some:2") <= 25
        again = split.post("/generate", json={"seed": 0}, headers={"X-Request-ID": "0"})
        assert again.headers["x-model-version"] == answered[0]
        assert split.get("/version").json()["canary"] == split.get("/version").json()["canary"] | {
            "share": 0.5,
            "rolled_back": None,
        }


def test_a_canary_with_values_that_are_not_finite_is_rolled_back_and_nobody_notices(
    context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    registered(context)
    registered(context, seed=1)
    made = service(context, "some:1", "some:2", share=1.0)
    assert made.canary is not None
    made.canary.generator._network.variables[0].assign(
        made.canary.generator._network.variables[0] * np.nan
    )
    with client(made) as split:
        for seed in range(3):
            said = split.post("/generate", json={"seed": seed})
            assert (said.status_code, said.headers["x-model-version"]) == (200, "some:1")
        metrics = split.get("/metrics").text
        assert split.get("/version").json()["canary"]["rolled_back"] == "its outputs are not finite"
    assert 'ganboard_serve_answers_total{model="some:2",outcome="not finite"} 1.0' in metrics
    assert "ganboard_serve_rollbacks_total 1.0" in metrics
    assert "ganboard_serve_canary_share 0.0" in metrics
    assert (
        "The canary some:2 is rolled back and receives no more requests: its outputs are not"
        " finite." in caplog.messages
    )


def test_a_canary_that_fails_is_rolled_back_and_a_main_version_that_fails_says_so(
    context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    registered(context)
    registered(context, seed=1)
    made = service(context, "some:1", "some:2", share=1.0)
    assert made.canary is not None
    made.canary.batches._compute = made.main.batches._compute.__class__  # is no function of inputs
    with client(made) as split:
        answers = [split.post("/generate", json={"seed": 1}) for _ in range(LEAST + 5)]
        assert {said.headers["x-model-version"] for said in answers} == {"some:1"}
        assert ("100% of its requests failed") in split.get("/version").json()["canary"][
            "rolled_back"
        ]
        made.main.batches._compute = made.canary.batches._compute  # type: ignore[attr-defined]
        assert split.post("/generate", json={"seed": 1}).json() == {
            "error": "some:1 did not respond: see its log for details."
        }
        assert split.get("/healthz").status_code == 500


def test_requests_that_a_busy_canary_refuses_are_the_main_versions(context: Context) -> None:
    registered(context)
    registered(context, seed=1)
    made = service(context, "some:1", "some:2", share=1.0)
    assert made.canary is not None
    made.canary.batches.waiting = batches.MAX_WAITING
    with client(made) as split:
        said = split.post("/generate", json={"seed": 1})
        assert (said.status_code, said.headers["x-model-version"]) == (200, "some:1")
        made.main.batches.waiting = batches.MAX_WAITING
        said = split.post("/generate", json={"seed": 1})
        assert (said.status_code, said.headers["retry-after"]) == (503, "1")
        assert "Try again later" in said.json()["error"]


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
