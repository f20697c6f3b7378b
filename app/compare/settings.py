"""What several runs differ in: settings, and what the trainer found on its machine."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ganboard.app.compare.comparison import Compared
from ganboard.app.run.recorded.records import flat
from ganboard.db.models import Run
from ganboard.gan.events import FACTS, UNLISTED
from ganboard.gan.settings.metadata import fields_by_group
from ganboard.worker import formatting
from ganboard.worker.studies.comparison_groups import machine

PEAK = "peak_gflops"


def frame_of(compared: Compared, *, everything: bool = False) -> pd.DataFrame:
    """Settings and metrics of the whole run, as text: one row each, one column per run.

    Those in which at least one run differs from the baseline, or all, with a mark where they
    differ.
    """
    peak_rates = _peaks(compared.runs)
    rows = {
        run.id: _described(run, compared.runs, peak_rates.get(_place(run))) for run in compared.runs
    }
    order = list(
        dict.fromkeys(
            name for run_id in (compared.baseline.id, *compared.ids) for name in rows[run_id]
        )
    )
    groups = {
        group: place for place, group in enumerate(dict.fromkeys(group for group, _ in order))
    }
    labels, found = compared.labels(), []
    for group, name in sorted(order, key=lambda entry: groups[entry[0]]):
        values = {
            labels[run_id]: described.get((group, name), "–") for run_id, described in rows.items()
        }
        differs = len(set(values.values())) > 1
        if everything or differs:
            found.append(
                {"Differs": "●" if differs else "", "Group": group, "Name": name, **values}
            )
    return pd.DataFrame(found, columns=["Differs", "Group", "Name", *labels.values()])


def _place(run: Run) -> tuple[str, str, bool, str]:
    """Host, devices, whether it trained on GPUs, and precision: what a peak belongs to."""
    hardware = run.hardware or {}
    if run.external:
        return str(hardware.get("host")), machine(run), False, ""
    on_gpu = 0 < run.config["replicas"] <= len(hardware.get("gpus") or ())
    return str(hardware.get("host")), machine(run), on_gpu, run.config["precision"]


def _peaks(runs: list[Run]) -> dict[tuple[str, str, bool, str], float]:
    """The highest peak that any of these runs measured on each machine in each precision."""
    found: dict[tuple[str, str, bool, str], float] = {}
    for run in runs:
        peak_rate = run.facts.get(PEAK)
        if isinstance(peak_rate, int | float) and run.hardware:
            found[_place(run)] = max(peak_rate, found.get(_place(run), 0.0))
    return found


def _described(
    run: Run, runs: Sequence[Run], peak_rate: float | None
) -> dict[tuple[str, str], str]:
    """All of a run that can be compared with that of `runs`, by group and name."""
    found = {
        (group, name): formatting.format_value(run.config[name])
        for group, fields in fields_by_group().items()
        for name in fields
        if name in run.config
    }
    known = {name for _, name in found}
    found |= {
        ("Unknown", name): formatting.format_value(value)
        for name, value in sorted(run.config.items())
        if name not in known
    }
    sizes = {
        "Images": run.examples,
        "Steps per epoch": run.steps_per_epoch,
        "Parameters of the generator": run.g_parameters,
    }
    sizes |= {"Parameters of the discriminator": run.d_parameters}
    found |= {
        ("Size", name): formatting.integer(value)
        for name, value in sizes.items()
        if value is not None
    }
    found |= {("Hardware", name): value for name, value in flat(run.hardware or {})}
    facts = {
        name: value for name, value in run.facts.items() if name not in {"class_shares", *UNLISTED}
    }  # ten numbers in a cell are not readable
    if peak_rate is not None and PEAK in facts:
        facts[PEAK] = peak_rate
    for name in sorted(facts):
        beside = [other.facts.get(name) for other in runs]
        found["Measured", FACTS.get(name, name)] = formatting.fact(name, facts[name], beside)
    return found


def controls() -> bool:
    """Whether all settings are shown."""
    return st.toggle(
        "All settings",
        key="all",
        bind="query-params",
        help="Include settings that are equal in all runs",
    )


def draw(compared: Compared, everything: bool) -> None:
    """The tab Settings."""
    frame = frame_of(compared, everything=everything)
    if not frame[frame["Differs"] != ""]["Group"].isin([*fields_by_group(), "Unknown"]).any():
        st.caption("All settings are equal.")
    if frame.empty:
        return
    st.dataframe(
        frame if everything else frame.drop(columns="Differs"),
        hide_index=True,
        height="content",
        key=f"differences-{everything}",
    )
    if not everything:
        st.caption(
            "Only differences are listed: first settings, then facts that the trainer measured."
        )
