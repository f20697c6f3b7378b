"""A real SLURM over the hosts of a network: its controller on the first, nodes on the others."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.network import Host, environment
from tests.polling import wait_until

_PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "srun", "squeue", "scancel", "scontrol")
_CONFIG = """\
ClusterName=ganboard
SlurmctldHost={controller}({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdTimeout=20
MessageTimeout=10
KillWait=5
JobRequeue=1
MpiDefault=none
SchedulerParameters=bf_interval=5,sched_interval=5,requeue_delay=1
{nodes}
PartitionName=p Nodes={names} Default=YES MaxTime=INFINITE State=UP
PartitionName=down Nodes={names} State=DOWN
"""
_NODE = (
    "NodeName={name} NodeAddr={address} CPUs=2 Sockets=1 CoresPerSocket=2 ThreadsPerCore=1"
    " RealMemory=8000 State=UNKNOWN"
)


def missing() -> str | None:
    """Why there is no SLURM here; None if there is one."""
    absent = [name for name in _PROGRAMS if shutil.which(name) is None]
    return f"not installed: {', '.join(absent)} (Debian: slurm-wlm, munge)" if absent else None


@dataclass(frozen=True)
class Slurm:
    """A running cluster and the folder with its files."""

    folder: Path
    controller: Host
    nodes: Sequence[Host]

    @property
    def variables(self) -> dict[str, str]:
        """What its commands read."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def command(self, *words: str) -> str:
        """What one of its commands prints."""
        return self.controller.run(words, env=environment(self.variables))

    def start(self, node: Host) -> None:
        """Start the daemon of a node, also after the node was killed."""
        node.run(["slurmd", "-c", "-N", node.name], env=environment(self.variables))

    def states(self) -> dict[str, str]:
        """The states of the nodes, by name."""
        printed = self.command("sinfo", "--noheader", "--Node", "--partition=p", "--format=%N|%T")
        return dict(line.split("|") for line in printed.split())


@contextmanager
def slurm(hosts: Sequence[Host], folder: Path) -> Iterator[Slurm]:
    """A cluster with its controller on the first host, ready for jobs; its daemons end with the
    hosts."""
    controller, *nodes = hosts
    for name in ("state", "munge", *(f"spool.{node.name}" for node in nodes)):
        (folder / name).mkdir(mode=0o755, parents=True)
    key = folder / "munge" / "key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    text = _CONFIG.format(
        controller=controller.name,
        address=controller.address,
        folder=folder,
        nodes="\n".join(_NODE.format(name=node.name, address=node.address) for node in nodes),
        names=",".join(node.name for node in nodes),
    )
    (folder / "slurm.conf").write_text(text)
    munged = [
        "munged",
        "--force",
        "--foreground",
        f"--key-file={key}",
        f"--socket={folder}/munge/socket",
        f"--pid-file={folder}/munge/pid",
        f"--log-file={folder}/munge/log",
        f"--seed-file={folder}/munge/seed",
    ]
    made = Slurm(folder, controller, nodes)
    own = environment(made.variables)
    try:
        # all processes reach its socket, which is a file
        controller.popen(munged, stderr=subprocess.DEVNULL)
        socket = folder / "munge" / "socket"
        wait_until(lambda: os.path.exists(socket), seconds=20, what="munged")
        controller.popen(["slurmctld", "-i", "-c", "-D"], env=own, stderr=subprocess.DEVNULL)
        for node in nodes:
            made.start(node)
        wait_until(
            lambda: set(made.states().values()) == {"idle"}, seconds=60, what="the nodes of SLURM"
        )
        yield made
    finally:
        for host in hosts:
            host.kill()
