"""What `ganboard doctor --accelerator` says of machines that are made up."""

from __future__ import annotations

from typing import Any

import pytest

from ganboard.gan.devices.tpu_chips import Chips
from ganboard.worker.doctor import accelerator
from ganboard.worker.doctor.accelerator import Seen

CPU, GPU, TPU = ({name: "2.20.0"} for name in ("tensorflow-cpu", "tensorflow", "tensorflow-tpu"))
ROWS = (("Tesla T4", "15360 MiB", "550.54.15"),)
CUDA = {"is_cuda_build": "True", "cuda_version": "12.5.1", "cudnn_version": "9"}


def seen(
    packages: dict[str, str],
    *,
    libtpu: str | None = None,
    chips: Chips | None = None,
    nvidia: Any = None,
) -> Seen:
    return Seen(packages, libtpu, chips, nvidia)


def found(**changes: Any) -> dict[str, Any]:
    hardware = {"cpu": "Some processor", "cores": 2, "gpus": [], "tpus": []}
    return {"hardware": {**hardware, **changes.pop("hardware", {})}, "build": {}, **changes}


@pytest.mark.parametrize(
    ("here", "build", "sentence"),
    [
        (seen(CPU, nvidia=ROWS), {}, "tensorflow-cpu`, then install TensorFlow for GPUs"),
        (seen({}, nvidia=ROWS), {}, "Install TensorFlow for GPUs with CUDA"),
        (seen(GPU, nvidia=ROWS), CUDA, "does not find the libraries of CUDA"),
        (seen(CPU, chips=Chips("v5e", 1)), {}, "tensorflow-cpu`, then install TensorFlow for TPUs"),
        (seen(TPU, chips=Chips("v5e", 1)), {}, "driver library is missing"),
        (seen(TPU, chips=Chips("v5e", 1), libtpu="0.0.52"), {}, "not suit tensorflow-tpu 2.20.0"),
        (seen({}), {}, "pip install 'ganboard[cpu]'"),
        (seen(CPU), {}, ""),
    ],
)  # fmt: skip
def test_one_sentence_says_what_to_install(here: Seen, build: Any, sentence: str) -> None:
    said = accelerator.install(here, build)
    assert sentence in said
    assert said.count(". ") == 0


def test_packages_that_overwrite_each_other_are_a_failure() -> None:
    check = accelerator.packages(seen({**GPU, **TPU}, chips=Chips("v5e", 1), libtpu="0.0.14"))
    assert check.status == "fail"
    assert "overwrite each other" in check.text
    assert check.remedy.startswith("`pip uninstall tensorflow tensorflow-tpu`")
    assert accelerator.packages(seen(CPU)).status == "ok"


def test_devices_that_tensorflow_does_not_find_are_a_failure() -> None:
    check = accelerator.present(seen(CPU, nvidia=ROWS), found())
    assert (check.status, check.text) == (
        "fail",
        "1 NVIDIA GPUs are here, but TensorFlow finds none",
    )
    check = accelerator.present(seen(CPU, chips=Chips("v5e", 8)), found())
    assert check.text == "8 TPU v5e chips are here, but TensorFlow finds none"
    assert accelerator.present(seen(CPU), found()).text.startswith("no accelerator")


def test_devices_are_named_with_number_and_memory() -> None:
    gpus = [{"name": "Tesla T4", "memory_bytes": 15 << 30}] * 2
    check = accelerator.present(seen(GPU, nvidia=ROWS), found(hardware={"gpus": gpus}))
    assert (check.status, check.text) == ("ok", "2 × Tesla T4, 15 GiB each")
    tpu = {"tpus": ["TPU:0"], "tpu_chips": {"kind": "v5e", "number": 1}}
    check = accelerator.present(seen(TPU, chips=Chips("v5e", 1)), found(hardware=tpu))
    assert check.text == "1 TPU cores, TPU v5e"
    check = accelerator.present(
        seen(TPU, chips=Chips("v5e", 1), libtpu="0.0.52"), found(hardware=tpu, tpu_problem="no")
    )
    assert (check.status, check.text) == ("fail", "no")
    assert "older libtpu" in check.remedy


def test_an_old_driver_is_a_failure() -> None:
    (check,) = accelerator.drivers(seen(GPU, nvidia=ROWS), CUDA)
    assert check.status == "ok"
    old = (("Tesla T4", "15360 MiB", "470.82.01"),)
    (check,) = accelerator.drivers(seen(GPU, nvidia=old), CUDA)
    assert check.remedy == "CUDA 12 needs driver 525 or newer: update NVIDIA's driver."
    assert not list(accelerator.drivers(seen(CPU), {}))


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (3e-7, "ok", "relative error 3.0e-07"),
        (3e-4, "ok", "(TensorFloat-32)"),
        (4e-3, "ok", "(rounded to bfloat16)"),
        (0.5, "fail", "more than 1e-02"),
    ],
)
def test_products_are_checked(error: float, status: str, said: str) -> None:
    product = {
        "precision": "float32",
        "device": "/GPU:0",
        "error": error,
        "bound": 1e-2,
        "gflops": 1,
    }
    check = accelerator.multiplied(product)
    assert check.status == status
    assert said in check.text


def test_a_format_that_a_device_lacks_is_a_warning() -> None:
    product = {"precision": "float16", "device": "/TPU:0", "problem": "no kernel"}
    check = accelerator.multiplied(product)
    assert (check.status, check.text) == ("warn", "not possible on /TPU:0: no kernel")


def test_the_placement_of_a_step_is_told() -> None:
    step: dict[str, Any] = {"compile_seconds": 2.0, "off_accelerator": None}
    assert "no accelerator" in accelerator.placed(step).text
    assert "all of it" in accelerator.placed({**step, "off_accelerator": []}).text
    many = [f"Op{n} x1 on CPU:0" for n in range(6)]
    assert accelerator.placed({**step, "off_accelerator": many}).text.endswith("and 2 more")
    assert accelerator.placed({**step, "placement_problem": "?"}).status == "warn"


@pytest.mark.parametrize(
    ("libtpu", "status"),
    [("0.0.17", "ok"), ("0.0.21.1", "ok"), ("0.0.13", "fail"), ("0.1", "fail")],
)
def test_libtpu_is_held_against_what_tensorflow_asks_for(
    monkeypatch: pytest.MonkeyPatch, libtpu: str, status: str
) -> None:
    asked = ["numpy>=1.26.0", "libtpu~=0.0.14", "nvidia-cudnn-cu12<10.0; extra == 'and-cuda'"]
    monkeypatch.setattr(accelerator, "requires", lambda name: asked)
    (check,) = accelerator.libraries(seen(TPU, chips=Chips("v5e", 1), libtpu=libtpu))
    assert check.status == status
    assert check.text.endswith("tensorflow-tpu asks for libtpu~=0.0.14")
    assert not list(accelerator.libraries(seen(CPU, libtpu=libtpu)))
