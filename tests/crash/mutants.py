"""Does the suite notice? `python -m tests.crash.mutants [NAME]` takes one safety out at a time and
runs the tests that should fail for it.

Every mutant is a copy of the tree in a temporary folder with one piece of text replaced. Prints a
line per mutant: killed (by the first test that failed) or survived, which is a defect of the tests
(exit 1).
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mutant:
    """`old` in `file` becomes `new`; `tests` must fail."""

    name: str
    file: str
    old: str
    new: str
    tests: str


MUTANTS = [
    Mutant(
        "two messages at once to a channel",
        "db/alerts/deliveries.py",
        "if session.exec(busy.limit(1)).first() is not None:",
        "if False:",
        "tests/unit/db/alerts/test_deliveries.py",
    ),
    Mutant(
        "a sender that was late ends the claim of another",
        "db/alerts/deliveries.py",
        "col(AlertDelivery.claimed_until) == claimed.until,",
        "",
        "tests/unit/db/alerts/test_deliveries.py",
    ),
    Mutant(
        "a restored copy sends alerts",
        "db/transfer.py",
        "channels_off = _switch_alerts_off(session)",
        "channels_off = 0",
        "tests/unit/db/test_transfer.py",
    ),
    Mutant(
        "alerts follow redirects",
        "worker/alerts/sending.py",
        "follow_redirects=False",
        "follow_redirects=True",
        "tests/unit/worker/alerts/test_sending.py",
    ),
    Mutant(
        "alerts go anywhere without encryption",
        "worker/alerts/addresses.py",
        'if parts.scheme == "http" and not may_be_plain(settings, host):',
        "if False:",
        "tests/unit/worker/alerts/test_addresses.py",
    ),
    Mutant(
        "a mail password for another server",
        "worker/alerts/configuration.py",
        "elif kept is None and _place(options) != _place(channel.options):",
        "elif False:",
        "tests/unit/worker/alerts/test_configuration.py",
    ),
    Mutant(
        "an old event is news",
        "worker/alerts/detection.py",
        "ended_at and ended_at >= rule.since",
        "ended_at",
        "tests/unit/worker/alerts/test_detection.py",
    ),
    Mutant(
        "a bundle of a first day without digests",
        "worker/firstday/importing.py",
        "if hashlib.sha256(data).hexdigest() != digest:",
        "if False:",
        "tests/unit/worker/firstday/test_importing.py",
    ),
    Mutant(
        "no fence",
        "db/fence.py",
        "col(Run.attempt) == attempt, ",
        "",
        "tests/unit/worker/training/test_db_sink.py tests/unit/db/test_fence.py",
    ),
    Mutant(
        "a claim for everybody",
        "db/runs/commands.py",
        "col(Run.id) == run_id, free, col",
        "col(Run.id) == run_id, col",
        "tests/unit/db/runs/test_lease.py",
    ),
    Mutant(
        "a worker takes a script's run over",
        "db/runs/commands.py",
        "and_(col(Run.external).is_(False), or_(",
        "and_(or_(",
        "tests/unit/db/runs/test_external.py",
    ),
    Mutant(
        "anybody reports",
        "app/web/reports.py",
        "if not hmac.compare_digest(given.strip().encode(), token.encode()):",
        "if False:",
        "tests/unit/app/web/test_reports.py",
    ),
    Mutant(
        "reports are gone while nobody takes them",
        "worker/external/delivery.py",
        "            self._found_away(str(error))\n",
        "            self._waiting.clear()\n",
        "tests/unit/worker/external/test_script.py",
    ),
    Mutant(
        "the worker's clock decides",
        "db/runs/expiry.py",
        "in_(ACTIVE), col(Run.lease_until) < now())\n",
        "in_(ACTIVE), col(Run.lease_until) < __import__('ganboard.db.models').db.models.utc_now())"
        "\n",
        "tests/unit/db/runs/test_lease.py",
    ),
    Mutant(
        "a run starts without its checkpoint",
        "worker/placement/claiming.py",
        "newest is not None and not may_start(context.settings, newest)",
        "newest is None and run.attempt < 0",
        "tests/unit/worker/placement/test_placement.py",
    ),
    Mutant(
        "another machine's checkpoints are taken off the list",
        "db/runs/checkpoint_reports.py",
        "or_(col(Checkpoint.machine).is_(None), col(Checkpoint.machine) == machine)",
        "or_(col(Checkpoint.step) > 0, col(Checkpoint.machine) == machine)",
        "tests/unit/db/runs/test_checkpoint_reports.py",
    ),
    Mutant(
        "a copied HOME keeps its name",
        "worker/process/machine.py",
        'if said["inode"] == own_inode else None',
        "",
        "tests/unit/worker/process/test_machine.py",
    ),
    Mutant(
        "no fsync of files",
        "gan/files.py",
        "    os.fsync(file.fileno())\n",
        "",
        "tests/crash/storage/test_power_loss.py -k kernel",
    ),
    Mutant(
        "no fsync of folders",
        "gan/files.py",
        "        os.fsync(descriptor)\n",
        "        pass\n",
        "tests/crash/storage/test_power_loss.py -k kernel",
    ),
    Mutant(
        "named before it is written",
        "gan/checkpoint/store.py",
        'made = final.with_suffix(".tmp")',
        "made = final",
        "tests/unit/gan/checkpoint/test_store.py tests/crash/storage/test_power_loss.py"
        " -k 'kernel or checkpoint'",
    ),
    Mutant(
        "no digest at load",
        "gan/checkpoint/reader.py",
        '!= (promised["size"], promised["sha256"])',
        "== (0, 0)",
        "tests/crash/storage/test_mutations.py tests/unit/gan/checkpoint/test_store.py",
    ),
    Mutant(
        "what is not finite is saved",
        "gan/checkpoint/store.py",
        "if bad := next(not_finite(arrays), None):\n        raise NotFiniteError",
        "if bad := None:\n        raise NotFiniteError",
        "tests/unit/gan/checkpoint/test_store.py",
    ),
    Mutant(
        "no barrier before a checkpoint",
        "worker/training/db_sink.py",
        '        if event == Phase("saving"):\n            self.flush()\n',
        "",
        "tests/unit/worker/training/test_db_sink.py",
    ),
    Mutant(
        "old ones deleted before newer ones are listed",
        "gan/checkpoint/saver.py",
        "        return store.save(",
        "        store.prune(self.directory, self.config.keep_checkpoints - 1)\n"
        "        return store.save(",
        "tests/unit/gan/checkpoint/test_saver.py",
    ),
    Mutant(
        "noise is drawn again",
        "gan/rng/tf_philox.py",
        "tf.cast(draw, tf.uint64)]",
        "tf.zeros([], tf.uint64)]",
        "tests/unit/gan/rng/test_tf_philox.py",
    ),
    Mutant(
        "the hash's noise is drawn again",
        "gan/rng/tf_hash.py",
        "tf.cast(draw, tf.uint32),",
        "_word(0),",
        "tests/unit/gan/rng/test_tf_hash.py",
    ),
    Mutant(
        "children survive their parents",
        "worker/process/parent_death.py",
        ".prctl(_PR_SET_PDEATHSIG,",
        ".prctl(-1,",
        "tests/unit/worker/process/test_parent_death.py",
    ),
    Mutant(
        "a run is lost with the queue",
        "worker/submission/submit.py",
        "with suppress(QueueUnreachable):",
        "with suppress(ZeroDivisionError):",
        "tests/unit/worker/submission/test_submit.py",
    ),
    Mutant(
        "any job is run",
        "worker/queue/message.py",
        "            job.func_name == JOB\n            and job.instance",
        "            job.instance",
        "tests/unit/worker/queue/test_enqueue.py",
    ),
    Mutant(
        "SQLite need not flush",
        "db/engine.py",
        "synchronous=FULL",
        "synchronous=OFF",
        "tests/unit/db/test_engine.py",
    ),
    Mutant(
        "migrations without a lock",
        "db/migrate.py",
        'sqlite_lock="EXCLUSIVE"',
        'sqlite_lock=""',
        "tests/unit/db/test_migrate.py",
    ),
    Mutant(
        "a frozen trainer is kept",
        "worker/process/frozen.py",
        "{psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP}",
        "set()",
        "tests/unit/worker/process/test_frozen.py",
    ),
    Mutant(
        "nobody renews while a trainer starts",
        "worker/training/start.py",
        "                    commands.renew(\n                        self._engine,\n"
        "                        run_id=claim.run_id,\n"
        "                        attempt=claim.attempt,\n"
        "                        lease_seconds=STARTING.lease,\n"
        "                    )\n",
        "",
        "tests/integration/test_slow_start.py -k renewed_while",
    ),
    Mutant(
        "losing Redis ends the worker",
        "worker/queue/rq_worker.py",
        "            except (RedisError, ValueError) as error:",
        "            except ZeroDivisionError as error:",
        "tests/crash/services/test_unavailable.py -k redis",
    ),
    Mutant(
        "a damaged log stops Redis",
        "worker/process/service.py",
        "if self.mend and not self.announced:",
        "if False:",
        "tests/unit/worker/supervisor/test_supervisor.py",
    ),
    Mutant(
        "a dashboard that hangs is left alone",
        "worker/process/service.py",
        "            if hangs:",
        "            if False:",
        "tests/unit/worker/supervisor/test_supervisor.py -k container_ends_when",
    ),
    Mutant(
        "pages of every origin use the dashboard",
        "app/web/origin.py",
        'return None if page == parsed(f"{page[0]}://{host}") else ORIGIN',
        "return None",
        "tests/integration/test_serve.py -k other_origins",
    ),
    Mutant(
        "bodies without a common limit",
        "worker/serving/bodies.py",
        "if self.held + len(chunk) > HELD_BYTES:",
        "if False:",
        "tests/unit/worker/serving/test_limits.py -k all_bodies",
    ),
]


def copy(folder: Path) -> None:
    """The tree as it is, without what git ignores."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        # the links in ganboard/, too: else the tests would import the packages of this tree
        if (ROOT / name).is_symlink() or (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)


