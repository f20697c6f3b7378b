"""The tabs of the playground: what each asks for, and how it shows the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from ganboard.app import errors
from ganboard.app.playground import picks
from ganboard.app.playground.requests import show_answer
from ganboard.app.playground.sheet import sheet
from ganboard.db.models import Checkpoint, Request, Run
from ganboard.gan.generation.latent_requests import (
    MAX_ROWS,
    MAX_STEPS,
    NEIGHBOURS,
    SIDE,
    Around,
    Draw,
    Interpolate,
    LatentRequest,
    Nearest,
)
from ganboard.gan.settings import registry
from ganboard.worker import formatting
from ganboard.worker.context import Context

# images that can be requested, and the maximum size of each on the screen in pixels
SIDES = {16: 136, 36: 96, 64: 84}
TABS = "do"
SEEN = " Showers are seen from the side, the depth to the right, on one logarithmic scale."


@dataclass(frozen=True)
class Chosen:
    """What all tabs draw with."""

    context: Context
    run: Run
    checkpoint: Checkpoint
    seed: int
    psi: float
    conditions: dict[str, float | int]  # other inputs of the generator

    @property
    def common(self) -> dict[str, Any]:
        """What every request says."""
        return {"seed": self.seed, "psi": self.psi, **self.conditions}

    @property
    def views(self) -> list[str]:
        """Training images that are near are looked for among images alone."""
        of_images = registry.known(self.run.config).spec.examples == "images"
        return [name for name in VIEWS if name != "Nearest" or of_images]


def show(chosen: Chosen) -> None:
    """The tabs; only the open one asks for anything."""
    tabs = dict(
        zip(
            chosen.views,
            st.tabs(chosen.views, key=TABS, on_change="rerun", bind="query-params"),
            strict=True,
        )
    )
    name = next((name for name, tab in tabs.items() if tab.open), next(iter(VIEWS)))
    with tabs[name], errors.sentences(retry=True):  # an error leaves the choices above as they are
        VIEWS[name](chosen)


def draw(chosen: Chosen) -> None:
    picked = picks.picked()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        amount = st.segmented_control(
            "Images", tuple(SIDES), default=16, required=True, key="images", bind="query-params"
        )
        _go(
            "Interpolate between the two",
            "Interpolate",
            ":material/route:",
            len(picked) == 2,
            "Select two images",
        )
        if "Nearest" in chosen.views:
            _go(
                "Nearest training images",
                "Nearest",
                ":material/image_search:",
                bool(picked),
                "Select up to eight images",
            )
        _go("Look around", "Around", ":material/explore:", len(picked) == 1, "Select one image")
        st.button(
            "Unpick",
            icon=":material/close:",
            on_click=picks.clear,
            disabled=not picked,
            help="Pick none",
        )

    def shown(asked: Request) -> None:
        same_seed = asked.options["seed"] == chosen.seed
        labels = [
            f"Image {row + 1} of seed {asked.options['seed']}"
            for row in range(asked.facts["images"])
        ]
        chosen_rows = [row for row in picked if row < len(labels)] if same_seed else []
        columns = asked.facts["columns"]
        png, side = asked.result or b"", SIDES[len(labels)]
        clicked = sheet(
            png,
            columns=columns,
            labels=labels,
            key="sheet_draw",
            picked=chosen_rows,
            side=side,
            flow=True,
        )
        if clicked is not None and same_seed:
            picks.toggle(clicked)
            st.rerun()

    _show(chosen, Draw(**chosen.common, images=int(amount)), shown)
    compare = ", up to eight to compare with training images" if "Nearest" in chosen.views else ""
    st.caption(
        "Click images to select them: one to explore its neighbourhood, two to interpolate between"
        f" them{compare}.{'' if 'Nearest' in chosen.views else SEEN}"
    )


def interpolate(chosen: Chosen) -> None:
    picked = picks.picked()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        steps = st.slider(
            "Steps",
            3,
            MAX_STEPS,
            9,
            key="steps",
            bind="query-params",
            width=180,
            help="Images per row, including both ends",
        )
        if len(picked) == 2:
            request = Interpolate(
                **chosen.common, other=chosen.seed, first=picked[0], second=picked[1], steps=steps
            )
            st.button("Between two seeds instead", icon=":material/close:", on_click=picks.clear)
        else:
            other = picks.seed("to", "To seed", default=1)
            rows = st.slider(
                "Rows",
                1,
                MAX_ROWS,
                4,
                key="rows",
                bind="query-params",
                width=180,
                help="Interpolations, each with its own latents",
            )
            request = Interpolate(**chosen.common, other=other, steps=steps, rows=rows)

    def shown(asked: Request) -> None:
        options, columns = asked.options, asked.facts["columns"]
        labels = [
            f"Row {i // columns + 1}, {i % columns / (columns - 1):.0%} of the way from seed"
            f" {options['seed']} to seed {options['other']}"
            for i in range(asked.facts["images"])
        ]
        sheet(asked.result or b"", columns=columns, labels=labels, key="sheet_interpolate")

    _show(chosen, request, shown)
    ends = (
        f"From image {picked[0] + 1} to image {picked[1] + 1} of the seed"
        if len(picked) == 2
        else "From the seed on the left to the other"
    )
    st.caption(
        f"{ends}, along a great circle (slerp; Shoemake 1985, White 2016), since a straight line"
        " would pass through latents that are shorter than those in training. Select two images"
        " under Draw to interpolate between them."
    )


def nearest(chosen: Chosen) -> None:
    picked = picks.picked() or list(range(MAX_ROWS))

    def shown(asked: Request) -> None:
        facts, columns = asked.facts, asked.facts["columns"]
        captions, labels = [], []
        for row, distances in zip(asked.options["picks"], facts["distances"], strict=True):
            captions += ["drawn", *(formatting.decimal(distance, 2) for distance in distances)]
            labels += [
                f"Image {row + 1} as generated",
                *(
                    f"Training image at a distance of {formatting.decimal(one, 2)}"
                    for one in distances
                ),
            ]
        sheet(
            asked.result or b"",
            columns=columns,
            labels=labels,
            captions=captions,
            key="sheet_nearest",
            side=84,
        )
        spacing = facts["spacing"]
        compared = (
            " The median distance between a training image and its nearest neighbour is"
            f" {formatting.decimal(spacing, 2)}."
            if spacing
            else ""
        )
        st.caption(
            f"Left: generated. Right: the {NEIGHBOURS} nearest of {facts['searched']:,} training"
            " images with their Euclidean pixel distances (grey values from 0 to 1), so 0 is a"
            f" copy.{compared} Much smaller distances would indicate memorization."
        )

    _show(chosen, Nearest(**chosen.common, picks=picked), shown)


def around(chosen: Chosen) -> None:
    row = next(iter(picks.picked()), 0)
    degrees = st.slider(
        "Angle",
        1,
        90,
        25,
        key="degrees",
        bind="query-params",
        format="%d°",
        width=220,
        help=(
            "Angle between the latents of the centre and of the middle of an edge; random latents"
            " are about 90° apart."
        ),
    )

    def shown(asked: Request) -> None:
        labels = [f"Row {i // SIDE + 1}, column {i % SIDE + 1}" for i in range(SIDE * SIDE)]
        labels[SIDE * SIDE // 2] = (
            f"Image {asked.options['row'] + 1} of seed {asked.options['seed']}"
        )
        sheet(asked.result or b"", columns=SIDE, labels=labels, key="sheet_around", side=84)

    _show(chosen, Around(**chosen.common, row=row, degrees=degrees), shown)
    st.caption(
        f"Centre: image {row + 1} of the seed; around it, small rotations of its latents in two"
        " random directions."
    )


VIEWS: dict[str, Callable[[Chosen], None]] = {
    "Draw": draw,
    "Interpolate": interpolate,
    "Nearest": nearest,
    "Around": around,
}


def _go(label: str, view: str, icon: str, possible: bool, why_not: str) -> None:
    """A button that opens another tab with what is picked."""

    def go() -> None:
        st.session_state[TABS] = view

    st.button(
        label, icon=icon, on_click=go, disabled=not possible, help=None if possible else why_not
    )


def _show(chosen: Chosen, request: LatentRequest, shown: Callable[[Request], None]) -> None:
    name = f"{chosen.run.id}-step-{chosen.checkpoint.step}-{request.kind}-seed-{request.seed}"
    show_answer(
        chosen.context, chosen.run.id, chosen.checkpoint.step, request, file_name=name, show=shown
    )
