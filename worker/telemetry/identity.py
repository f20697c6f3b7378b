"""Ids of traces and spans, derived from a run's id: every process knows them, so none has to hand
them to the next."""

from __future__ import annotations

from hashlib import sha256


def trace_id(run_id: str) -> int:
    """128 bits, the same for all attempts of a run."""
    return _number(f"run {run_id}", 16)


def submit_id(run_id: str) -> int:
    """64 bits, of the span that all others are below."""
    return _number(f"submit {run_id}", 8)


def attempt_id(run_id: str, attempt: int) -> int:
    return _number(f"attempt {run_id} {attempt}", 8)


def start_id(run_id: str, attempt: int) -> int:
    return _number(f"start {run_id} {attempt}", 8)


def _number(text: str, size: int) -> int:
    return int.from_bytes(sha256(f"ganboard {text}".encode()).digest()[:size]) or 1
