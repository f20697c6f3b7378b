"""What a page knows without asking the person: the way to the database, and what the URL says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import streamlit as st

from ganboard.app import auth
from ganboard.db.ids import is_id
from ganboard.db.settings import Settings
from ganboard.worker.access import sign_in
from ganboard.worker.context import Context, open_context

RUNS_PAGE = "pages/runs.py"
LAUNCH_PAGE = "pages/launch.py"
RUN_PAGE = "pages/run.py"
COMPARE_PAGE = "pages/compare.py"
FRONTIER_PAGE = "pages/frontier.py"
SEARCHES_PAGE = "pages/searches.py"
STUDIES_PAGE = "pages/studies.py"
CLAIMS_PAGE = "pages/claims.py"
MODELS_PAGE = "pages/models.py"
PLAYGROUND_PAGE = "pages/playground.py"
SYSTEM_PAGE = "pages/system.py"
VIEW_PAGE = "pages/view.py"
PAGES = {  # title and icon, in the order of the navigation
    RUNS_PAGE: ("Runs", ":material/list:"),
    LAUNCH_PAGE: ("Launch", ":material/rocket_launch:"),
    RUN_PAGE: ("Run", ":material/show_chart:"),
    COMPARE_PAGE: ("Compare", ":material/compare_arrows:"),
    FRONTIER_PAGE: ("Quality per second", ":material/trending_down:"),
    SEARCHES_PAGE: ("Searches", ":material/manage_search:"),
    STUDIES_PAGE: ("Studies", ":material/science:"),
    CLAIMS_PAGE: ("Claims", ":material/gavel:"),
    MODELS_PAGE: ("Models", ":material/deployed_code:"),
    PLAYGROUND_PAGE: ("Playground", ":material/palette:"),
    SYSTEM_PAGE: ("System", ":material/memory:"),
}
ACCOUNT = "account"  # the address of the page of whoever is signed in

MAX_COMPARED = 50  # whose curves are drawn over each other
SIDE_BY_SIDE = 8  # of them, where each has a bar, a column or pictures of its own


def address(page: str) -> str:
    """The path at which the server has a page; that of the runs is the root."""
    return "" if page == RUNS_PAGE else Path(page).stem


def context() -> Context:
    """This process's settings and engine, opened once. Raises SettingsError and DbError with one
    sentence."""
    settings = Settings()
    return replace(_open(settings, settings.model_dump_json()), user=auth.email())


@st.cache_resource(show_spinner=False, max_entries=4)
def _open(_settings: Settings, key: str) -> Context:
    opened, rules = open_context(_settings), sign_in(_settings)
    if rules is None:
        return opened
    return replace(
        opened, engine=opened.engine.execution_options(before_writing=auth.check_writes(rules))
    )


def run_param() -> str | None:
    """The run that `?run=` names, None when there is none or it cannot be an id."""
    return next(iter(_ids("run")), None)


def runs_param() -> list[str]:
    """The runs of `?runs=a,b` or `?runs=a&runs=b`, without repetitions, at most MAX_COMPARED."""
    return _ids("runs")[:MAX_COMPARED]


def runs_beyond() -> int:
    """How many more runs `?runs=` names than can be compared."""
    return max(0, len(_ids("runs")) - MAX_COMPARED)


def sweep_param() -> str | None:
    """The sweep that `?sweep=` names."""
    return next(iter(_ids("sweep")), None)


def search_param() -> str | None:
    """The search over settings that `?search=` names."""
    return next(iter(_ids("search")), None)


def study_param() -> str | None:
    """The study that `?study=` names."""
    return next(iter(_ids("study")), None)


def claim_param() -> str | None:
    """The claim that `?claim=` names."""
    return next(iter(_ids("claim")), None)


def model_param() -> str | None:
    """The version of a model that `?model=` names."""
    return next(iter(_ids("model")), None)


def clone_param() -> str | None:
    """The run whose settings `?clone=` asks to start from."""
    return next(iter(_ids("clone")), None)


def changes_param() -> list[str]:
    """The changed settings of `?clone=ID&set=beta_1=0.5,ema=0.999`, as KEY=VALUE."""
    asked = ",".join(st.query_params.get_all("set"))
    return [part.strip() for part in asked.split(",") if part.strip()]


def preview_param() -> str | None:
    """The run that the list of runs previews: `?preview=`."""
    return next(iter(_ids("preview")), None)


def set_preview_param(run_id: str | None) -> None:
    """Put the previewed run into the URL, or take it out."""
    if run_id is not None:
        st.query_params["preview"] = run_id
    elif "preview" in st.query_params:
        del st.query_params["preview"]


def set_runs_param(run_ids: list[str]) -> None:
    """Put the compared runs into the URL."""
    st.query_params["runs"] = ",".join(run_ids[:MAX_COMPARED])


def open_run(run_id: str) -> NoReturn:
    """Go to the page of a run."""
    st.switch_page(RUN_PAGE, query_params={"run": run_id})


def open_compare(run_ids: list[str]) -> NoReturn:
    """Go to the comparison of some runs."""
    st.switch_page(COMPARE_PAGE, query_params={"runs": ",".join(run_ids[:MAX_COMPARED])})


def open_launch(
    *, clone: str | None = None, changes: str = "", step: int | None = None
) -> NoReturn:
    """Go to the launch form, filled from a run if one is given, with `changes` of its settings
    ("beta_1=0.5,ema=0.999"), or to fork it at the checkpoint of `step`."""
    asked = {"clone": clone, "set": changes, "step": None if step is None else str(step)}
    st.switch_page(LAUNCH_PAGE, query_params={key: text for key, text in asked.items() if text})


def step_param() -> int | None:
    """The step of the checkpoint that `?step=` names."""
    text = st.query_params.get("step", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else None


def open_playground(run_id: str, step: int | None = None) -> NoReturn:
    """Go and draw with a run's generator, of the checkpoint of `step` if one is given."""
    asked = {"run": run_id} | ({} if step is None else {"step": str(step)})
    st.switch_page(PLAYGROUND_PAGE, query_params=asked)


def open_model(version_id: str) -> NoReturn:
    """Go to a version of a model."""
    st.switch_page(MODELS_PAGE, query_params={"model": version_id})


def open_runs() -> NoReturn:
    """Go to the list of runs."""
    # with None Streamlit refuses while a widget is bound to the address
    st.switch_page(RUNS_PAGE, query_params={})


def _ids(key: str) -> list[str]:
    parts = [part.strip() for value in st.query_params.get_all(key) for part in value.split(",")]
    return list(dict.fromkeys(part for part in parts if is_id(part)))
