"""What the network will see of a person's pictures, beside the form."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ganboard.gan.config import RunConfig
from ganboard.gan.data import DatasetError, pictures
from ganboard.gan.data.dataset import SIDE
from ganboard.gan.data.pictures import Sheet
from ganboard.gan.settings.pictures import PictureConfig
from ganboard.worker import formatting

SHOWN = 32  # pictures, which are all that is read
GREY = 1  # of models whose pictures have one size


def show(config: RunConfig, data_dir: Path) -> None:
    """The sheet of `config.images_path`, if the run learns from pictures. What is wrong with them
    is said by the plan."""
    if config.dataset != "images":
        return
    side, channels = SIDE, GREY
    if isinstance(config, PictureConfig):
        side, channels = config.image_size, config.channels
    try:
        found = _sheet(str(data_dir), config.images_path, side, channels)
    except DatasetError as error:
        st.caption(formatting.escape(f"No sample of the pictures: {error}"))
        return
    caption = f"{formatting.plural(found.shown, 'picture')} as the network sees them"
    st.image(found.png, output_format="PNG", width="stretch", caption=caption, alt=caption)
    st.caption(formatting.escape(" ".join(found.sentences)))


@st.cache_data(ttl=60, max_entries=16, show_spinner=False)
def _sheet(data_dir: str, path: str, side: int, channels: int) -> Sheet:
    return pictures.sheet(
        Path(data_dir), path, side, channels, shown=SHOWN, looked=SHOWN, light=True
    )
