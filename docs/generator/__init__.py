"""The documentation site: its source tree, the pages generated from code, the check of links."""
