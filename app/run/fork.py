"""Below the losses of a run: fork it at a checkpoint, and compare the branches."""

from __future__ import annotations

import streamlit as st

from ganboard.app import auth, navigation
from ganboard.db.models import Run
from ganboard.db.runs import forks
from ganboard.worker.context import Context
from ganboard.worker.submission import forking


def show(context: Context, run: Run) -> None:
    """A checkpoint to choose, and the way to the launch form; the branches that there are."""
    stored = {} if forking.refusal(context, run) else forking.steps(context, run.id)
    branches = forks.branches(context.engine, run)
    if not stored and len(branches) < 2:
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        if stored:
            step = st.selectbox(
                "Checkpoint",
                list(reversed(stored)),
                format_func=lambda step: f"Epoch {stored[step]}, step {step:,}",
                key="fork_step",
                width=220,
                filter_mode=None,
            )
            if st.button(
                "Fork here",
                icon=":material/call_split:",
                key="fork",
                **auth.writer(
                    "Continue from this checkpoint with other settings, as a run of its own. A run"
                    f" keeps its latest {run.config.get('keep_checkpoints', 3)} checkpoints"
                    " (keep_checkpoints)."
                ),
            ):
                navigation.open_launch(clone=run.id, step=step)
        if len(branches) > 1 and st.button(
            f"Compare {len(branches)} branches",
            icon=":material/account_tree:",
            key="branches",
            help="Runs that share a beginning, on one chart.",
        ):
            navigation.open_compare([one.id for one in branches])
