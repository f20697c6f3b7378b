"""How Sphinx builds the site from the folder that `docs/generator` has staged (`make docs`)."""

import sys
from importlib.metadata import version as installed
from types import ModuleType, SimpleNamespace

project = "ganboard"
author = "the authors of ganboard"
project_copyright = "the authors of ganboard, Apache-2.0"
version = release = installed("ganboard")

extensions = ["myst_parser", "sphinx.ext.autodoc", "docs.generator.themed_images"]
exclude_patterns = ["images/README.md"]

myst_heading_anchors = 4

# Keras takes seconds to load, and a base class is all that the documented modules need of it
keras = ModuleType("keras")
keras.callbacks = SimpleNamespace(Callback=object)  # type: ignore[attr-defined]
sys.modules["keras"] = keras
default_role = "code"  # what docstrings have between backticks
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# types of other packages: their documentation is on other hosts, which no build asks
nitpick_ignore_regex = [(r"py:.*", r"(?!ganboard\.).*")]

html_theme = "furo"
html_title = f"ganboard {release}"
html_favicon = "../app/theme/icon.svg"  # as seen from this file
html_static_path: list[str] = []
html_show_sphinx = False
html_copy_source = False
