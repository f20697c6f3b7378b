"""The launch page shows what the network will see of a person's pictures."""

from __future__ import annotations

from ganboard.worker.context import Context
from tests.ui.launch.form import setting
from tests.ui.pages import checked, open_page, words
from tests.ui.pictures import captions
from tests.unit.gan.data.pictures.files import grey, put


def test_pictures_are_shown_as_the_network_sees_them(context: Context) -> None:
    put(context.settings.data / "faces", {f"{i}.png": grey(i) for i in range(40)})
    at = open_page("launch", preset="tiny")
    assert captions(at) == []
    setting(at, "dataset").set_value("images")
    at = checked(at.run())
    setting(at, "images_path").set_value("faces")
    at = checked(at.run())
    assert captions(at) == ["32 pictures as the network sees them"]
    assert "40 pictures in faces, which a network sees in grey, 28x28 pixels." in words(at)
    setting(at, "model").set_value("convgan")
    at = checked(at.run())
    chosen = {"dataset": "images", "images_path": "faces", "image_size": "64", "channels": 3}
    for name, value in chosen.items():
        setting(at, name).set_value(value)
        at = checked(at.run())
    assert "40 pictures in faces, which a network sees in colour, 64x64 pixels." in words(at)
    setting(at, "images_path").set_value("absent")
    at = checked(at.run())
    assert captions(at) == []
