"""First weights from the checkpoint of another run: transfer learning. Free of TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ganboard.gan.checkpoint import reader
from ganboard.gan.checkpoint.reader import Arrays, CheckpointError

_NETWORKS = ("generator/", "discriminator/", "average/")


class Transferred(NamedTuple):
    arrays: Arrays  # as many as a checkpoint holds
    step: int  # of the checkpoint
    taken: int  # tensors of the networks that are its
    new: list[str]  # and those that it has not, or in another shape


def transfer(directory: Path, untrained: Arrays) -> Transferred:
    """`untrained` arrays, those of the networks replaced by the ones that the newest checkpoint in
    `directory` holds under the same name and in the same shape; a moving average of G that it lacks
    begins as its G. Optimizers begin anew. Raises CheckpointError, also where nothing agrees."""
    step = next((step for step, _, _ in reader.complete(directory)), None)
    if step is None:
        raise CheckpointError(f"There is no checkpoint in {directory}.")
    stored = reader.part(directory, step, _NETWORKS)
    arrays, new = dict(untrained), []
    names = [name for name in untrained if name.startswith(_NETWORKS)]
    for name in names:
        found = stored.get(name, stored.get(name.replace("average/", "generator/", 1)))
        if found is not None and found.shape == untrained[name].shape:
            arrays[name] = found.astype(untrained[name].dtype)
        else:
            new.append(name)
    if len(new) == len(names):
        raise CheckpointError(
            f"No tensor of the checkpoint of step {step} in {directory} has the name and shape of"
            " one of these networks. Start from a run with the same model and similar settings."
        )
    return Transferred(arrays, step, len(names) - len(new), new)
