"""What an optimised XLA program says of itself: its work by layer, its collectives and kernels.
Free of TensorFlow.

A TPU's compiler writes the cycles that it estimates beside each instruction
(`window_config.estimated_cycles`); they leave out what runs asynchronously. For a GPU a roofline is
added up instead (Williams, Waterman and Patterson 2009): each kernel takes its bytes at the
bandwidth of the memory or its products at the peak, whichever is longer, and no less than
KERNEL_SECONDS.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any

from ganboard.gan.rehearsal.arrays import Array, arrays, size, tiled

# of a kernel that does next to nothing, launched from a CUDA graph: an allowance, not measured here
KERNEL_SECONDS = 2e-6

_HEADER = re.compile(r"(?P<entry>ENTRY )?%?(?P<name>[\w.-]+) \(.*\) -> .* \{$")
_LINE = re.compile(
    r"\s*(?:ROOT )?%(?P<name>[\w.-]+) = (?P<type>\(.*?\)|\S+) (?P<opcode>[a-z][\w-]*)\("
)
_OPERAND = re.compile(r"%([\w.-]+)")
_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')
_OP_NAME = re.compile(r'op_name="([^"]*)"')
_TARGET = re.compile(r'custom_call_target="([^"]*)"')
_BODY = re.compile(r"(?:body|to_apply|calls)=%?([\w.-]+)")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_CONDITION = re.compile(r"condition=%?([\w.-]+)")
_BELOW = re.compile(r" = [su]32\[\]\S* constant\((\d+)\)")
_LABELS = re.compile(r"dim_labels=(\w+)_(\w+)->(\w+)")
_CONVOLUTION = re.compile(r' convolution\(|custom_call_target="__cudnn\$conv')
_SCOPE = re.compile(r"(?P<net>generator|discriminator)(?:_\d+)?/(?P<layer>[^/]+)")

# what computes nothing
_FREE = {
    "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "iota",
    "partition-id", "replica-id", "opt-barrier",
}  # fmt: skip
_COPIES = {"copy", "transpose"}  # into another layout
_COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "collective-permute", "all-to-all")
_PARTS = {"draws": "random numbers", "exchange": "exchange of gradients", "update": "update"}
REST = "losses and metrics"


@dataclass(frozen=True)
class Instruction:
    """One instruction of the optimised program that does something."""

    name: str
    opcode: str
    part: str  # the layer that it comes from, such as "generator/up_1", or another part of the step
    backward: bool
    result: Sequence[Array]  # arrays: (type, sizes)
    operands: Sequence[Array]
    cycles: int  # as the compiler estimates, over all trips of a loop
    trips: int  # how often a step runs it
    target: str  # of a custom call
    tiled: float  # bytes of the result as it lies in memory, in whole tiles
    labels: tuple[str, str, str] | None  # dimensions of a convolution's operands and result
    body: str  # the computation that it calls

    @property
    def collective(self) -> str:
        """The kind of exchange that it starts, or nothing."""
        if self.opcode.endswith("-done"):
            return ""
        return next((kind for kind in _COLLECTIVES if self.opcode.startswith(kind)), "")

    @property
    def bytes(self) -> float:
        """Read and written."""
        return sum(map(size, (*self.operands, *self.result)))

    @property
    def macs(self) -> float:
        """Multiply-accumulates of a convolution or product by itself."""
        shapes = [sizes for _, sizes in (*self.operands[:2], *self.result[:1]) if sizes]
        if self.labels and len(shapes) == 3:
            return _convolution(self.target, shapes, self.labels)
        if "gemm" in self.name or "gemm" in self.target or self.opcode == "dot":
            # (M K)(K N)(M N) is the square of M K N
            return sqrt(prod(map(float, map(prod, shapes)))) if len(shapes) == 3 else 0.0
        return 0.0


def instructions(text: str, layers: Mapping[str, Sequence[str]]) -> list[Instruction]:
    """What the program runs, in the order of its text; `layers` are the names of each network's
    layers."""
    computations = _computations(text)
    entry = next(lines for name, lines in computations.items() if name.startswith("ENTRY "))
    return list(_walk(entry, computations, layers, 1))


def analyse(text: str, layers: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Counts of an optimised program: instructions that do something, fusions, convolutions, custom
    calls; collectives with their bytes; cycles by part, largest first; the share of padding in
    what is written, and the cycles of copies into other layouts."""
    found = instructions(text, layers)
    cycles: Counter[tuple[str, bool]] = Counter()
    for one in found:
        cycles[one.part, one.backward] += one.cycles
    exchanges: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for one in found:
        if one.collective:
            exchanges[one.collective, one.part] += [sum(map(size, one.operands))] * one.trips
    total = sum(cycles.values())
    written = sum(sum(map(size, one.result)) * one.trips for one in found)
    in_tiles = sum(one.tiled * one.trips for one in found)
    return {
        # of the bytes that instructions write; a TPU keeps arrays in tiles of 8 x 128
        "padding": 1 - written / in_tiles if in_tiles else 0.0,
        "copy_cycles": sum(one.cycles for one in found if one.opcode in _COPIES),
        "kernels": sum(one.trips for one in found if not one.opcode.endswith("-done")),
        "fusions": sum(one.trips for one in found if one.opcode == "fusion"),
        "convolutions": text.count(" convolution(")
        + text.count('custom_call_target="__cudnn$conv'),
        "custom_calls": dict(Counter(one.target for one in found if one.target)),
        "host": sorted({one.opcode for one in found if _on_host(one)}),
        "collectives": [
            {"kind": kind, "part": part, "count": len(sizes), "bytes": int(sum(sizes))}
            for (kind, part), sizes in exchanges.items()
        ],
        "cycles": total,
        "parts": [
            {"part": part, "backward": backward, "cycles": count, "share": count / total}
            for (part, backward), count in cycles.most_common()
            if count
        ],
    }


