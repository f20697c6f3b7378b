"""The check of a built site: every link and anchor inside of it exists, and no page loads anything
from another host."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = ("script", "img", "source", "iframe", "video")  # elements whose src a browser fetches
RELATIONS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch"}


class Page(HTMLParser):
    """What a page has: the anchors that others may link to, its links, and what it loads."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        loads = tag == "link" and bool(RELATIONS & set(values.get("rel", "").split()))
        if "href" in values:
            (self.loads if loads else self.links).append(values["href"])
        if tag in LOADS and "src" in values:
            self.loads.append(values["src"])


def problems(site: Path) -> list[str]:
    """One sentence for each link of the site in the folder `site` that leads nowhere, and for each
    file of another host that a page loads. Links to other hosts are not followed."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        for link in dict.fromkeys(page.links + page.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loads and parts.scheme != "data":
                    found.append(f"{name} loads {link} from another host.")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append(f"{name} links to {link}, which does not exist.")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name} links to {link}, and that page has no such anchor.")
    return found
