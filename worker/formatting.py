"""How stored values become text, on pages and in the terminal: escaping, shortening, durations,
sizes, words for states."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ganboard.gan.quality.declared import METRICS

BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
WORD_JOINER = "\u2060"
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Streamlit looks for icons, emoji codes, arrows, links and addresses in text that is already
# parsed, where a backslash is gone: an invisible character that is no part of any of them keeps
# them apart
_LATE_SYNTAX = re.compile(r"(?<=[:@])(?=\S)|(?<=[-<>=~])(?=[-<>=~])|(?<=www)(?=\.)", re.IGNORECASE)


def escape(text: str) -> str:
    """`text` so that Streamlit's Markdown shows it literally and on one line, in labels as in
    bodies.

    Use it for everything a person typed; `st.text`, `st.code` and table cells take text as it is.
    """
    return _PUNCTUATION.sub(r"\\\1", _LATE_SYNTAX.sub(WORD_JOINER, " ".join(text.split())))


def clean(text: str) -> str:
    """Text on one line, without the characters that could move the cursor or reorder what is shown;
    the joiner of emoji stays."""
    one_line = text.translate({ord(c): " " for c in "\n\r\t"})
    return "".join(
        c if c.isprintable() or c == "\u200d" else "\N{REPLACEMENT CHARACTER}" for c in one_line
    )


def sentence(text: str) -> str:
    """Markdown for a message of ours: commands between backticks look like code, all else is
    literal."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick without a partner
        return escape(text)
    return "".join(
        f"`{part}`" if position % 2 and part.strip() else _in_sentence(part)
        for position, part in enumerate(parts)
    )


def _in_sentence(part: str) -> str:
    return " " * part[:1].isspace() + escape(part) + " " * part[-1:].isspace()


def shorten(text: str, limit: int = 40) -> str:
    """At most `limit` characters, the last one an ellipsis when something was cut. Shorten before
    you escape."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def duration(seconds: float | None) -> str:
    """0.042 -> "42 ms", 3.21 -> "3.2 s", 80 -> "1 min 20 s", 7500 -> "2 h 5 min", 200000 -> "2 d 7
    h"; None -> "–"."""
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return "–"
    if seconds == 0:
        return "0 s"
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms" if seconds >= 0.001 else "< 1 ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for name, below, size in (("d", "h", 86_400), ("h", "min", 3600), ("min", "s", 60)):
        if whole >= size:
            part = whole % size // {"h": 3600, "min": 60, "s": 1}[below]
            return f"{whole // size} {name} {part} {below}" if part else f"{whole // size} {name}"
    return f"{whole} s"


def ago(seconds: float) -> str:
    """How long ago, in one unit: "just now", "12 s ago", "3 min ago", "2 d ago"."""
    if seconds < 2:
        return "just now"
    for name, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {name} ago"
    return f"{seconds:.0f} s ago"


def size(count: float, beside: Iterable[float] = ()) -> str:
    """Bytes in binary units, three digits: 1536 -> "1.5 KiB", 1020 MiB -> "0.996 GiB".

    Sizes that are compared share a unit: that of the largest of `beside`, the others.
    """
    largest, unit = max([count, *beside]), 0
    while largest >= 999.5 and unit < len(BINARY) - 1:
        largest, unit = largest / 1024, unit + 1
    scaled = count / 1024**unit
    if 0 < scaled < 0.01:
        return f"< 0.01 {BINARY[unit]}"
    return f"{scaled:,.0f} {BINARY[unit]}" if scaled >= 999.5 else f"{scaled:.3g} {BINARY[unit]}"


def integer(count: float | None) -> str:
    """60000 -> "60,000"; None -> "–"."""
    return "–" if count is None or not math.isfinite(count) else f"{count:,.0f}"


def decimal(value: float | None, digits: int = 4) -> str:
    """A loss or rate; what is not finite is named, for it is news: "NaN", "∞"."""
    if value is None:
        return "–"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:,.{digits}f}"