def roofline(
    text: str, layers: Mapping[str, Sequence[str]], flops: float, bandwidth: float
) -> dict[str, Any]:
    """Seconds that the kernels take at least, in all and by part: `flops` per second are the peak
    of products, `bandwidth` of the memory is in bytes per second."""
    seconds: Counter[tuple[str, bool]] = Counter()
    limits: Counter[str] = Counter()
    for one in instructions(text, layers):
        if one.opcode.endswith("-done") or one.collective:
            continue
        bounds = {
            "memory": one.bytes / bandwidth,
            "products": 2 * one.macs / flops,
            "launches": KERNEL_SECONDS,
        }
        limit = max(bounds, key=lambda name: bounds[name])
        seconds[one.part, one.backward] += bounds[limit] * one.trips  # type: ignore[assignment]
        limits[limit] += bounds[limit] * one.trips  # type: ignore[assignment]
    total = sum(seconds.values())
    return {
        "seconds": total,
        "limits": dict(limits),
        "parts": [
            {"part": part, "backward": backward, "seconds": took, "share": took / total}
            for (part, backward), took in seconds.most_common()
        ],
    }


def _computations(text: str) -> dict[str, list[str]]:
    """The lines of each computation by its name."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if header := _HEADER.match(line):
            lines = found[(header["entry"] or "") + header["name"]] = []
        elif line.startswith(" "):
            lines.append(line)
    return found


def _times(line: str, computations: Mapping[str, list[str]]) -> int:
    """How often a loop runs its body: as noted, or read from a condition `counter < constant`,
    since libtpu notes nothing; the loops of a step count from 0 by 1."""
    if noted := _TRIPS.search(line):
        return int(noted[1])
    condition = _CONDITION.search(line)
    lines = computations.get(condition[1], []) if condition else []
    limits = [int(found[1]) for one in lines if (found := _BELOW.search(one))]
    counted = any("direction=LT" in one for one in lines)
    return limits[0] if counted and len(limits) == 1 else 1


def _walk(
    lines: Sequence[str],
    computations: Mapping[str, list[str]],
    layers: Mapping[str, Sequence[str]],
    trips: int,
) -> Iterator[Instruction]:
    parsed = [(line, match) for line in lines if (match := _LINE.match(line))]
    shapes = {match["name"]: arrays(match["type"]) for _, match in parsed}
    inputs = {match["name"]: _operands(line, match) for line, match in parsed}
    names = _named(parsed, inputs)
    for line, match in parsed:
        name, opcode = match["name"], match["opcode"]
        body = (_BODY.search(line) or ["", ""])[1]
        if opcode in ("while", "call", "conditional") and body in computations:
            times = _times(line, computations) if opcode == "while" else 1
            yield from _walk(computations[body], computations, layers, trips * times)
            continue
        cycles = _CYCLES.search(line)
        if opcode in _FREE and not cycles:
            continue
        labels = _LABELS.search(line)
        part, backward = _part(names[name], layers)
        yield Instruction(
            name,
            opcode,
            part,
            backward,
            shapes[name],
            [array for operand in inputs[name] for array in shapes.get(operand, ())],
            trips * int(cycles[1]) if cycles else 0,
            trips,
            (_TARGET.search(line) or ["", ""])[1],
            tiled(match["type"]),
            (labels[1], labels[2], labels[3]) if labels else None,
            body,
        )


def _operands(line: str, match: re.Match[str]) -> list[str]:
    """Names of the operands of an instruction."""
    inside = line[match.end() :]
    return _OPERAND.findall(inside[: inside.index(")")])


def _named(
    parsed: Sequence[tuple[str, re.Match[str]]], inputs: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """TensorFlow's name of each instruction. What the compiler added without one, such as a copy
    into another layout, belongs to what made its operand; a copy of an argument and a combined
    exchange belong to their readers."""
    names: dict[str, str] = {}
    for line, match in parsed:
        said = (_OP_NAME.search(line) or ["", ""])[1].removeprefix("XLA_Args")
        made = (names.get(operand, "") for operand in inputs[match["name"]])
        combined = match["opcode"].startswith(_COLLECTIVES)
        names[match["name"]] = said or ("" if combined else next(filter(None, made), ""))
    for _, match in reversed(parsed):
        for operand in inputs[match["name"]]:
            names[operand] = names.get(operand) or names[match["name"]]
    return names


def _part(name: str, layers: Mapping[str, Sequence[str]]) -> tuple[str, bool]:
    """The part of the step that an operation of this name belongs to, and whether it is of the
    backward pass."""
    backward = "gradient_tape/" in name
    if scope := _SCOPE.search(name):
        net, numbered = scope["net"], scope["layer"]
        known = sorted(layers.get(net, ()), key=len, reverse=True)
        layer = next(
            (x for x in known if re.fullmatch(rf"{re.escape(x)}(_\d+)?", numbered)), numbered
        )
        return f"{net}/{layer}", backward
    first = re.sub(r"_\d+$", "", name.removeprefix("gradient_tape/").partition("/")[0])
    return _PARTS.get(first, REST), backward


def _convolution(
    target: str, arrays: Sequence[tuple[int, ...]], labels: tuple[str, str, str]
) -> float:
    """Each place of the output meets the whole kernel: |output| |kernel| / output channels."""
    first, second, third = arrays
    if "BackwardFilter" in target:
        output, kernel = second, third
    elif "BackwardInput" in target:
        output, kernel = first, second
    else:
        output, kernel = third, second
    return float(prod(output)) * prod(kernel) / kernel[labels[1].index("o")]


def _on_host(one: Instruction) -> bool:
    """Whether it leaves the device."""
    return one.opcode.startswith(("infeed", "outfeed", "send", "recv")) or "callback" in one.target
