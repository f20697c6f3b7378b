"""How the command line shows what went wrong in a run."""

from __future__ import annotations

from rich.text import Text

from ganboard.db.models import Run
from ganboard.gan.diagnosis.explain import Explanation
from ganboard.worker.formatting import clean
from ganboard.worker.terminal.console import make_console


def print_explanation(run: Run, found: Explanation) -> None:
    """The findings, each with its evidence and a command that avoids it; then what was checked."""
    console = make_console()
    if not found.findings:
        console.print(Text("No problem found.", style="green"))
    for number, finding in enumerate(found.findings, 1):
        console.print(Text(f"{number}. {finding.title}, {finding.span}", style="bold"))
        console.print(Text(f"   {clean(finding.evidence)}"))
        if finding.advice:
            console.print(Text(f"   {finding.advice}"))
        if finding.remedy:
            changed = " ".join(f"--set {name}={value}" for name, value in finding.remedy.items())
            console.print(Text(f"   ganboard clone {run.id} {changed}", style="cyan"))
    console.print(Text(f"Checked: {clean('; '.join(found.checked))}.", style="dim"))
