"""Where the milliseconds of a step go, by kind of operation, and how near products come to this
machine's peak: `python -m tests.scale.step_profile PRECISION BATCH... [KEY=VALUE...]`.

Reads TensorFlow's profiler while operations run one at a time, so that none waits for another's
cores; the step itself is timed without it. The peak is that of a large product of matrices
(`gan.devices.peak_flops`), the operations of a product follow from its shapes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

STEPS = 5
PRODUCTS = ("MatMul", "BatchMatMul", "Conv")


def profile(settings: dict[str, Any]) -> dict[str, Any]:
    """Milliseconds by kind of operation of a training step, in this process alone."""
    from ganboard.gan.config import parse
    from ganboard.gan.devices import peak_flops, runtime

    config = parse(settings)
    runtime.prepare(config)
    import tensorflow as tf

    from ganboard.gan import data
    from ganboard.gan.rng import philox
    from ganboard.gan.training.step import Stepper, networks

    tf.config.threading.set_inter_op_parallelism_threads(1)
    examples = data.load(config, Path(tempfile.mkdtemp())).first(None)
    stepper = Stepper(config, tf.distribute.get_strategy(), networks(config), examples)
    order = np.resize(philox.order(0, 1, len(examples)), 2 * STEPS * config.batch_size)
    stepper.run(order, 0, 0, STEPS)
    began = time.perf_counter()
    stepper.run(order, 0, 0, STEPS)
    step = (time.perf_counter() - began) / STEPS
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        stepper.run(order, 0, 0, STEPS)
        tf.profiler.experimental.stop()
        (written,) = Path(folder).rglob("*.xplane.pb")
        events = _events(written.read_bytes())
    flops = _flops(stepper, order)
    kinds: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])  # ms, count, GFLOP
    for name, kind, ms in events:
        found = kinds[kind]
        found[0] += ms / STEPS
        found[1] += 1 / STEPS
        found[2] += flops.get(_own(name), 0.0) / 1e9 / STEPS
    return {
        "step_ms": 1e3 * step,
        "peak_gflops": peak_flops.gflops(config.precision),
        "kinds": kinds,
    }


def _events(written: bytes) -> list[tuple[str, str, float]]:
    """(name, kind, milliseconds) of every operation that was run."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    space.ParseFromString(written)
    found = []
    for plane in space.planes:
        for line in plane.lines:
            for event in line.events:
                name, colon, kind = plane.event_metadata[event.metadata_id].name.partition(":")
                if colon and re.fullmatch(r"\w+", kind) and name.startswith("while/"):
                    found.append((name, kind.removeprefix("_Mkl"), event.duration_ps / 1e9))
    return found


def _own(name: str) -> str:
    """An operation's name in the loop's body, where a bias may have been fused into it."""
    return re.sub(r"^while/body/_\d+/", "", name).replace("/BiasAdd", "/Conv2D")


def _flops(stepper: Any, order: Any) -> dict[str, float]:
    """Floating-point operations of products, by name."""
    from tensorflow.python.framework.function_def_to_graph import function_def_to_graph

    arguments = stepper._arguments(order, 0, 0, 1, np.full([1, 2], 1e-4, np.float32))
    concrete = stepper._run.get_concrete_function(*arguments)
    found: dict[str, float] = {}
    for definition in concrete.graph.as_graph_def(add_shapes=True).library.function:
        for operation in function_def_to_graph(definition).get_operations():
            if operation.type.startswith(PRODUCTS):
                found[operation.name] = _of(operation)
    return found


def _of(operation: Any) -> float:
    given = [list(each.shape) for each in operation.inputs]
    (made,) = (list(each.shape) for each in operation.outputs)
    if any(None in shape for shape in (*given[:2], made)):
        return 0.0
    if "MatMul" in operation.type:
        turned = operation.get_attr("transpose_a" if operation.type == "MatMul" else "adj_x")
        return 2.0 * np.prod(made) * given[0][-2 if turned else -1]
    if operation.type.endswith("BackpropFilter"):
        return 2.0 * np.prod(made) * np.prod(given[2][:-1])
    if operation.type.endswith("BackpropInput"):
        return 2.0 * np.prod(given[1]) * np.prod(given[2][:-1])
    return 2.0 * np.prod(given[1]) * np.prod(made[:-1])


def show(batch: int, precision: str, found: dict[str, Any]) -> None:
    kinds, peak = found["kinds"], found["peak_gflops"]
    total = sum(ms for ms, _, _ in kinds.values())
    print(f"\nbatch {batch}, {precision}: step {found['step_ms']:.0f} ms; one operation at a time")
    print(f"{total:.0f} ms; peak {peak:,.0f} GFLOP/s\n")
    print("| operation | ms | share | calls | GFLOP | of the peak |\n|---|---|---|---|---|---|")
    shown = sorted(kinds.items(), key=lambda each: -each[1][0])
    for kind, (ms, count, gflop) in shown[:14]:
        rate = f"{gflop / ms * 1e3 / peak:.0%}" if gflop else ""
        share = f"{ms / total:.0%}"
        print(f"| {kind} | {ms:.2f} | {share} | {count:.0f} | {gflop or 0:.2f} | {rate} |")
    rest = shown[14:]
    print(
        f"| {len(rest)} others | {sum(ms for _, (ms, _, _) in rest):.2f} | | "
        f"{sum(count for _, (_, count, _) in rest):.0f} | | |"
    )


def main(precision: str, *arguments: str) -> None:
    changes = dict(each.split("=", 1) for each in arguments if "=" in each)
    for batch in (int(each) for each in arguments if "=" not in each):
        settings = {"model": "dcgan", "dataset": "digits", "batch_size": batch} | changes
        code = f"""
import json
from tests.scale.step_profile import profile
print("\\n" + json.dumps(profile({settings | {"precision": precision}!r})))
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr[-2000:])
        show(batch, precision, json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main(*sys.argv[1:])
