"""What a person can do to one run: stop, resume, clone, delete, read its configuration."""

from __future__ import annotations

import orjson
import streamlit as st

from app import errors, run_actions, state
from db.models import ACTIVE, ENDED, Run
from worker import submit
from worker.context import Context


def show(context: Context, run: Run) -> None:
    """The row of buttons; what the run's state does not permit is greyed out and says why."""
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center", gap="small"):
        if run.status in ENDED:
            resumable = run.status != "finished"
            why = "Go on from the newest checkpoint." if resumable else "It has done all its epochs: clone it to train it anew."
            if st.button("Resume", key="resume", icon=":material/resume:", disabled=not resumable, help=why):
                with errors.sentences():
                    submit.resume(context, run.id)
                    st.rerun()
        else:
            asked = run.stop_requested_at is not None
            why = "It stops after its present step." if asked else "Save a checkpoint after the present step and stop; it can be resumed."
            if st.button("Stop", key="stop", icon=":material/stop:", disabled=asked, help=why):
                with errors.sentences():
                    submit.stop(context, run.id)
                    st.rerun()
        if st.button("Clone", key="clone_run", icon=":material/content_copy:", help="Open the launch form with these settings."):
            state.open_launch(clone=run.id)
        why = "Stop it first." if run.status in ACTIVE else "Remove its figures, images, log and checkpoints."
        if st.button("Delete", key="delete", icon=":material/delete:", disabled=run.status in ACTIVE, help=why):
            run_actions.confirm_delete(context, [run])
        with st.popover("Config", icon=":material/data_object:", help="The stored configuration as JSON."):
            st.code(orjson.dumps(run.config, option=orjson.OPT_INDENT_2).decode(), language="json")
