"""Launching a fork: `?clone=ID&step=N` continues that run from its checkpoint of step N."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from ganboard.app import errors, navigation
from ganboard.app.launch.plan import LaunchPlan
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.config import RunConfig
from ganboard.worker import formatting
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.submission import forking


@dataclass(frozen=True)
class Fork:
    """The run and the checkpoint that a new run continues from."""

    context: Context
    parent: Run
    step: int
    epoch: int  # finished by then

    @property
    def source(self) -> str:
        """What the form starts from, in words."""
        name = formatting.shorten(self.parent.name, 60)
        return (
            f"Continues “{name}” ({self.parent.id}) after step {self.step:,}, epoch {self.epoch},"
            " with the settings below. The plan counts the epochs until there too."
        )

    def checked(self, found: LaunchPlan) -> LaunchPlan:
        """The plan, with the problem that its settings would not continue the run."""
        if found.config is None or found.problem is not None:
            return found
        try:
            forking.checked(self.context, self.parent, self.step, found.config)
        except CLEAR_ERRORS as error:
            return replace(found, problem=str(error))
        return found

    def launch(self, config: RunConfig, name: str | None) -> Run:
        changes = config.model_dump()
        return forking.fork(self.context, self.parent.id, changes, step=self.step, name=name)


def asked(context: Context, parent: dict[str, Any] | None) -> Fork | None:
    """The fork that the address asks for. One that cannot be made is said, and the form clones."""
    step = navigation.step_param()
    run = queries.get_run(context.engine, parent["id"]) if parent and step is not None else None
    if run is None or step is None:
        return None
    why = forking.refusal(context, run)
    stored = {} if why else forking.steps(context, run.id)
    if step not in stored:
        errors.report(
            f"{why or f'Run {run.id} has no checkpoint of step {step:,} any more.'} The form clones"
            " the run instead.",
            "warning",
        )
        st.query_params.pop("step")
        return None
    return Fork(context, run, step, stored[step])
