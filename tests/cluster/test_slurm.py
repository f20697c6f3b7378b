"""A real SLURM on hosts of a network, and a run that it starts on two nodes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ganboard.db.models import ENDED, Run
from ganboard.db.placement import jobs
from ganboard.db.runs import commands
from ganboard.gan.presets import load
from ganboard.worker.context import Context, open_context
from ganboard.worker.placement import waiting
from ganboard.worker.submission.submit import submit
from tests.cluster import marks
from tests.cluster.network import Host, environment, network
from tests.cluster.services import services
from tests.cluster.slurm import Slurm, missing, slurm
from tests.crash.conftest import FULL, SMALL, hexes
from tests.crash.services.machines import stored, texts
from tests.polling import wait_until

pytestmark = marks.hosts(missing(), marks.NO_POSTGRES)

only_full = pytest.mark.skipif(not FULL, reason="of the harness: make cluster-test")
TOGETHER = {
    **SMALL,
    "strategy": "multi_worker",
    "replicas": 2,
    "hosts": 2,
    "placement": "slurm",
    "scheduler_options": "--cpus-per-task=1",
}


@dataclass(frozen=True)
class Cluster:
    context: Context
    slurm: Slurm

    def submit(self, epochs: int, name: str, **changes: object) -> Run:
        return submit(
            self.context, load("tiny", {**TOGETHER, "epochs": epochs, **changes}), name=name
        )

    def stored(self, run: Run) -> Run:
        return stored(self.context, run)

    def job(self, run: Run) -> str:
        found = jobs.of_run(self.context.engine, run.id)
        return found.job_id if found else ""

    def ended(self, run: Run) -> Run:
        wait_until(lambda: self.stored(run).status in ENDED, seconds=500, what="the end")
        return self.stored(run)

    def queue(self) -> str:
        return self.slurm.command("squeue", "--noheader", "--format=%i %T")


@contextmanager
def driver(host: Host, variables: dict[str, str], log: Path) -> Iterator[None]:
    with log.open("ab") as file:
        process = host.popen(
            [sys.executable, "-m", "ganboard.worker.schedulers.driver", "slurm"],
            stdout=file,
            stderr=file,
            env=environment(variables),
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture
def cluster(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A controller and two nodes that share HOME, and a driver beside the controller."""
    with (
        network(3) as hosts,
        services(hosts) as both,
        slurm(hosts.hosts, tmp_path / "slurm") as made,
    ):
        for name, value in both.local.items():
            monkeypatch.setenv(name, value)
        context = open_context()
        variables = {
            **both.variables,
            "GANBOARD_HOME": str(home),
            "GANBOARD_DATA_DIR": str(context.settings.data),
            **made.variables,
        }
        with driver(made.controller, variables, tmp_path / "driver.log"):
            yield Cluster(context, made)
        context.engine.dispose()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Slurm]:
    """A controller and two nodes, without ganboard."""
    with network(3) as hosts, slurm(hosts.hosts, tmp_path / "slurm") as made:
        yield made


def batch(made: Slurm, script: str, *options: str) -> tuple[str, Path]:
    """The number of a job and the file with what it prints."""
    output = made.folder / "job.log"
    words = ("--parsable", f"--output={output}", "--open-mode=append", f"--chdir={made.folder}")
    return made.command("sbatch", *words, *options, f"--wrap={script}").strip(), output


def lines(output: Path) -> list[str]:
    return output.read_text().split() if output.exists() else []


def ends_as(made: Slurm, job: str, state: str) -> None:
    shown = ["scontrol", "show", "job", "--oneliner", job]
    wait_until(lambda: f"JobState={state}" in made.command(*shown), seconds=60, what=state)


@only_full
def test_a_job_runs_on_two_nodes_and_commands_run_anywhere(alone: Slurm) -> None:
    job, output = batch(alone, "srun hostname", "--nodes=2", "--ntasks-per-node=1")
    wait_until(lambda: sorted(lines(output)) == ["host2", "host3"], seconds=60, what="both names")
    never, _ = batch(alone, "true", "--partition=down")
    squeue = ["squeue", "--noheader", "--format=%i|%T|%r", f"--job={never}"]
    expected = f"{never}|PENDING|PartitionDown"
    wait_until(lambda: alone.command(*squeue).strip() == expected, seconds=60, what=expected)
    own = environment(alone.variables)
    assert alone.nodes[1].run(squeue, env=own).strip() == expected
    alone.nodes[1].run(["scancel", never], env=own)
    for number, state in ((job, "COMPLETED"), (never, "CANCELLED")):
        ends_as(alone, number, state)


@only_full
def test_the_job_of_a_killed_node_is_requeued(alone: Slurm) -> None:
    script = "hostname; sleep 1000"
    job, output = batch(alone, script, "--requeue", "--nodelist=host3")
    wait_until(lambda: lines(output) == ["host3"], seconds=60, what="the job")
    lost = alone.nodes[1]
    lost.kill()
    shown = ["scontrol", "show", "job", "--oneliner", job]
    wait_until(lambda: "Restarts=1" in alone.command(*shown), seconds=90, what="a requeue")
    lost.mend()
    alone.start(lost)
    wait_until(lambda: lines(output) == ["host3"] * 2, seconds=200, what="the second start")


def test_a_lost_node_costs_no_step(cluster: Cluster) -> None:
    run = cluster.submit(40, "disturbed")
    wait_until(lambda: cluster.stored(run).epoch >= 2, seconds=300, what="epoch 2")
    assert cluster.job(run) in cluster.queue()
    lost = cluster.slurm.nodes[1]
    lost.kill()
    wait_until(lambda: cluster.stored(run).status not in ("starting", "running"), seconds=90)
    before = cluster.stored(run)
    lost.mend()
    cluster.slurm.start(lost)
    disturbed = cluster.ended(run)
    assert disturbed.status == "finished", texts(cluster.context, run)
    assert disturbed.attempt > before.attempt
    undisturbed = cluster.ended(cluster.submit(40, "undisturbed"))
    assert undisturbed.status == "finished", texts(cluster.context, undisturbed)
    assert hexes(cluster.context, disturbed) == hexes(cluster.context, undisturbed)


def test_cancelling_works_both_ways_and_waiting_says_why(cluster: Cluster) -> None:
    never = cluster.submit(1, "never", scheduler_options="--partition=down --cpus-per-task=1")
    wait_until(lambda: cluster.job(never), seconds=60, what="a job")

    def why() -> str:
        return waiting.reasons(cluster.context, [cluster.stored(never)])[never.id].reason

    wait_until(lambda: "PartitionDown" in why(), seconds=60, what=why())
    assert why().startswith(f"SLURM job {cluster.job(never)} is pending: PartitionDown")
    commands.request_stop(cluster.context.engine, run_id=never.id)
    wait_until(lambda: cluster.job(never) not in cluster.queue(), seconds=60, what="scancel")

    run = cluster.submit(2000, "long")
    wait_until(lambda: cluster.stored(run).epoch >= 1, seconds=300, what="epoch 1")
    cluster.slurm.command("scancel", cluster.job(run))
    stopped = cluster.ended(run)
    assert stopped.status == "stopped", texts(cluster.context, run)
    assert any("was cancelled" in text for text in texts(cluster.context, run))

    refused = cluster.submit(1, "refused", scheduler_options="--partition=none")
    failed = cluster.ended(refused)
    assert failed.status == "failed"
    assert failed.error is not None
    assert failed.error.startswith("SLURM refused the job: ")
    assert "invalid partition" in failed.error
