"""Reduces HTML to readable text: headings, lists, links. One pass, linear in the size of the page.

Written by hand because the standard parser can take quadratic time on hostile pages. A `>` inside an attribute ends the
tag early; the rest of that attribute then shows up as text, which is acceptable.
"""

import re
from html import unescape
from urllib.parse import urljoin

_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "textarea", "select"})
_BREAKS = frozenset(
    "address article aside blockquote br dd details div dl dt figcaption figure footer form h1 h2 h3 h4 h5 h6 header "
    "hr li main nav ol p pre section summary table tbody thead title tr ul".split()
)
_STARTS = {"li": "- ", "h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "h5": "##### ", "h6": "###### "}
_NAME = re.compile(r"/?[a-zA-Z][a-zA-Z0-9]*")
_HREF = re.compile(r"""\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\f\v\xa0]+")
MAX_MARKS = 300_000
"""Tags of a page, and other uses of `<`: each takes some microseconds, in which others wait."""
_MAX_TAG_CHARS = 4096
"""How far into a tag links are searched for."""
_PIECE = 65_536
"""Characters processed in one step, in which others wait."""
_MAX_REFERENCE_CHARS = 40
"""Characters of `&CounterClockwiseContourIntegral;`, the longest reference."""


def readable(page: str, base: str = "") -> str:
    """The text of a page; links are written `[text](url)`, with relative ones resolved against `base`."""
    return _Reader(page, base).text()


def before_mark(page: str, most: int) -> str:
    """The page up to the first `<` that is too many."""
    if page.count("<") <= most:
        return page
    at = -1
    for _ in range(most + 1):
        at = page.find("<", at + 1)
    return page[:at]


class _Reader:
    def __init__(self, page: str, base: str) -> None:
        self.page = page
        lower = page.lower()
        self.lower = lower if len(lower) == len(page) else page
        self.base = base
        self.out: list[str] = []
        self.href = ""
        self.link_from = 0

    def text(self) -> str:
        at = 0
        while (start := self.page.find("<", at)) >= 0:
            self.words(self.page[at:start])
            at = self.markup(start)
        self.words(self.page[at:])
        return _tidy("".join(self.out))

    def markup(self, start: int) -> int:
        """Read the markup that begins with this `<`; returns where the text goes on."""
        if self.page.startswith("<!--", start):
            return self.after("-->", start + 4)
        if self.page.startswith(("<!", "<?"), start):
            return self.after(">", start)
        name = _NAME.match(self.page, start + 1)
        if name is None:
            self.out.append("<")
            return start + 1
        end = self.after(">", start)
        return self.tag(name[0].lower(), self.page[start : min(end, start + _MAX_TAG_CHARS)], end)

    def tag(self, name: str, source: str, end: int) -> int:
        if name in _SKIPPED:
            closing = self.lower.find(f"</{name}", end)
            return self.after(">", closing) if closing >= 0 else len(self.page)
        if name.lstrip("/") in _BREAKS:
            self.out.append("\n" + _STARTS.get(name, ""))
        elif name in ("a", "/a"):
            self.close_link()
            self.open_link(source if name == "a" else "")
        elif name in ("td", "th"):
            self.out.append(" ")
        return end

    def open_link(self, source: str) -> None:
        found = _HREF.search(source)
        target = _plain(next(filter(None, found.groups()), "")).strip() if found else ""
        self.href = _whole(target, self.base)
        self.link_from = len(self.out)

    def close_link(self) -> None:
        label = " ".join("".join(self.out[self.link_from :]).split())
        if self.href and label:
            self.out[self.link_from :] = [f"[{label}]({self.href})"]
        self.href = ""

    def words(self, source: str) -> None:
        at = 0
        while at < len(source):
            end = _between_words(source, at, at + _PIECE)
            self.out.append(_SPACES.sub(" ", _plain(source[at:end])))
            at = end

    def after(self, mark: str, start: int) -> int:
        found = self.page.find(mark, start)
        return found + len(mark) if found >= 0 else len(self.page)


def _between_words(source: str, start: int, end: int) -> int:
    """Where to split a long text: not behind a blank, nor within a character reference."""
    if end >= len(source):
        return len(source)
    words = len(source[start:end].rstrip())
    cut = start + words if words else end
    reference = source.rfind("&", max(start + 1, cut - _MAX_REFERENCE_CHARS), cut)
    return cut if reference < 0 else reference


def _plain(source: str) -> str:
    try:
        return unescape(source)
    except ValueError:  # a number with thousands of digits
        return source


def _whole(target: str, base: str) -> str:
    try:
        url = urljoin(base, target) if target and not target.startswith("#") else ""
    except ValueError:
        return ""
    return url if url.startswith(("http://", "https://")) else ""


def _tidy(text: str) -> str:
    """The text without spaces at line ends, and with one empty line at most in a row."""
    text = text.replace(" \n", "\n").replace("\n ", "\n")
    while "\n\n\n" in text:  # there may be millions, and each line takes room in a list
        text = text.replace("\n\n\n", "\n\n")
    lines = [line.strip() for line in text.split("\n")]
    kept = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
    return "\n".join(kept).strip()
