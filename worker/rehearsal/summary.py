"""A rehearsal's report in words, for pages and terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ganboard.worker.formatting import share, size


def fit(report: Mapping[str, Any]) -> str:
    """Whether the step fits, and what it takes."""
    if not report["compiles"]:
        return f"does not compile: {report['reason']}"
    memory = report["memory"]
    fits = memory["total"] <= report["device_memory"]
    return (
        f"{'fits' if fits else 'does not fit'}, {size(memory['arguments'])} of arguments +"
        f" {size(memory['temporaries'])} of temporaries"
        f" ({share(memory['total'] / report['device_memory'])} of {size(report['device_memory'])}"
        " with its code)"
    )


def step_time(report: Mapping[str, Any]) -> str:
    """The estimated time of a step; a roofline is a lower bound."""
    bound = report["basis"].startswith("roofline") and "calibrated" not in report
    return f"{'at least' if bound else 'about'} {report['step_seconds'] * 1e3:.3g} ms"


def largest(report: Mapping[str, Any]) -> str:
    """The largest batch that was found to fit."""
    found = report.get("largest_batch")
    if not found:
        return ""
    if not found["batch"]:
        return "none fits"
    if found["too_large"] is None:
        return f"{found['batch']:,} or more"
    return f"{found['batch']:,} ({found['too_large']:,} does not fit)"


def layout(program: Mapping[str, Any]) -> str:
    """What the layouts of a TPU's program cost."""
    return (
        f"{share(program['padding'])} of the bytes that it writes pad tiles of 8 x 128;"
        f" copies into other layouts take {share(program['copy_cycles'] / program['cycles'])}"
    )


def line(report: Mapping[str, Any]) -> str:
    """All of it in a line, such as "would fit: 29.7 MiB of arguments + 207 MiB of temporaries"."""
    if not report["compiles"]:
        return fit(report)
    most = largest(report)
    basis = report.get("calibrated", "estimated")
    return f"{fit(report)}; step {step_time(report)}, {basis}" + (
        f"; largest batch {most}" if most else ""
    )


def row(report: Mapping[str, Any]) -> dict[str, str]:
    """A row of a table of reports."""
    head = {
        "Device": report["target"],
        "Replicas": str(report["replicas"]),
        "Precision": report["precision"],
        "Batch": f"{report['batch_size']:,}",
    }
    if not report["compiles"]:
        return {**head, "Fits": "does not compile"}
    memory = report["memory"]
    return {
        **head,
        "Fits": "yes" if memory["total"] <= report["device_memory"] else "no",
        "Arguments": size(memory["arguments"]),
        "Temporaries": size(memory["temporaries"]),
        "Share of memory": share(memory["total"] / report["device_memory"]),
        "Step, estimated": step_time(report),
        "Exchanged per step": size(report["exchanged_bytes"]),
        "Largest batch": largest(report),
    }
