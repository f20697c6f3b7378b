"""The largest batch that fits into a device's memory, by compiling a few."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isqrt
from typing import Any

MOST = 65_536  # the limit of RunConfig.batch_size
TRIES = 10  # compilations
_CLOSE = 1.05  # batches that differ by less are tried one beside the other
# what CUDA and its libraries take of a GPU: an allowance; a TPU's compiler knows its own
_GPU_RESERVE = 2**30

Compile = Callable[[int], Mapping[str, Any]]  # batch -> report


def fits(report: Mapping[str, Any], kind: str) -> bool:
    """Whether what was compiled fits into the memory of one device."""
    if not report["compiles"]:
        return False
    reserve = _GPU_RESERVE if kind == "gpu" else 0
    return bool(report["memory"]["total"] + reserve <= report["device_memory"])


def too_large(report: Mapping[str, Any]) -> bool:
    """Whether a compiler refused for want of memory."""
    return "RESOURCE_EXHAUSTED" in report.get("reason", "")


def search(first: Mapping[str, Any], unit: int, kind: str, compiled: Compile) -> dict[str, Any]:
    """The largest batch known to fit and the smallest known not to; one part in 16 apart
    unless TRIES ran out.

    `first` is the report of any batch, `unit` divides every batch. Memory grows nearly linearly
    with the batch, so a line through two reports says where to look first.
    """
    known: dict[int, Mapping[str, Any]] = {int(first["batch_size"]): first}
    low, high = (0, int(first["batch_size"]))
    if fits(first, kind):
        low, high = int(first["batch_size"]), MOST + 1
    for _ in range(TRIES):
        step = max(unit, _power_of_two(low // 32) // unit * unit)
        lowest, highest = (low // step + 1) * step, (high - 1) // step * step
        if lowest > highest:
            break
        wanted = _next({b: known[b] for b in sorted(known) if b <= low}, low, high)
        batch = min(max(wanted // step * step, lowest), highest)
        known[batch] = compiled(batch)
        if fits(known[batch], kind):
            low = batch
        else:
            high = batch
    return {
        "batch": low,
        "memory": known[low]["memory"]["total"] if low else None,
        "too_large": high if high <= MOST else None,
        "reason": known[high].get("reason", "more than the memory") if high <= MOST else "",
        "compilations": len(known) - 1,
    }


def _next(fitting: Mapping[int, Mapping[str, Any]], low: int, high: int) -> int:
    """The batch to compile next: where the line through the two largest that fit meets the memory,
    or, where it leads outside of `low` and `high`, between them."""
    untried = high > MOST
    if len(fitting) >= 2:
        *_, before, last = fitting
        taken = [int(fitting[batch]["memory"]["total"]) for batch in (before, last)]
        slope = (taken[1] - taken[0]) / (last - before)
        room = int(fitting[last]["device_memory"]) - taken[1]
        meets = last + int(room / slope) if slope > 0 else MOST
        if meets < high or untried:
            return min(MOST, max(meets, int(low * _CLOSE) + 1))
    if untried:
        return min(MOST, 4 * low)
    if high < low * _CLOSE**2:
        return (low + high) // 2
    return max(isqrt(low * high), high // 4)


def _power_of_two(number: int) -> int:
    return 1 << max(0, number.bit_length() - 1)
