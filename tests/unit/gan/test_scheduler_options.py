"""gan.scheduler_options: what reaches a scheduler, and what never does."""

from __future__ import annotations

import pytest

from ganboard.gan.config import parse
from ganboard.gan.scheduler_options import BadOption, kubernetes_options, slurm_options


def test_options_that_place_a_job_pass() -> None:
    text = "--partition=gpu --gres=gpu:a100:2 --time=4:00:00 --exclusive '--comment=a b'"
    assert slurm_options(text) == [
        "--partition=gpu", "--gres=gpu:a100:2", "--time=4:00:00", "--exclusive", "--comment=a b",
    ]  # fmt: skip
    assert kubernetes_options("--gpus=1 --namespace=lab") == {"gpus": "1", "namespace": "lab"}
    assert slurm_options("") == []


@pytest.mark.parametrize(
    "text",
    [
        "--wrap=id", "--output=/etc/passwd", "--export=ALL", "-p gpu", "gpu", "--chdir=/",
        "--partition", "--uid=0", "--get-user-env", "--bb=x", "--prefer=x", "'--comment=a\nb'",
        "--comment='", "--",
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(BadOption):
        slurm_options(text)
    with pytest.raises(BadOption):
        kubernetes_options(text)


def test_fewer_machines_keep_the_batch_and_the_processes_of_each() -> None:
    config = parse({"strategy": "multi_worker", "replicas": 6, "hosts": 3, "batch_size": 48})
    two = config.on_hosts(2)
    assert two is not None
    assert (two.hosts, two.replicas, two.batch_size, two.processes) == (2, 4, 48, 2)
    assert parse({**config.model_dump(), "batch_size": 54}).on_hosts(2) is None
    single = parse({"strategy": "multi_worker", "replicas": 2, "hosts": 2, "batch_size": 64})
    alone = single.on_hosts(1)
    assert alone is not None
    assert (alone.effective_strategy, alone.replicas) == ("default", 1)
