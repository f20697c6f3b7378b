"""ganboard: launch, watch and compare accelerated GAN training.

The public door for programs; everything else may move. Names are imported when they are used, so
that `import ganboard` costs nothing and loads no TensorFlow.

    import ganboard

    config = ganboard.parse({"dataset": "digits", "epochs": 2})
    ganboard.train(config, run_dir=Path("run"), data_dir=Path("data"), attempt=1,
                   sink=print, control=lambda: "go")

A training of one's own is shown beside the others (docs/sdk.md):

    with ganboard.start("my GAN", {"batch_size": 64}) as run:
        run.log(step, g_loss=..., d_loss=...)
        run.images(epoch, array)

What is stored can be read (docs/notebooks.md):

    ganboard.runs("batch_size>=128")
    ganboard.run("latest").losses.plot()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ganboard.gan.config import ConfigError, RunConfig, parse
    from ganboard.gan.settings.declarations import setting
    from ganboard.gan.settings.pictures import PictureConfig
    from ganboard.gan.settings.specification import Benchmark, ModelSpec
    from ganboard.gan.training.keras_callback import KerasCallback
    from ganboard.gan.training.loop import train
    from ganboard.worker.external.script import Script
    from ganboard.worker.external.start import start
    from ganboard.worker.external.values import StartError
    from ganboard.worker.notebook.stored import Course, StoredRun, run, runs

__all__ = [
    "Benchmark",
    "ConfigError",
    "Course",
    "KerasCallback",
    "ModelSpec",
    "PictureConfig",
    "RunConfig",
    "Script",
    "StartError",
    "StoredRun",
    "parse",
    "run",
    "runs",
    "setting",
    "start",
    "train",
]

_MODULES = {
    "Benchmark": "ganboard.gan.settings.specification",
    "ConfigError": "ganboard.gan.config",
    "Course": "ganboard.worker.notebook.stored",
    "ModelSpec": "ganboard.gan.settings.specification",
    "PictureConfig": "ganboard.gan.settings.pictures",
    "RunConfig": "ganboard.gan.config",
    "parse": "ganboard.gan.config",
    "setting": "ganboard.gan.settings.declarations",
    "train": "ganboard.gan.training.loop",
    "KerasCallback": "ganboard.gan.training.keras_callback",
    "Script": "ganboard.worker.external.script",
    "StartError": "ganboard.worker.external.values",
    "StoredRun": "ganboard.worker.notebook.stored",
    "run": "ganboard.worker.notebook.stored",
    "runs": "ganboard.worker.notebook.stored",
    "start": "ganboard.worker.external.start",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'ganboard' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext ganboard`: gives `%ganboard`, which shows the dashboard below a cell."""
    from ganboard.worker.notebook import magic

    magic.register(shell)
