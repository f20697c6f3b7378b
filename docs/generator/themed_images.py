"""A picture `NAME-light.webp` with a sibling `NAME-dark.webp` becomes both: the theme shows the one
that fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

LIGHT, DARK = "-light.webp", "-dark.webp"


class ThemedImages(SphinxTransform):
    """Runs before Sphinx collects the images of a page."""

    default_priority = 10

    def apply(self, **kwargs: Any) -> None:
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for light in list(self.document.findall(nodes.image)):
            uri = str(light["uri"])
            dark = uri.removesuffix(LIGHT) + DARK
            if uri.endswith(LIGHT) and (folder / dark).is_file():
                sibling = light.deepcopy()
                sibling["uri"] = dark
                light["classes"].append("only-light")
                sibling["classes"].append("only-dark")
                light.parent.insert(light.parent.index(light) + 1, sibling)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(ThemedImages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
