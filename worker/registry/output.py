"""How the command line shows versions of models."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from ganboard.db.models import ModelVersion
from ganboard.gan.generation.package import Manifest
from ganboard.worker.formatting import ago, clean
from ganboard.worker.registry.standing import in_a_line
from ganboard.worker.terminal.console import make_console

_FULL = "_full"


def summary(version: ModelVersion, aliases: Sequence[str]) -> dict[str, Any]:
    """A version, JSON-ready."""
    return version.model_dump(exclude={"removed_at"}) | {"aliases": list(aliases)}


def print_versions(found: Sequence[ModelVersion], aliases: Mapping[str, list[str]]) -> None:
    console = make_console()
    if not found:
        console.print("No models. Register one: ganboard models add latest --name NAME")
        return
    table = Table(
        "model",
        "version",
        "aliases",
        "run",
        "variant",
        "MB",
        "quality",
        "made",
        box=box.SIMPLE_HEAD,
    )
    for one in found:
        text = ", ".join(aliases.get(one.id, []))
        run, size = f"{one.run_id} epoch {one.epoch}", f"{one.size / 1e6:.1f}"
        table.add_row(
            one.name,
            str(one.version),
            text,
            run,
            one.variant,
            size,
            in_a_line(one.quality),
            _age(one),
        )
    console.print(table)


def print_version(
    version: ModelVersion, aliases: Sequence[str], manifest: Manifest, directory: Path
) -> None:
    rows = Table.grid(padding=(0, 2))
    details = manifest.model_dump(exclude={"config", "signature", "quality", "files"})
    facts = {
        "model": f"{version.name}:{version.version}",
        "aliases": ", ".join(aliases),
        "made": _age(version),
        **details,
    }
    facts |= {f"quality {name}": f"{value:,.6g}" for name, value in manifest.quality.items()}
    facts |= {side: json.dumps(manifest.signature[side]) for side in manifest.signature}
    facts |= {
        "config": " ".join(f"{name}={json.dumps(value)}" for name, value in manifest.config.items())
    }
    facts |= {
        name: f"{file.size:,} bytes, SHA-256 {file.sha256}" for name, file in manifest.files.items()
    } | {"folder": directory if directory.exists() else "in the artifact store"}
    for name, value in facts.items():
        rows.add_row(
            Text(name.replace("_", " "), style="dim"), Text(clean(str(value)), overflow="fold")
        )
    make_console().print(rows)


def print_comparison(one: ModelVersion, other: ModelVersion, metrics: Mapping[str, float]) -> None:
    """Each figure of both versions in a row; those of their difference have one value."""
    table = Table("", box=box.SIMPLE_HEAD)
    for version in (one, other):
        table.add_column(f"{version.name}:{version.version} {version.variant}", justify="right")
    table.add_row("megabytes", *(f"{version.size / 1e6:.2f}" for version in (one, other)))
    for name, value in metrics.items():
        if not name.endswith(_FULL):
            full = metrics.get(name + _FULL)
            text = name.replace("_", " ").replace(" bytes", ", MB")
            table.add_row(
                text,
                *(
                    "" if one is None else f"{one / 1e6 if name.endswith('_bytes') else one:,.5g}"
                    for one in (full, value)
                ),
            )
    make_console().print(table)


def _age(version: ModelVersion) -> str:
    return ago((datetime.now(UTC) - version.created_at).total_seconds())
