"""Published results about systems like this one: their claims on their hardware, to be shown next
to measurements, never among them.

Each entry names its document as in the project's list of sources; numbers are as printed there
unless `note` says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

SPEEDUP, EPOCH, TRAINING, REDUCTION = "times as fast", "seconds per epoch", "seconds", "% less time"


@dataclass(frozen=True)
class Document:
    """A source."""

    short: str
    title: str
    where: str
    system: str


@dataclass(frozen=True)
class Reference:
    """One published number: `value` in `unit`, of `devices` accelerators of one kind, over
    `baseline` if it is relative."""

    document: str  # key of DOCUMENTS
    device: str
    devices: int
    batch: int | None  # images over all devices
    value: float
    unit: str
    baseline: str = ""
    note: str = ""


DOCUMENTS = {
    "dcgan-tpu": Document(
        "DCGAN on TPU",
        "Mixed-precision distributed DCGAN on MNIST",
        "CSSE 46(1) 563-578 (2023), doi 10.32604/csse.2023.034710",
        "Colab; TPU with 8 cores, TensorFlow 2.2",
    ),
    "3dgan": Document(
        "3DGAN",
        "3DGAN for calorimeter showers on MirroredStrategy and TPUStrategy",
        "CERN talk of 22 October 2020; numbers from its authors' repository and EPJ Web Conf. 251,"
        " 02073 (2021)",
        "V100 GPUs with batch 96 each, TPU cores with batch 128 each; 124,987 showers per epoch",
    ),
    "multi-gpu": Document(
        "Multi-GPU GAN",
        "Synchronous data-parallel GAN on several GPUs of one machine",
        "abstract of the IEEE Access paper of 2023",
        "Genesis Cloud; model, data and batch are not said",
    ),
    "pix2pix": Document(
        "pix2pix on TPU",
        "pix2pix for the Karman vortex street",
        "KIT slides of 15 September 2023",
        "RTX A6000; TPU v2, v3 and v4 with 8 cores; average over 45 epochs, per epoch or per run is"
        " not said",
    ),
}

_V100 = {2: 1784.42, 4: 900.49, 8: 456.62, 16: 229.66, 32: 115.02, 64: 59.35, 128: 34.90}
_V100_PLAIN = {2: 1779.27, 4: 898.97, 8: 453.05, 16: 227.56, 32: 154.29, 64: 145.38, 128: 136.24}
_3DGAN_TPU = {
    ("TPU v2", 8): 1058.88,
    ("TPU v2", 32): 261.27,
    ("TPU v3", 8): 416.29,
    ("TPU v3", 32): 103.16,
}
_PIX2PIX = {
    "RTX A6000": (1, {8: 3451, 16: 3385, 32: 3133, 64: 2790}),
    "TPU v2": (8, {8: 2518, 16: 1525}),
    "TPU v3": (8, {8: 2383, 16: 1438}),
    "TPU v4": (8, {8: 2130, 16: 1369, 32: 1092, 64: 1077}),
}

REFERENCES = (
    Reference(
        "dcgan-tpu",
        "TPU core",
        8,
        512,
        79.0,
        REDUCTION,
        "batch 64",
        "Fig. 5; one sentence of the text says the opposite",
    ),
    Reference(
        "dcgan-tpu",
        "TPU core",
        8,
        None,
        1.15,
        SPEEDUP,
        "XLA off",
        "Fig. 12, about; a TPU without XLA does not exist",
    ),
    Reference(
        "dcgan-tpu", "TPU core", 8, 32, 56.20, REDUCTION, "CPU", "Fig. 13, read as time saved"
    ),
    Reference(
        "dcgan-tpu", "TPU core", 8, 32, 19.7, REDUCTION, "GPU", "Fig. 13, read as time saved"
    ),
    Reference(
        "dcgan-tpu",
        "TPU core",
        8,
        32,
        24.6,
        REDUCTION,
        "one TPU core",
        "Fig. 13, read as time saved",
    ),
    *(
        Reference("3dgan", "V100", n, 96 * n, seconds, EPOCH, note="with prefetch")
        for n, seconds in _V100.items()
    ),
    *(
        Reference("3dgan", "V100", n, 96 * n, seconds, EPOCH, note="without prefetch")
        for n, seconds in _V100_PLAIN.items()
    ),
    *(
        Reference("3dgan", device, n, 128 * n, seconds, EPOCH, note="preemptible")
        for (device, n), seconds in _3DGAN_TPU.items()
    ),
    *(
        Reference("multi-gpu", "GPU", n, None, ratio, SPEEDUP, "one GPU")
        for n, ratio in {2: 1.322, 3: 1.688, 4: 1.7792}.items()
    ),
    *(
        Reference("pix2pix", device, n, batch, float(seconds), TRAINING)
        for device, (n, times) in _PIX2PIX.items()
        for batch, seconds in times.items()
    ),
)


COLUMNS = ("Theirs", "Device", "Devices", "Batch", "Value", "Unit", "Over", "Note")


def table() -> list[tuple[str, str, int, int | None, float, str, str, str]]:
    """Every number, one row each, by COLUMNS."""
    rows = []
    for one in REFERENCES:
        short = DOCUMENTS[one.document].short
        rows.append(
            (short, one.device, one.devices, one.batch, one.value, one.unit, one.baseline, one.note)
        )
    return rows


def by_batch(document: str, device: str) -> dict[int, float]:
    """The values of a document on one kind of device by batch size."""
    return {
        one.batch: one.value
        for one in REFERENCES
        if (one.document, one.device) == (document, device) and one.batch
    }


def by_devices(document: str, note: str = "") -> dict[int, float]:
    """The values of a document by number of devices, those alone that carry `note`."""
    return {
        one.devices: one.value for one in REFERENCES if (one.document, one.note) == (document, note)
    }
