"""What a person can do to one run: stop, resume, clone, delete, take its data along, read its
configuration."""

from __future__ import annotations

import orjson
import streamlit as st

from ganboard.app import auth, errors, navigation
from ganboard.app.run import actions
from ganboard.db.models import ACTIVE, ENDED, Run
from ganboard.gan.config import has_latent_space
from ganboard.gan.settings import registry
from ganboard.worker.context import Context
from ganboard.worker.reports import pdf
from ganboard.worker.submission import submit

DOWNLOADS = {
    "export.zip": "everything: JSON, tables, images, log",
    "": "the run with its epochs as JSON",
    "epochs.csv": "one row per epoch",
    "losses.csv": "losses, learning rates and times of all steps",
    "quality.csv": "every evaluation",
    "events.csv": "events with times",
    "train.log": "the log as text",
    "model": "the latest checkpoint, with instructions for loading it",
}


def show(context: Context, run: Run) -> None:
    """The row of buttons; what the run's state does not permit is greyed out and says why."""
    missing = None if run.external else registry.missing(run.config)
    with st.container(
        horizontal=True,
        horizontal_alignment="right",
        vertical_alignment="center",
        gap="xsmall",
        key="run_buttons",
    ):
        if run.status in ENDED:
            resumable = run.status != "finished" and not run.external and not missing
            why = (
                actions.SCRIPTS
                if run.external
                else missing
                or (
                    "Resume from the latest checkpoint."
                    if resumable
                    else "All epochs are done: clone the run to train it again."
                )
            )
            if st.button(
                "Resume",
                key="resume",
                icon=":material/resume:",
                **auth.writer(why, disabled=not resumable),
            ):
                with errors.sentences():
                    submit.resume(context, run.id)
                    st.rerun()
        else:
            asked = run.stop_requested_at is not None
            why = (
                "Stopping after the current step."
                if asked
                else "Ask the script to stop; it must check run.should_stop."
                if run.external
                else "Save a checkpoint after the current step and stop; the run can be resumed."
            )
            if st.button(
                "Stop", key="stop", icon=":material/stop:", **auth.writer(why, disabled=asked)
            ):
                with errors.sentences():
                    submit.stop(context, run.id)
                    st.rerun()
        if st.button(
            "Clone",
            key="clone_run",
            icon=":material/content_copy:",
            disabled=run.external or missing is not None,
            help=actions.SCRIPTS
            if run.external
            else missing or "Open the launch form with these settings.",
        ):
            navigation.open_launch(clone=run.id)
        displayed = not run.external and not missing and has_latent_space(run.config)
        why = (
            "The networks of a script are not stored here."
            if run.external
            else missing
            if missing
            else "Open the playground to generate new images with this run."
            if displayed
            else "A pix2pix has no latent space. Use the Prediction tab to predict flows."
        )
        if st.button(
            "Draw", key="draw", icon=":material/palette:", help=why, disabled=not displayed
        ):
            navigation.open_playground(run.id)
        why = "Stop the run first." if run.status in ACTIVE else actions.TO_TRASH
        if st.button(
            "Delete",
            key="delete",
            icon=":material/delete:",
            **auth.writer(why, disabled=run.status in ACTIVE),
        ):
            actions.delete(context, [run])
            st.rerun()
        with st.popover(
            "Download",
            icon=":material/download:",
            help="A report, or the run as files; the same addresses serve as an API.",
        ):
            _report(run)
            address = f"/api/runs/{run.id}"
            st.markdown(
                "**Files**\n\n"
                + "\n".join(
                    f"- [{name or 'run.json'}]({address + '/' * bool(name) + name}) :gray[{what}]"
                    for name, what in DOWNLOADS.items()
                )
            )
        with st.popover(
            "Config", icon=":material/data_object:", help="The stored configuration as JSON."
        ):
            st.code(orjson.dumps(run.config, option=orjson.OPT_INDENT_2).decode(), language="json")


def _report(run: Run) -> None:
    """The report as HTML, and as PDF where a browser can print it."""
    address = f"/api/runs/{run.id}/report"
    printed = (
        f"- [PDF]({address}.pdf) :gray[takes some seconds]"
        if pdf.browser()
        else "- PDF: :gray[open the HTML report and press Print / save as PDF]"
    )
    st.markdown(
        "**Report**: settings, machine, curves, images, events and diagnosis\n\n"
        f"- [HTML]({address}.html) :gray[one file that needs no network]\n{printed}"
    )
    st.code(f"ganboard report {run.id} --html report.html --pdf report.pdf", language=None)
