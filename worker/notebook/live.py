"""A run that trains, in the output of a notebook's cell: state and progress, losses, images."""

from __future__ import annotations

import html
import time
from typing import Any, Protocol

from ganboard.worker import formatting

IMAGE_SIDE = 320  # pixels on the screen


class Watched(Protocol):
    """What is read of a `StoredRun`, anew each time."""

    @property
    def name(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def ended(self) -> bool: ...
    @property
    def error(self) -> str | None: ...
    @property
    def settings(self) -> dict[str, Any]: ...
    @property
    def epoch(self) -> int: ...
    @property
    def losses(self) -> Any: ...
    def image(self, epoch: int | None = None) -> Any: ...


def watch(run: Watched, seconds: float) -> None:
    """Redraw three outputs in place every `seconds` until the run has ended, or Ctrl-C."""
    from IPython.display import HTML, DisplayHandle

    places = {name: DisplayHandle() for name in ("state", "losses", "images")}
    places["state"].display(HTML(state(run)))
    drawn = places["losses"], places["images"]
    for place in drawn:
        place.display(HTML(""))
    epoch = -1
    try:
        while True:
            over, now = run.ended, run.epoch
            places["state"].update(HTML(state(run)))
            if len(run.losses.frame):
                # a figure shows itself anew instead of in place
                drawn[0].update(run.losses._repr_mimebundle_(), raw=True)
            if now != epoch and (picture := _image(run)) is not None:
                drawn[1].update(picture)
            epoch = now
            if over:
                return
            time.sleep(seconds)
    except KeyboardInterrupt:
        return


def state(run: Watched) -> str:
    """Name, state and progress as HTML."""
    planned = run.settings.get("epochs")
    of = f" of {planned}" if type(planned) is int else ""
    words = [f"<b>{html.escape(run.name)}</b>", run.status, f"epoch {run.epoch}{of}"]
    if run.error:
        words.append(html.escape(formatting.clean(run.error)))
    bar = ""
    if type(planned) is int and planned > 0:
        share = min(1.0, run.epoch / planned)
        bar = f'<br><progress value="{share:.3f}" style="width: 20em"></progress>'
    return " · ".join(words) + bar


def _image(run: Watched) -> Any:
    try:
        picture = run.image()
    except KeyError:
        return None
    scale = max(1, IMAGE_SIDE // max(picture.size))
    return picture.resize((picture.width * scale, picture.height * scale), 0)