def killed_by(mutant: Mutant) -> str | None:
    """The first test that fails for the mutant, None when it survives."""
    with tempfile.TemporaryDirectory(prefix="ganboard-mutant-") as name:
        folder = Path(name)
        copy(folder)
        path = folder / mutant.file
        text = path.read_text()
        assert text.count(mutant.old) == 1, (
            f"{mutant.name}: {mutant.file} holds {mutant.old!r} {text.count(mutant.old)} times"
        )
        path.write_text(text.replace(mutant.old, mutant.new))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            *shlex.split(mutant.tests),
        ]
        environment = {
            **os.environ,
            "PYTHONPATH": name,
            "PYTHONDONTWRITEBYTECODE": "1",
            "GANBOARD_TESTS": "all",
        }
        run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stdout[-2000:] + run.stderr[-2000:]
    return next(
        (
            line.split()[1]
            for line in run.stdout.splitlines()
            if line.startswith(("FAILED", "ERROR"))
        ),
        None,
    )


def main(only: str = "") -> int:
    survivors = 0
    for mutant in [mutant for mutant in MUTANTS if only in mutant.name]:
        began = time.monotonic()
        test = killed_by(mutant)
        survivors += test is None
        print(
            f"| {mutant.name} | {f'killed by {test}' if test else 'SURVIVED'} |"
            f" {time.monotonic() - began:.0f} s |",
            flush=True,
        )
    return bool(survivors)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
