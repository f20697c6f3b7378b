"""A version of a model as one ZIP file, every byte checked."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

from ganboard.db.models import ModelVersion
from ganboard.gan.generation import package
from ganboard.gan.generation.package import VersionError
from ganboard.worker.artifacts import model_versions
from ganboard.worker.context import Context

README = """\
{called}, the generator of run {run} after epoch {epoch}, as ganboard registered it.

weights.npz      its variables by path ({variant})
manifest.json    settings, signature, lineage, quality, and the digests of the other files
examples.png     what it makes of a few inputs, where that is known

With ganboard installed, in this folder:

    from pathlib import Path

    from ganboard.gan.generation import generation, package

    generator = generation.Generator(*package.read(Path("."), "{digest}"))
    outputs = generator(generator.generation.probe())

Without ganboard: numpy.load reads every array of weights.npz; names are the paths of Keras
variables.
"""


def write(context: Context, version: ModelVersion, path: Path) -> None:
    """The files of a version with a text on how to load them, at `path`. Raises StoreError,
    VersionError."""
    directory = model_versions.folder(context, version)
    package.read(directory, version.digest)
    text = README.format(
        called=f"{version.name}:{version.version}",
        run=version.run_id,
        epoch=version.epoch,
        variant=version.variant,
        digest=version.digest,
    )
    try:
        with ZipFile(path, "w", ZIP_STORED) as archive:  # weights hardly shrink
            archive.writestr("README.txt", text)
            for name in (package.MANIFEST, package.WEIGHTS, package.PICTURE):
                if (directory / name).exists():
                    archive.write(directory / name, name)
    except OSError as error:
        raise VersionError(
            f"{path} cannot be written ({error.strerror}). Choose another path."
        ) from None
