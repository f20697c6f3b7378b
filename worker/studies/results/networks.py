"""Table 1: the layers of both networks, as printed and as built."""

from __future__ import annotations

from functools import partial

import pandas as pd

from ganboard.worker.studies.results.study_data import (
    NOT_HERE,
    REPRODUCED,
    UNTESTED,
    StudyData,
    StudyResult,
)

# section 4, Table 1: layer and output; what is misprinted there is listed in DOUBTS
GENERATOR = (
    "Dense 12544", "BatchNormalization 12544", "LeakyReLU 12544", "Reshape 7x7x256",
    "Conv2DTranspose 7x7x128", "BatchNormalization 7x7x128", "LeakyReLU 7x7x128",
    "Conv2DTranspose 14x14x64", "BatchNormalization 14x14x64", "LeakyReLU 14x14x64",
    "Conv2DTranspose 28x28x1",
)  # fmt: skip
DISCRIMINATOR = (
    "Conv2D 14x14x64", "LeakyReLU 14x14x64", "Dropout 14x14x64", "Conv2D 7x7x128",
    "LeakyReLU 7x7x128", "Dropout 7x7x128", "Flatten 6272", "Dense 1",
)  # fmt: skip
DOUBTS = (
    "The table lists the generator's 7x7x128 convolution twice; the second is interpreted as the"
    " batch norm of the tutorial on which it is based. It lists 6272 outputs for the"
    " discriminator's last layer, which is the width of its input; the text has a single output."
)


def table1(data: StudyData) -> StudyResult:
    claim = f"Eleven layers make the generator, eight the discriminator. {DOUBTS}"
    how = (
        "Type and output shape of every layer as built by Keras in the latest run; activation"
        " functions are listed in the last column."
    )
    result = partial(StudyResult, "table1", "Table 1: the networks, layer by layer", claim, how=how)
    built = next(
        (
            run
            for run in reversed(data.runs)
            if {"generator_layers", "discriminator_layers"} <= run.facts.keys()
        ),
        None,
    )
    if built is None:
        return result(UNTESTED, data.lacking("Needs a finished run that reports its layers."))
    rows = []
    for net, printed in (("generator", GENERATOR), ("discriminator", DISCRIMINATOR)):
        layers = [
            layer for layer in built.facts[f"{net}_layers"] if not layer.startswith("Activation")
        ]
        length = max(len(printed), len(layers))
        rows += [
            (
                net,
                number + 1,
                dict(enumerate(printed)).get(number, "–"),
                dict(enumerate(layers)).get(number, "–"),
            )
            for number in range(length)
        ]
    table = pd.DataFrame(rows, columns=["network", "layer", "printed", "built"])
    same = bool((table["printed"] == table["built"]).all())
    differing = int((table["printed"] != table["built"]).sum())
    finding = (
        "All layers match the table." if same else f"{differing} of {len(table)} layers differ."
    )
    finding += (
        f" G has {built.g_parameters:,} parameters, D {built.d_parameters:,}."
        if built.g_parameters and built.d_parameters
        else ""
    )
    return result(REPRODUCED if same else NOT_HERE, finding, table=table)
