"""Inspection of a traced function: where its operations run, what XLA fuses them into, and what XLA
cannot compile."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow as tf

# the only way to a function's partitioned graphs; `tf.summary.trace_on` takes it too
from tensorflow.python.eager import context
from tensorflow.python.framework import kernels as registry

# Nodes that compute nothing: arguments, constants, the edges of a graph, loops' plumbing, and
# handles of variables
_PLUMBING = {
    "_Arg", "_DeviceArg", "_Retval", "_DeviceRetval", "_Send", "_Recv", "_HostSend", "_HostRecv",
    "Const", "HostConst", "NoOp", "Identity", "IdentityN", "Placeholder", "VarHandleOp", "Enter",
    "Exit", "Merge", "Switch", "NextIteration", "LoopCond",
}  # fmt: skip
# HLO instructions that compute nothing, or that are part of whatever reads them
_FREE = {
    "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "reshape", "broadcast",
    "iota", "after-all", "opt-barrier", "partition-id", "replica-id",
}  # fmt: skip
_INSTRUCTION = re.compile(
    r"\s+(?:ROOT )?%[\w.-]+ = (?P<type>\(.*?\)|\S+) (?P<kind>[a-z][\w-]*)\((?P<operands>.*)"
)


def off_accelerator(
    concrete: Callable[..., Any], args: Sequence[Any], accelerators: Sequence[str] | None = None
) -> list[str]:
    """Operations of `concrete` that are not placed on an accelerator, as "GatherV2 x2 on CPU:0",
    most frequent first.

    `accelerators` are names of logical devices such as "GPU:0", by default all GPUs and TPUs.
    Without any the CPU is the accelerator and the answer is empty. TensorFlow places operations
    when a function runs first, so `concrete` is called once, inside a fresh function: pass
    arguments with which it changes nothing (a count of zero steps). A function that XLA compiles as
    a whole is one operation. Operations that compute nothing (constants, copies between devices,
    the switches of a loop) are left out; whole numbers that a GPU's operation wants in host memory
    count as being on the GPU.
    """
    if accelerators is None:
        accelerators = [
            _short(device.name)
            for kind in ("GPU", "TPU")
            for device in tf.config.list_logical_devices(kind)
        ]
    if not accelerators:
        return []
    found = Counter(
        (node.op, _short(node.device))
        for node in _placed(concrete, args)
        if node.op not in _PLUMBING
    )
    return [
        f"{op} x{count} on {device}"
        for (op, device), count in found.most_common()
        if device not in accelerators
    ]


def kernels(function: Callable[..., Any], args: Sequence[Any]) -> tuple[int, int]:
    """(operations of `function` before XLA, kernels after it), for arguments that may be nested
    lists of tensors; nothing is run.

    Both are instructions of the entry computation of XLA's program, before and after its passes:
    before, each arithmetic operation that TensorFlow's operations stand for; after, each fusion,
    convolution, product, reduction, loop or call that is started by itself. What computes nothing
    is left out: parameters, constants, tuples, and changes of shape alone (reshape, broadcast,
    bitcast). Compiles once.
    """
    compiled = tf.function(function, jit_compile=True)
    device = (tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU"))[
        0
    ].name
    return _instructions(_program(compiled, args, "hlo", device)), _instructions(
        _program(compiled, args, "optimized_hlo", device)
    )


def clusters(concrete: Any, args: Sequence[Any]) -> tuple[int, int]:
    """(operations of `concrete` as traced, kernels that run), where XLA fuses clusters of
    operations and leaves the others alone.

    For XLA on a CPU (`gan.devices.runtime.prepare`). A cluster counts as one kernel; what computes
    nothing is left out on both sides. Call it with arguments with which the function changes
    nothing (a count of zero steps): it runs once, inside a fresh function.
    """
    before = list(_operations(concrete.graph))
    after = [node.op for node in _placed(concrete, args)]
    runs, rest = (
        after.count("_XlaRun"),
        [op for op in after if op not in _PLUMBING and not op.startswith("_Xla")],
    )
    # each cluster has a fallback call that is used until it is compiled
    return (
        sum(op not in _PLUMBING for op in before),
        len(rest) - rest.count("StatefulPartitionedCall") + runs,
    )


def uncompilable(function: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """What keeps XLA from compiling `function`, empty when it compiles; nothing is run.

    This is determined by translating the whole function, loops and called functions included, into
    XLA's program (tf2xla, the same bridge for CPU, GPU and TPU, with its demand for static shapes).
    When it fails: the types of all operations without an XLA kernel, or, where each has one, XLA's
    own first sentence (a loop that changes a shape, a variable on another device). An argument that
    decides a size is taken at its value here, and makes XLA compile again for each of its values.
    """
    compiled = tf.function(function, jit_compile=True)
    try:
        _program(compiled, args, "hlo", tf.config.list_logical_devices("CPU")[0].name)
    except (ValueError, tf.errors.OpError) as error:
        return without_xla(_operations(compiled.get_concrete_function(*args).graph)) or [
            _first_sentence(str(error))
        ]
    return []


def without_xla(operations: Iterable[str]) -> list[str]:
    """Those types of operations for which no XLA kernel is registered, in the order of their
    names."""
    kernels = {
        op: {kernel.device_type for kernel in registry.get_registered_kernels_for_op(op).kernel}
        for op in set(operations) - _PLUMBING
    }
    return sorted(
        op
        for op, devices in kernels.items()
        if not any(re.fullmatch(r"XLA_\w+_JIT", device) for device in devices)
    )


def _placed(concrete: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
    """Nodes of the optimised graphs that TensorFlow runs for `concrete`, each with its device."""
    running = context.context()
    running.enable_graph_collection()
    try:
        tf.function(lambda *given: concrete(*given), autograph=False)(*args)
        collected = running.export_run_metadata()
    finally:
        running.disable_graph_collection()
    return [
        node
        for function in collected.function_graphs
        for graph in function.partition_graphs
        for node in graph.node
    ]


def _program(compiled: Any, args: Sequence[Any], stage: str, device: str) -> str:
    """XLA's program of a function as text (HLO)."""
    with warnings.catch_warnings():
        # Without the name, out of favour as it is, TensorFlow finds the device by a random
        # operation, which determinism forbids
        warnings.filterwarnings("ignore", "device_name is being deprecated")
        return str(compiled.experimental_get_compiler_ir(*args)(stage=stage, device_name=device))


def _operations(graph: tf.Graph) -> Iterable[str]:
    """Types of the operations in `graph` and all it calls."""
    definition = graph.as_graph_def()
    return (
        node.op
        for node in (
            *definition.node,
            *(node for called in definition.library.function for node in called.node_def),
        )
    )


def _instructions(program: str) -> int:
    # long tuples carry comments
    entry = re.sub(r"/\*.*?\*/", "", program[program.index("\nENTRY ") :].split("\n}", 1)[0])
    found = [match for line in entry.splitlines() if (match := _INSTRUCTION.match(line))]
    return sum(match["kind"] not in _FREE and not _converts_nothing(match) for match in found)


def _converts_nothing(instruction: re.Match[str]) -> bool:
    return instruction["kind"] == "convert" and instruction["operands"].startswith(
        instruction["type"] + " "
    )


def _short(device: str) -> str:
    """ "/job:localhost/replica:0/task:0/device:CPU:0" as "CPU:0"."""
    return device.rpartition("device:")[2]


def _first_sentence(text: str) -> str:
    return text.removeprefix("Failed getting HLO text: ").strip("'\"").splitlines()[0][:300]
