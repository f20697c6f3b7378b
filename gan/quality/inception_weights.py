"""Where the weights of Keras's InceptionV3 are, and how they come here. Free of TensorFlow."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ganboard.gan.config import ConfigError
from ganboard.gan.data import download
from ganboard.gan.data.dataset import DatasetError

# as `keras.applications.InceptionV3(include_top=False)` downloads it
NAME = "inception_v3_weights_tf_dim_ordering_tf_kernels_notop.h5"
ORIGIN = "https://storage.googleapis.com/tensorflow/keras-applications/inception_v3/"
MD5 = "bcbd6486424b2319ff4ef7d526e38f63"
SIZE = "88 MB"


def places(data_dir: Path | None = None) -> tuple[Path, ...]:
    """Where the file is looked for: in the data directory, then in Keras's cache."""
    home = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")
    own = () if data_dir is None else (data_dir / NAME,)
    return (*own, home / "models" / NAME)


def find(data_dir: Path | None = None) -> Path | None:
    """The file, if it is there."""
    return next((path for path in places(data_dir) if path.is_file()), None)


def check(data_dir: Path | None = None) -> None:
    """Raises ConfigError when the weights are neither there nor can be downloaded (3 s at most)."""
    if find(data_dir) is None:
        target = places(data_dir)[0]
        if obstacle := download.obstacle(target.parent):
            raise ConfigError(_absent(target, obstacle))


def obtain(data_dir: Path | None = None) -> Path:
    """The verified file, downloaded to the first of `places` if it is not there. Raises
    ConfigError."""
    path = find(data_dir)
    if path is None:
        check(data_dir)
        path = places(data_dir)[0]
        try:
            download.fetch(NAME, path, MD5, ORIGIN)
        except DatasetError as error:
            raise ConfigError(str(error)) from error
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(
                file, lambda: hashlib.md5(usedforsecurity=False)
            ).hexdigest()
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}). Check its permissions, or set"
            " quality_features=encoder."
        ) from error
    if found != MD5:
        raise ConfigError(
            f"{path} is not the file that Keras publishes (its MD5 is {found}, not {MD5}). Delete"
            f" it, and copy {ORIGIN}{NAME} there."
        )
    return path


def _absent(target: Path, obstacle: str) -> str:
    return (
        f"quality_features=inception needs the weights of Keras's InceptionV3, which are not at"
        f" {target}, and {obstacle}. Copy {ORIGIN}{NAME} ({SIZE}) there, or set"
        " quality_features=encoder."
    )
