"""What a page of documentation shows as code: blocks, and commands in the middle of a sentence."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
# each command builds on those before and takes minutes: parsed like one in a sentence
LESSONS = ROOT / "docs" / "tutorials"
SHELL = {"bash", "console", "sh", "shell"}
# the first words of commands; a block without a language is a shell's if its first line has one
PROGRAMS = (
    "brew", "cd", "curl", "docker", "export", "ganboard", "git", "kubectl", "make", "mlflow",
    "nft", "pip", "pytest", "python", "sbatch", "ssh", "tensorboard", "uv", "uvx",
)  # fmt: skip
COMMAND = re.compile(rf"(?:[A-Z_]+=\S* )*(?:{'|'.join(PROGRAMS)})(?:\s|$)")


@dataclass(frozen=True)
class Block:
    """A block of code: `kind` is shell, sentence, python, data (JSON or YAML), output (what a
    command printed) or other, `line` that of its first character."""

    page: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [*top, *sorted((ROOT / "docs").rglob("*.md"))]


def blocks() -> list[Block]:
    """All blocks of all pages; one in the middle of a sentence, such as `make test`, is a block of
    one line if it is a command with arguments."""
    return [block for page in pages() for block in _of(page)]


def joined(found: list[Block]) -> list[Block]:
    """One block for each page."""
    texts: dict[str, dict[str, None]] = {}
    for block in found:
        texts.setdefault(block.page, {})[block.text] = None
    return [Block(page, 0, "shell", "\n".join(lines)) for page, lines in texts.items()]


def _of(page: Path) -> Iterator[Block]:
    name = str(page.relative_to(ROOT))
    for token in MarkdownIt("gfm-like", {"linkify": False}).parse(page.read_text()):
        line = token.map[0] + 1 if token.map else 0
        if token.type in ("fence", "code_block"):
            line += token.type == "fence"
            kind = _kind(token)
            if kind == "shell" and LESSONS in page.parents:
                kind = "sentence"
            yield Block(name, line, kind, token.content.rstrip("\n"))
        for child in token.children or ():
            if child.type == "code_inline" and re.match(COMMAND, child.content):
                yield Block(name, line, "sentence", child.content)


def _kind(token: Token) -> str:
    # MyST: "{code-block} python" is code, other directives are not
    words = token.info.replace("{code-block}", "").split()
    if words:
        known = {
            **dict.fromkeys(SHELL, "shell"),
            "python": "python",
            "json": "data",
            "yaml": "data",
            "text": "output",
        }
        return "directive" if words[0].startswith("{") else known.get(words[0], "other")
    lines = [one for one in token.content.splitlines() if one.strip() and one[0] != "#"]
    if lines and COMMAND.match(lines[0]):
        return "shell"
    if _is_document(token.content):
        return "data"
    try:
        ast.parse(token.content)
    except SyntaxError:
        return "other"
    return "python"


def _is_document(text: str) -> bool:
    """JSON, or YAML with more than one scalar."""
    try:
        return not isinstance(yaml.safe_load(text), str)
    except yaml.YAMLError:
        return False
