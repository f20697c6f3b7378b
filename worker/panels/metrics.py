"""What the stored metrics are, in words, and panels that are worth a start."""

from __future__ import annotations

from collections.abc import Container

from ganboard.db.curves.stored import AXES, RATE, Cadence
from ganboard.gan.events import MEASURES, SERIES
from ganboard.gan.quality.declared import METRICS
from ganboard.worker.panels.board import Panel
from ganboard.worker.panels.expressions import parse

CADENCES: dict[Cadence, str] = {
    "step": "every step",
    "epoch": "every epoch",
    "evaluation": "every evaluation",
    "sample": "every few seconds",
    "logged": "when the script logs it",
}
MEANINGS = {
    "step": "Steps since the start",
    "epoch": "Epochs since the start, with a fraction",
    "images": "Real images seen since the start",
    "seconds": "Training seconds over all attempts, without compilation, evaluation and pauses",
    "g_loss": "Generator loss",
    "d_loss": "Discriminator loss",
    "g_loss_mean": "Mean generator loss of the epoch",
    "d_loss_mean": "Mean discriminator loss of the epoch",
    "epoch_seconds": "Training seconds of the epoch, without compilation",
    "compile_seconds": "Seconds of tracing and compilation in the epoch",
    RATE: "Real images per second of the epoch's training steps",
    "g_x": "Descent path of G: first projection of its weights",
    "g_y": "Descent path of G: second projection of its weights",
    "d_x": "Descent path of D: first projection of its weights",
    "d_y": "Descent path of D: second projection of its weights",
    "evaluation_seconds": "Seconds that the evaluation took",
    "cpu_percent": "CPU in use, of the whole machine",
    "rss_bytes": "Resident memory of the trainer",
    "memory_percent": "Memory in use, of the whole machine",
    "gpu_percent": "GPU in use",
    "gpu_memory_bytes": "GPU memory in use",
}
EXAMPLES = (
    Panel(y="d_loss / g_loss", title="Balance of D and G", smoothing=0.9),
    Panel(y="cummin(fid)", x="seconds", title="Best FID so far"),
    Panel(y="d_real - d_fake", x="epoch", title="How well D tells real from generated"),
    Panel(y=RATE, x="epoch", title="Images per second"),
    Panel(y="g_y", x="g_x", title="Descent path of G"),
    Panel(y=("ema(g_loss, 0.9)", "ema(d_loss, 0.9)"), title="Losses, smoothed"),
)


def meaning(name: str, cadence: Cadence | None) -> str:
    """What a metric is; those that a script logged have no words of ours."""
    if cadence == "logged":
        return "Logged by the script"
    if name in METRICS:
        return f"{METRICS[name].label}: {METRICS[name].meaning}"
    return MEANINGS.get(name) or MEASURES.get(name) or SERIES.get(name) or name


def examples(known: Container[str]) -> list[Panel]:
    """Panels whose metrics are all among the `known`."""
    found = []
    for panel in EXAMPLES:
        used = [name for text in (*panel.curves, panel.x) for name in parse(text).names]
        if all(name in known or name in AXES for name in used):
            found.append(panel)
    return found[:4]
