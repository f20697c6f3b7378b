"""A first day as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from ganboard.worker.firstday.view import head
from ganboard.worker.formatting import duration, size

TEMPLATE = Path(__file__).with_name("report.html")


def render(found: Mapping[str, Any]) -> str:
    """HTML of the document of a day; all that a machine says of itself is escaped."""
    page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        TEMPLATE.read_text(encoding="utf-8")
    )
    hardware = found["hardware"]
    return page.render(
        found=found,
        head=head(found),
        duration=duration,
        machine=_machine(hardware),
        versions=sorted(hardware["versions"].items()),
    )


def _machine(hardware: Mapping[str, Any]) -> list[tuple[str, str]]:
    gpus = [gpu.get("memory_bytes") for gpu in hardware["gpus"]]
    rows = [
        ("Host", str(hardware["host"])),
        ("Computes on", str(hardware["devices"])),
        ("Processor", f"{hardware['cpu']}, {hardware['cores']} cores"),
        ("Memory", size(hardware["memory_bytes"])),
    ]
    if memory := [size(one) for one in gpus if one]:
        rows.append(("Memory of the GPUs", ", ".join(memory)))
    if chips := hardware.get("tpu_chips"):
        rows.append(("TPU", f"{chips['number']} chips {chips['kind']}"))
    return rows
