"""What a person should know of the chosen settings on a machine, and the setting that is faster."""

from __future__ import annotations

from typing import Any

import streamlit as st

from ganboard.app.launch import settings_form
from ganboard.gan.config import RunConfig
from ganboard.gan.devices import capabilities
from ganboard.worker import formatting


def show(config: RunConfig, machine: dict[str, Any]) -> None:
    """The remarks on `config`; a button puts what is faster on `machine` into the form."""
    for remark in capabilities.remarks(config, machine):
        st.caption(formatting.escape(remark))
    for name, value in capabilities.faster(config, machine).items():
        st.button(
            f"Use {value}",
            key=f"faster_{name}",
            icon=":material/speed:",
            on_click=settings_form.clicked().update,
            args=({name: value},),
        )
