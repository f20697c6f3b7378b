from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf

from ganboard.gan.config import ConfigError, RunConfig, parse
from ganboard.gan.distributed import tpu
from tests import fake_tpu

CORES = 8


def config(replicas: int = CORES) -> RunConfig:
    return parse({"strategy": "tpu", "replicas": replicas, "batch_size": 8 * replicas})


class Machine:
    """Stands for TensorFlow's connection to a TPU, and keeps the names of what was called, in
    order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.called: list[str] = []
        self.broken: dict[str, Exception] = {}
        monkeypatch.delenv("TPU_NAME", raising=False)
        monkeypatch.setattr(
            tf.distribute.cluster_resolver,
            "TPUClusterResolver",
            self._step("resolve", self._resolver),
        )
        monkeypatch.setattr(tf.config, "experimental_connect_to_cluster", self._step("connect"))
        monkeypatch.setattr(tf.tpu.experimental, "initialize_tpu_system", self._step("initialize"))
        monkeypatch.setattr(
            tf.distribute, "TPUStrategy", self._step("strategy", tf.distribute.TPUStrategy)
        )

    def _resolver(self, tpu: str) -> Any:
        self.name = tpu
        return fake_tpu.Resolver(CORES, tpu)

    def _step(self, name: str, does: Any = lambda resolver: None) -> Any:
        def step(*args: Any, **kwargs: Any) -> Any:
            self.called.append(name)
            if name in self.broken:
                raise self.broken[name]
            return does(*args, **kwargs)

        return step


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


@pytest.fixture
def listening() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_tpu_is_resolved_connected_initialised_and_only_then_used(machine: Machine) -> None:
    made = tpu.strategy(config())
    assert machine.called == ["resolve", "connect", "initialize", "strategy"]
    assert machine.name == "local"
    assert made.num_replicas_in_sync == CORES
    assert made.cluster_resolver.cores == CORES


def test_a_tpu_elsewhere_is_named_by_the_environment(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, listening: str
) -> None:
    monkeypatch.setenv("TPU_NAME", f"grpc://{listening}")
    tpu.strategy(config())
    assert machine.name == f"grpc://{listening}"
    assert machine.called == ["resolve", "connect", "initialize", "strategy"]


def test_an_empty_name_is_no_name(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_NAME", "")
    tpu.strategy(config())
    assert machine.name == "local"


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ("resolve", ValueError("Please provide a TPU Name to connect to.")),
        ("resolve", RuntimeError("googleapiclient and oauth2client must be installed")),
        ("resolve", OSError("<urlopen error [Errno -2] Name or service not known>")),
        (
            "connect",
            tf.errors.UnavailableError(
                None, None, "failed to connect to all addresses\nand more lines"
            ),
        ),
        ("initialize", tf.errors.NotFoundError(None, None, "TPUs not found in the cluster.")),
        ("initialize", tf.errors.InternalError(None, None, "")),
    ],
)
def test_whatever_fails_on_the_way_becomes_one_sentence(
    machine: Machine, step: str, error: Exception
) -> None:
    machine.broken[step] = error
    with pytest.raises(ConfigError) as caught:
        tpu.strategy(config())
    sentence = str(caught.value)
    assert machine.called[-1] == step
    assert caught.value.__cause__ is error
    assert all(
        word in sentence
        for word in ("strategy=tpu", "on this machine", "extra tpu", "strategy=mirrored")
    )
    assert (str(error).splitlines() or ["InternalError"])[0].rstrip(".") in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize("replicas", [1, 4, 16])
def test_replicas_must_be_the_cores(machine: Machine, replicas: int) -> None:
    with pytest.raises(
        ConfigError,
        match=rf"replicas={replicas} does not match this TPU.* Set replicas=8 and batch_size",
    ):
        tpu.strategy(config(replicas))


def test_an_address_where_nobody_answers_is_said_at_once(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    monkeypatch.setenv("TPU_NAME", f"grpc://{address}")
    with pytest.raises(
        ConfigError,
        match=f"TPU_NAME=grpc://{address} .*{address} does not answer: Connection refused",
    ):
        tpu.strategy(config())
    assert machine.called == ["resolve"]


@pytest.mark.skipif(bool(tf.config.list_physical_devices("TPU")), reason="this machine has a TPU")
def test_without_a_tpu_tensorflows_own_answer_becomes_the_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TPU_NAME", raising=False)
    with pytest.raises(ConfigError, match="found no usable TPU on this machine"):
        tpu.strategy(config())
