"""The documentation as data: pages, their code blocks, links, headings and tables.

What the word behind the language of a code block means:

| block | what the tests do |
|---|---|
| `python run`, `sh run` | run it in an empty workspace with a home of its own; it must end with 0 |
| `text output` after one of these | what it printed, exactly |
| `python examples/x.py` | compare: it is that file |
| `python`, `json` | it must compile, or be valid |
| `toml` | it must be valid configuration of ours |
| `sh` | each `weft` line must be a command with options that exist |
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GENERATED = re.compile(r"<!-- generated: (?P<name>\w+) -->\n(?P<body>.*?)<!-- end -->", re.DOTALL)

_BLOCK = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(?P<title>.+)$", re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`(?P<code>[^`\n]+)`(?!`)")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the words behind it, where it stands."""

    page: Path
    line: int
    language: str
    words: str
    text: str

    @property
    def id(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Everything people read: the pages at the top, under docs, and beside the examples."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
    return sorted(found)


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [_block(page, text, found) for found in _BLOCK.finditer(text)]


def _block(page: Path, text: str, found: re.Match[str]) -> Block:
    language, _, words = found["info"].strip().partition(" ")
    return Block(page, text.count("\n", 0, found.start()) + 1, language, words.strip(), found["text"])


def all_blocks() -> list[Block]:
    return [block for page in pages() for block in blocks(page)]


def prose(page: Path) -> str:
    """The page without its code blocks."""
    return _BLOCK.sub("", page.read_text())


def links(page: Path) -> list[str]:
    return [found["target"] for found in _LINK.finditer(prose(page))]


def anchors(page: Path) -> set[str]:
    """What a link may name behind `#`, as GitHub spells it."""
    titles = (found["title"] for found in _HEADING.finditer(prose(page)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def inline_code(text: str) -> Iterator[str]:
    return (found["code"] for found in _INLINE.finditer(text))


def rows(text: str) -> Iterator[list[str]]:
    """The cells of every table row, headings and rulers left out."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        is_head = number + 1 < len(lines) and _is_ruler(lines[number + 1])
        if line.startswith("|") and not is_head and not _is_ruler(line):
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def _is_ruler(line: str) -> bool:
    return line.startswith("|") and not line.strip("|-: ")
