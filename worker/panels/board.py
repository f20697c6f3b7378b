"""Boards: the panels that a person arranged, as JSON that fits into an address.

`Board.model_json_schema()` is the schema of what `encode` writes and `decode` reads.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    StringConstraints,
    ValidationError,
    field_validator,
)

from ganboard.db.curves.stored import TIME
from ganboard.gan.settings.problems import legible
from ganboard.worker.panels.errors import BadPanel
from ganboard.worker.panels.expressions import LENGTH, parse

PANELS = 24  # of one board
CURVES = 6  # expressions of one panel
TITLE = 80  # characters
ADDRESS = 4000  # characters of a board in an address
MAX_SMOOTHING = 0.999
EXAMPLE = '[{"y":"d_loss / g_loss"}]'
Width = Literal["third", "half", "full"]
Written = Annotated[str, StringConstraints(max_length=LENGTH)]
Several = Annotated[tuple[Written, ...], Field(min_length=1, max_length=CURVES)]


class Panel(BaseModel):
    """One chart: expressions over an axis, and how they are drawn."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    y: Written | Several = Field(
        description="Metric or expression, such as d_loss / g_loss, or a list of several"
    )
    x: Written = Field("step", description="step, epoch, images, seconds, time or an expression")
    title: Annotated[str, StringConstraints(max_length=TITLE)] = Field(
        "", description="Above the chart; empty: the expressions"
    )
    log_x: bool = Field(False, description="Logarithmic x axis")
    log_y: bool = Field(False, description="Logarithmic y axis")
    smoothing: float = Field(
        0.0, ge=0, le=MAX_SMOOTHING, description="Weight of past values in the moving average"
    )
    width: Width = Field("half", description="Share of the page's width")
    pinned: bool = Field(False, description="First on the board, and on the first tab of a run")

    @field_validator("y", mode="before")
    @classmethod
    def _one_or_several(cls, given: Any) -> str | tuple[str, ...]:
        """One expression is kept as it is, so that boards read alike whoever wrote them."""
        texts = list(given) if isinstance(given, list | tuple) else [given]
        if not texts or not all(isinstance(text, str) for text in texts):
            raise ValueError(f"y must be an expression or a list of up to {CURVES}.")
        if len(texts) > CURVES:
            raise ValueError(f"A panel has at most {CURVES} expressions, not {len(texts)}.")
        found = tuple(dict.fromkeys(_readable(text) for text in texts))
        return found[0] if len(found) == 1 else found

    @field_validator("x")
    @classmethod
    def _axis(cls, text: str) -> str:
        return TIME if text.strip() == TIME else _readable(text)

    @property
    def curves(self) -> tuple[str, ...]:
        """Its expressions."""
        return (self.y,) if isinstance(self.y, str) else self.y

    @property
    def called(self) -> str:
        """Its title."""
        if self.title.strip():
            return self.title.strip()
        drawn = ", ".join(self.curves)
        return drawn if self.x in ("step", "epoch") else f"{drawn} over {self.x}"


class Board(RootModel[tuple[Panel, ...]]):
    """Panels in their order, those that are pinned first."""

    model_config = ConfigDict(frozen=True)
    root: Annotated[tuple[Panel, ...], Field(max_length=PANELS)] = ()

    @field_validator("root")
    @classmethod
    def _pinned_first(cls, panels: tuple[Panel, ...]) -> tuple[Panel, ...]:
        return tuple(sorted(panels, key=lambda panel: not panel.pinned))

    @property
    def panels(self) -> tuple[Panel, ...]:
        """Those that are pinned first."""
        return self.root

    def with_panel(self, panel: Panel, place: int | None = None) -> Board:
        """A panel in this place, or after the last. Raises BadPanel if the board is full."""
        if place is None and len(self.root) >= PANELS:
            raise BadPanel(f"A board has at most {PANELS} panels. Remove one first.")
        panels = list(self.panels)
        if place is None:
            panels.append(panel)
        else:
            panels[place] = panel
        return Board(tuple(panels))

    def without(self, place: int) -> Board:
        """All panels but one."""
        return Board(tuple(one for at, one in enumerate(self.panels) if at != place))

    def moved(self, place: int, by: int) -> Board:
        """A panel moved `by` places, among those that are pinned or not as it is."""
        panels = list(self.panels)
        to = min(max(place + by, 0), len(panels) - 1)
        panels.insert(to, panels.pop(place))
        return Board(tuple(panels))


def encode(board: Board) -> str:
    """The board as JSON without what is at its default. Raises BadPanel if no address holds it."""
    entries = board.model_dump(exclude_defaults=True)
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    if len(text) > ADDRESS:
        raise BadPanel(
            f"The board has {len(text):,} characters; the limit for an address is {ADDRESS:,}."
            " Remove panels or shorten their titles."
        )
    return text


def decode(text: str) -> Board:
    """The board that `encode` wrote, or a person. Raises BadPanel with one sentence."""
    if len(text) > ADDRESS:
        raise BadPanel(
            f"The panels in the address have {len(text):,} characters; the limit is {ADDRESS:,}."
        )
    try:
        return Board.model_validate_json(text)
    except ValidationError as error:
        raise BadPanel(_sentence(error)) from None


def check(values: dict[str, Any]) -> Panel:
    """A panel of these values. Raises BadPanel with one sentence."""
    try:
        return Panel.model_validate(values)
    except ValidationError as error:
        raise BadPanel(_sentence(error)) from None


def _readable(text: str) -> str:
    try:
        return parse(text).text
    except BadPanel as mistake:
        raise ValueError(str(mistake)) from None


def _sentence(error: ValidationError) -> str:
    found = error.errors(include_url=False)[0]
    place = [part for part in found["loc"] if isinstance(part, int)]
    where = f"Panel {place[0] + 1}: " if place else ""
    field = legible(next((part for part in reversed(found["loc"]) if isinstance(part, str)), ""))
    wanted = (
        str(found["msg"]).replace("Input should", "it must").replace("String should", "it must")
    )
    if found["type"] == "value_error":
        return f"{where}{wanted.removeprefix('Value error, ')}"
    if found["type"] == "json_invalid" or (found["type"] == "tuple_type" and not place):
        return f"The panels in the address are not a list such as {EXAMPLE}."
    if found["type"] == "too_long" and not place:
        return f"The address has more panels than the {PANELS} that a board can have."
    if found["type"] == "missing":
        return f"{where}{field} is missing; a panel is written like {EXAMPLE}."
    if found["type"] == "extra_forbidden":
        known = ", ".join(Panel.model_fields)
        return f"{where}{field!r} is not a field of a panel; the fields are {known}."
    if not field:
        return f"{where}{legible(found['input'])} is not a panel such as {EXAMPLE}."
    return f"{where}{field}={legible(found['input'])} is not allowed: {wanted}."
