"""Which points of the latent space are meant: seeds, and the images that were picked, kept in the
address as `?picked=3,17`."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import streamlit as st

from ganboard.gan.generation.latent_requests import MAX_IMAGES, MAX_ROWS, MAX_SEED

PICKED = "picked"


def seed(
    key: str, label: str, *, default: int = 0, on_change: Callable[[], None] = lambda: None
) -> int:
    """A seed in the address as `key`, with a button for another one."""

    def shuffle() -> None:
        st.session_state[key] = secrets.randbelow(MAX_SEED + 1)
        on_change()

    chosen = st.number_input(
        label,
        0,
        MAX_SEED,
        default,
        step=1,
        key=key,
        bind="query-params",
        on_change=on_change,
        width=190,
        help=(
            "Equal seeds give equal latents in all runs and epochs; a run's own seed gives the"
            " latents of its image grid."
        ),
    )
    st.button("New seed", key=f"{key}_new", icon=":material/casino:", on_click=shuffle)
    return int(chosen)


def picked() -> list[int]:
    """The picked rows of the seed, in the order in which they were picked."""
    parts = st.query_params.get(PICKED, "").split(",")[: 2 * MAX_ROWS]
    rows = [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) <= 3]
    return [row for row in dict.fromkeys(rows) if row < MAX_IMAGES][:MAX_ROWS]


def toggle(row: int) -> None:
    """Pick a row, or put it back; of more than MAX_ROWS the oldest goes."""
    before = picked()
    rows = [one for one in before if one != row] if row in before else [*before, row][-MAX_ROWS:]
    if rows:
        st.query_params[PICKED] = ",".join(map(str, rows))
    else:
        clear()


def clear() -> None:
    st.query_params.pop(PICKED, None)
