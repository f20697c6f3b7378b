"""What the tests do in place of a documented command, and which commands they only check. Of the
beginnings that fit a command the longest decides."""

from __future__ import annotations

from dataclasses import dataclass

from ganboard.db.models import ALERTS, CLAIMS, SEARCHES

# in the text of a block, before a shell reads it
PLACEHOLDERS = {
    "<this repository>": "REPOSITORY",
    " [RUN...]": "",
    "[--deep] [--fix] [--json]": "--deep --fix --json",
    "/new/home": "$PWD/new",
    "/home/me/": "$PWD/user/",
    "/etc/ganboard/": "$PWD/",
    "postgresql://ganboard@db/ganboard": "sqlite:///$PWD/shared.db",
    "GANBOARD_DATABASE_PASSWORD_FILE": "IGNORED",  # SQLite and sockets have none
    "GANBOARD_REDIS_": "IGNORED_",  # `up` brings a Redis of its own
    "--to sqlite:///mlflow.db": "--to sqlite:///$PWD/once.db",
    "http://mlflow:5000": "sqlite:///$PWD/mlflow.db",
    "--to http://127.0.0.1:5000": "--to sqlite:///$PWD/mlflow.db",
    "s3://bucket/ganboard": "file://$PWD/store",
    ". ./machine.sh": ": a file of a tutorial",
    "kill -9 -- -PID": ": ends a machine of a tutorial",
}
# in single words of a command, beside the ids that tests.documented.home adds
WORDS = {
    "FILE.zip": "backup.zip",
    "BACKUP": "backup.zip",
    "ganboard-2026-02-28.zip": "backup.zip",
    "DIRECTORY-OR-ZIP": "exported",
    "DIRECTORY": "new-folder",
    "DIR": "new-folder",
    "FOLDER": "new-folder",
    "LOGDIR": "events",
    "NAME": "digits:1",
    "A": "digits:1",
    "B": "digits:2",
    "N": "8",
    "MACHINE": "testbox",
}
WORDS_OF = {
    "ganboard data flow": {"street": "made", "streets": "made"},
    "ganboard alerts add-rule": {"lab": "hook"},
    "ganboard backup": {"FILE.zip": "new.zip"},
    "ganboard networks": {"DIR": "networks", "exported": "written", "20": "2"},
    "ganboard run": {"cats": "emoji", "faces": "emoji"},
    "ganboard tensorboard": {"LOGDIR": "new-folder"},
    "ganboard import tensorboard": {"logs": "events"},
    "ganboard import": {"DIR": "exported", "FILE": "exported", "firstday-colab-t4.zip": "exported"},
}


@dataclass(frozen=True)
class Changed:
    """Words that are left out and words that are added, and why."""

    why: str
    without: tuple[str, ...] = ()
    plus: tuple[str, ...] = ()


_ASKS = Changed("asks on a terminal", plus=("--yes",))
_HOURS = Changed("trains for minutes or hours; tests/unit/worker/cli follow", without=("--follow",))
_SMALL = ("--set", "epochs=1", "--set", "limit=128", "--set", "quality_images=200")
_SHORT = (*_SMALL[4:], "--set", "limit=16", "--set", "epochs=2", "--set", "schedule_period=1")
_RECIPES = ("paper+precision=mixed_bfloat16", "mnist", "mnist+ema=0")
_EASY = ("tiny", "--dataset", "digits", "--fid", "1e6", "--seeds", "1")
CHANGED = {
    "ganboard bench": Changed(
        "half an hour", plus=("--rounds", "1", "--steps", "1", "--only", "bare")
    ),
    "ganboard bench quality": Changed("an hour", without=_RECIPES, plus=_EASY),
    "ganboard claims remove": _ASKS,
    "ganboard data flow": Changed(
        "an hour", plus=("--grid", "96x48", "--diameter", "6", "--reynolds", "60", "--frames", "3")
    ),
    "ganboard data showers": Changed("a minute", plus=("--events", "20")),
    "ganboard delete": _ASKS,
    "ganboard fork": Changed("the run is short", plus=("--set", "epochs=4")),
    "ganboard firstday": Changed("a quarter of an hour", plus=("--quick",)),
    "ganboard mlflow-sync --to": Changed("is meant to run for ever", plus=("--once",)),
    "ganboard predict": Changed("needs longer flows", plus=("--steps", "5")),
    "ganboard run": _HOURS,
    "ganboard search remove": _ASKS,
    "ganboard selftest": Changed("minutes", plus=("--only", "recomputation")),
    "ganboard study": _HOURS,
    "ganboard train": Changed("minutes", plus=_SMALL),
    "ganboard train --set model=pix2pix": Changed("an hour", plus=_SHORT),
}


@dataclass(frozen=True)
class Server:
    """A program that runs until it is ended: the documented port, the words that it is started with
    besides (PORT is a free one), and what shows that it is ready: words in its log, a heartbeat of
    this kind, or else an answer on the port."""

    port: str = ""
    plus: tuple[str, ...] = ()
    ready: str = ""
    heartbeat: str = ""


