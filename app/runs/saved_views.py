"""Saved views: save the current address of a page under a name, open it, delete it."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st
from sqlalchemy import Engine

from ganboard.app import auth, errors, navigation
from ganboard.db.runs import annotations as run_annotations
from ganboard.worker import formatting


def show(page: str) -> None:
    """The button of a page, which is named by its `url_path`."""
    if st.button(
        "Views", icon=":material/bookmark:", key="views", help="Save the current view of this page"
    ):
        _views(page)


@st.dialog("Views", icon=":material/bookmark:")
def _views(page: str) -> None:
    engine = navigation.context().engine
    _list(engine, page)
    _save(engine, page)


def _list(engine: Engine, page: str) -> None:
    views = run_annotations.views(engine, page)
    if not views:
        st.caption(
            "No saved views yet. A view stores this page's filters, columns and options under a"
            " name and is visible to everyone."
        )
    for view in views:
        with st.container(
            horizontal=True,
            vertical_alignment="center",
            horizontal_alignment="distribute",
            gap="small",
        ):
            st.page_link(
                navigation.VIEW_PAGE,
                label=formatting.escape(view.name),
                icon=":material/bookmark:",
                query_params={"name": view.name},
            )
            if st.button(
                "Delete",
                icon=":material/delete:",
                type="tertiary",
                key=f"forget_{view.name}",
                **auth.writer("Delete this view"),
            ):
                with errors.sentences():
                    run_annotations.delete_view(engine, name=view.name)
                    st.rerun("fragment")


def _save(engine: Engine, page: str) -> None:
    with st.form("save_view", clear_on_submit=True, border=False):
        name = st.text_input(
            "Save the current view as",
            max_chars=run_annotations.VIEW_NAME_LENGTH,
            placeholder="For example: bfloat16 vs. float32",
        )
        if st.form_submit_button("Save", icon=":material/bookmark_add:", **auth.writer()):
            with errors.sentences():
                address = {key: st.query_params.get_all(key) for key in st.query_params}
                run_annotations.save_view(
                    engine, name=name, page=page, query=urlencode(address, doseq=True)
                )
                st.rerun("fragment")