def share(value: float | None) -> str:
    """0.625 -> "62 %", 0.004 -> "0.4 %"; None -> "–"."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{100 * value:.1f} %" if abs(value) < 0.0995 else f"{100 * value:.0f} %"


def fact(name: str, value: Any, beside: Iterable[Any] = ()) -> str:
    """A fact of a run: bytes as `size`, whole numbers with commas, lists in a row.

    `beside` are the values of the same fact that it is compared with.
    """
    if isinstance(value, list):
        return ", ".join(fact(name, one, value) for one in value) or "none"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if name.endswith("_bytes"):
        return size(value, (other for other in beside if isinstance(other, int | float)))
    whole = isinstance(value, int) or abs(value) >= 9999.5  # where 4 digits would be an exponent
    return f"{value:,.0f}" if whole and math.isfinite(value) else f"{value:,.4g}"


def rate(value: float | None) -> str:
    """Examples per second: 1234.5 -> "1,234", 2.34 -> "2.3"; None -> "–"."""
    return f"{value:.1f}" if value is not None and 0 <= value < 9.95 else integer(value)


def quality_summary(measures: Mapping[str, float]) -> str:
    """The measures of quality that say most, on one line."""
    return ", ".join(
        metric.summary.format(measures[name])
        for name, metric in METRICS.items()
        if metric.summary and name in measures
    )


def plural(count: int, noun: str) -> str:
    """1, "run" -> "1 run"; 3, "run" -> "3 runs"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


@dataclass(frozen=True)
class StatusStyle:
    """How a state of a run appears: a word, a Material icon, a colour of Streamlit's, and what it
    means."""

    word: str
    icon: str
    colour: str
    meaning: str


STATUS = {
    "queued": StatusStyle("Queued", ":material/schedule:", "gray", "Waiting for a free worker."),
    "starting": StatusStyle(
        "Starting",
        ":material/rocket_launch:",
        "blue",
        "Claimed by a worker, which is setting up TensorFlow, data and networks.",
    ),
    "running": StatusStyle("Running", ":material/play_arrow:", "blue", "Training."),
    "finished": StatusStyle("Finished", ":material/check:", "green", "All epochs are finished."),
    "failed": StatusStyle(
        "Failed", ":material/error:", "red", "Ended with an error, shown on its page."
    ),
    "stopped": StatusStyle(
        "Stopped",
        ":material/stop:",
        "orange",
        "Stopped before its last epoch; can be resumed from the latest checkpoint.",
    ),
    "pruned": StatusStyle(
        "Pruned",
        ":material/content_cut:",
        "violet",
        "Stopped by its search: others did better. Can be resumed from the latest checkpoint.",
    ),
    "suspended": StatusStyle(
        "Suspended",
        ":material/pause:",
        "gray",
        "The worker shut down; the run resumes automatically when a worker is free.",
    ),
}

PHASE = {
    "awaiting its machine": "Waiting for its machine",
    "starting": "Starting the trainer",
    "importing": "Importing TensorFlow",
    "loading": "Loading the data",
    "building": "Building the networks",
    "compiling": "Compiling the training step",
    "training": "Training",
    "evaluating": "Evaluating the generated images",
    "judging": "Evaluating the generated images",  # as older trainers call it
    "saving": "Saving a checkpoint",
}


def status_badge(status: str) -> str:
    """Markdown for a status: an icon and a word in its colour."""
    style = STATUS[status]
    return f":{style.colour}-badge[{style.icon} {style.word}]"


def status_word(status: str) -> str:
    return STATUS[status].word


def phase_progress(doing: str, share: float, seconds_left: float | None) -> str:
    """How far a phase of a run is: `decoding 40 %, 2 min left`."""
    left = "" if seconds_left is None else f", {duration(seconds_left)} left"
    return f"{doing}{f' {100 * share:.0f} %' if share else ''}{left}"


def phase_word(phase: str | None) -> str:
    """What a run is doing right now; unknown phases of a newer trainer are shown by their name."""
    return "" if phase is None else PHASE.get(phase, phase)


def format_value(value: Any) -> str:
    """A setting as people write it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