_PORT = ("--port", "PORT")
SERVERS = {
    "ganboard alerts send": Server(heartbeat=ALERTS),
    "ganboard claims work": Server(heartbeat=CLAIMS),
    "ganboard search drive": Server(heartbeat=SEARCHES),
    "ganboard serve": Server("8600", _PORT, "Serving "),
    "ganboard up": Server("8501", (*_PORT, "--no-starter"), "Open http"),
    "python -m ganboard.app.web.serve": Server("8501", _PORT),
    "tensorboard": Server("6006", _PORT),
}
# executed by the thorough tests: they load TensorFlow or another large library, or take seconds
THOROUGH = (
    "chmod",
    "curl",
    "ganboard bench",
    "ganboard data convert",
    "ganboard data flow",
    "ganboard doctor",
    "ganboard evaluate",
    "ganboard firstday",
    "ganboard fork",
    "ganboard mlflow-sync --to",
    "ganboard models add",
    "ganboard models compare",
    "ganboard models publish",
    "ganboard models quantize",
    "ganboard networks",
    "ganboard predict",
    "ganboard report latest --html",
    "ganboard run --preset pictures",
    "ganboard run --set model=mygan",
    "ganboard selftest",
    "ganboard surface",
    "ganboard train",
    "python -",
    "python -c",
    "python train.py",
)
CODES = {"ganboard doctor": (0, 1)}  # 1: something must be fixed
# checked as far as any machine can, and not executed
UNEXECUTED = {
    "cp": "pictures of a tutorial",
    "grep": "reads what a command of a tutorial printed",
    "tail": "likewise",
    "createdb": "needs the server of a tutorial",
    "mkdir": "a folder of a tutorial",
    "docker": "needs a Docker daemon; services, profiles and what runs in them are checked",
    "ganboard check": "takes minutes; its claims: tests/unit/worker/selftest/test_model_claims.py",
    "ganboard evaluate --sweep": "needs a trained sweep; `ganboard evaluate latest` is executed",
    "ganboard predict RUN --times": "takes minutes; tests/integration/test_tiled_replicas.py",
    "ganboard run --preset mnist --set profile_steps=": (
        "trains for a minute; tests/unit/gan/training/test_profile.py"
    ),
    "ganboard rehearse": "needs compilers of 0.7 GB; tests/integration/test_rehearse.py has them",
    "ganboard run --preset paper --set placement=": "needs PostgreSQL and a cluster; tests/cluster",
    "curl http://127.0.0.1:5000/": "asks what `mlflow models serve` serves",
    "curl -X POST": "needs the token of a person; tests/unit/worker/api have some",
    "ganboard import mlflow": "needs a store with runs; tests/unit/worker/foreign have one",
    "ganboard mcp": "talks with an assistant; tests/integration/test_assistant.py has one",
    "ganboard run --preset pictures --set images_path=cats": (
        "needs a trained run of that model; tests/unit/worker/submission/test_starting.py has one"
    ),
    "ganboard schedule": "needs SLURM or Kubernetes; tests/cluster/test_slurm.py has one",
    "ganboard train --preset tiny --set strategy=tpu": "needs a TPU of eight cores",
    "ganboard train --preset vortex_street_256": "takes an hour, and flows of 256x256 cells",
    "ganboard worker": "needs Redis of several machines; tests/integration has workers",
    "git": "would fetch; .ci/run starts from a fresh clone",
    "uvx": "fetches packages; `.github/workflows/checks.yml` installs the wheel",
    "kubectl": "needs a cluster; tests/unit/test_kubernetes_folder.py checks what it applies",
    "make": "installs or takes long; `make --dry-run` is executed",
    "mlflow": "the dependency is mlflow-skinny, without this command; models are loaded by"
    " tests/unit/worker/registry/test_publish.py",
    "nft": "changes the firewall, as root",
    "pip": "would install; options, extras and files are checked",
    "pytest": "a test of its own; the files are checked",
    "python -m ganboard.worker.supervisor.web": "a part of `ganboard up`, which is executed",
    "python -m ganboard.worker.supervisor.secrets": (
        "is part of Compose; tests/unit/worker/supervisor/test_secrets.py"
    ),
    "python -m tests.": "measures for minutes or hours; the module is checked",
    "python docs/decisions/": "measures with compilers that are not here; the file is checked",
    "sbatch": "needs SLURM; tests/cluster/test_slurm.py has one",
    "ssh": "needs another machine",
    "uv": "would install; options and files are checked",
}
# names that blocks of Python take for granted, by page
NAMES = {
    "docs/sdk.md": "batches, step, latents = [0], 1, None; g_loss = d_loss = psnr = 1.0;"
    " generator = lambda z: __import__('numpy').zeros((4, 8, 8, 1), 'uint8')"
}
# blocks of Python that are compiled and not executed, by what they begin with
COMPILED = {'with ganboard.start("my model")': "tests/integration/test_script.py trains with it"}
THOROUGH_PYTHON = ("import keras", '"""LSGAN')  # they load TensorFlow
# blocks that are neither commands nor documents, by what they begin with
OTHER = {
    "%load_ext ganboard": "of a notebook: tests/integration/test_examples.py",
    "ganboard.example.org {": "of Caddy",
    "http://localhost:8501/": "an address: tests/ui/test_panels.py has such ones",
    "server {": "of nginx",
    "streets/manifest.json": "a list of files: tests/unit/gan/models/pix2pix/flow",
    "user default off": "of Redis: tests/integration/test_queue_rights.py",
    "GANBOARD_OIDC_URL=": "of Compose; the variables are checked",
    "GANBOARD_STORE=s3://bucket/ganboard\nAWS": "of Compose; the variables are checked",
}
