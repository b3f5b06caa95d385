"""Splits a command into words by the quoting rules of a shell; other shell syntax is refused, with an alternative.

Pure except `check_globs`, which looks into the folder of the command.
"""

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice

from msgspec import Struct

from clawft.errors import InvalidArguments

MAX_LOOKED_AT = 20_000
"""Names that a glob is compared with; beyond that it counts as matching."""
MAX_PARTS = 64
"""Parts of a path with a glob; one with more counts as matching."""
MAX_NAMED = 5
QUOTED = "\0"
_MAGIC = "*?["

_INSTEAD = {
    "|": "run the commands one after the other and pass the output on yourself",
    ";": "run the commands one after the other",
    "&": "run the commands one after the other; nothing can stay in the background",
    ">": "stdout and stderr are returned separately; write files with file__write",
    "<": "there is no input; name the file as an argument",
    "`": "run the inner command first and put its output here",
    "$": "variables are not expanded; write the value, or quote it with '…' if it is meant literally",
    "(": "run the commands one after the other",
    "\n": "run the commands one after the other",
    "~": "write the path of the folder, or quote it with '…' if it is meant literally",
    "{": "write each of the words, or quote it with '…' if it is meant literally",
}
_BASH = "run a program, or a line of shell with bash -c '…'"
_BUILTINS = {
    **dict.fromkeys(
        "alias bg bind break builtin case continue declare disown do enable eval exec exit fc fg for function getopts "
        "hash history if jobs let local logout mapfile popd pushd read readonly return select set shift shopt source "
        "times trap typeset ulimit umask unalias unset until wait while . : [[ ! {".split(),
        _BASH,
    ),
    **dict.fromkeys(("cd", "dirs"), "give the folder as the argument `cwd`"),
    **dict.fromkeys(("command", "type"), "which NAME says where a program is"),
    "export": "each command starts anew: env NAME=VALUE PROGRAM … sets a variable for one",
}
"""Some systems have programs of these names that do nothing."""

_PIECE = re.compile(
    r"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|(?P<joined>\\\r?\n)|\\(?P<escaped>.)"""
    r"""|(?P<bare>[^ \t\r\n'"\\]+)|(?P<blank>[ \t\r\n]+)""",
    re.DOTALL,
)
_VARIABLE = r"\$(?=[A-Za-z0-9_@*#?$!\-{(\[])"
_SYNTAX = re.compile(rf"[|;&><`(\n]|{_VARIABLE}")
_SYNTAX_IN_QUOTES = re.compile(rf"\\.|`|{_VARIABLE}", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r"\\([$`\"\\])|\\\n")
_BRACES = re.compile(r"\{[^{},]*,[^{}]*\}|\{(?:-?\d+\.\.-?\d+|[A-Za-z]\.\.[A-Za-z])(?:\.\.-?\d+)?\}")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


class CommandWord(Struct, frozen=True):
    text: str
    bare: str
    """The text with a null for each quoted letter."""

    @property
    def pattern(self) -> str:
        """The word as a glob in which quoted letters are literal."""
        letters = zip(self.text, self.bare, strict=True)
        return "".join(f"[{a}]" if b == QUOTED and a in _MAGIC else a for a, b in letters)

    @property
    def is_glob(self) -> bool:
        return any(letter in self.bare for letter in _MAGIC)


def read_command(command: str) -> list[CommandWord]:
    """The words. Raises InvalidArguments for syntax that only a shell understands."""
    if "\0" in command:
        raise InvalidArguments("exec: a command may not contain a null byte")
    words = list(_words(command.lstrip().rstrip("\r\n")))
    if not words or not words[0].text:
        raise InvalidArguments("exec: the command is empty")
    _check_program(words)
    for word in words:
        _check_literal(word)
    return words


def _words(command: str) -> Iterator[CommandWord]:
    text, bare, begun = "", "", False
    for kind, piece in _pieces(command):
        if kind == "blank":
            if begun:
                yield CommandWord(text, bare)
            text, bare, begun = "", "", False
        else:
            text, bare, begun = text + piece, bare + (piece if kind == "bare" else QUOTED * len(piece)), True
    if begun:
        yield CommandWord(text, bare)


def _pieces(command: str) -> Iterator[tuple[str, str]]:
    """The parts of a command that are quoted in one way, or not at all, without their quotes."""
    at = 0
    while at < len(command):
        found = _PIECE.match(command, at)
        if found is None or found.lastgroup is None:
            raise InvalidArguments("exec: no closing quotation", hint="check the quotes")
        kind, piece, at = found.lastgroup, found[found.lastgroup], found.end()
        if kind == "double":
            _check_quoted(piece)
            piece = _ESCAPED_IN_QUOTES.sub(r"\1", piece)
        elif kind in ("bare", "blank"):
            _check_bare(piece, command[at : at + 1])
        if kind != "joined":
            yield kind, piece


def _check_quoted(piece: str) -> None:
    letter = next((each[0] for each in _SYNTAX_IN_QUOTES.finditer(piece) if len(each[0]) == 1), "")
    if letter:
        raise _no_shell(letter)


def _check_bare(piece: str, following: str) -> None:
    found = _SYNTAX.search(piece)
    if found is not None:
        raise _no_shell(found[0])
    if piece.endswith("$") and following in ("'", '"'):
        raise _no_shell("$")


def _no_shell(letter: str) -> InvalidArguments:
    shown = "line break" if letter == "\n" else letter
    return InvalidArguments(f"exec: there is no shell: '{shown}' has no meaning here", hint=_INSTEAD[letter])


def _check_program(words: Sequence[CommandWord]) -> None:
    first = words[0]
    if _ASSIGNMENT.match(first.bare):
        raise InvalidArguments(
            f"exec: there is no shell: '{first.text}' sets no variable here", hint="put env before it"
        )
    if first.bare in _BUILTINS:
        raise InvalidArguments(
            f"exec: there is no shell: and '{first.text}' is a part of one", hint=_BUILTINS[first.bare]
        )


def _check_literal(word: CommandWord) -> None:
    """Raises InvalidArguments for what a shell would always expand."""
    if word.bare == "~" or word.bare.startswith("~/"):
        raise _no_shell("~")
    if _BRACES.search(word.bare):
        raise _no_shell("{")


# ── globs ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def check_globs(words: Sequence[CommandWord], folder: str) -> None:
    """Raises InvalidArguments for a glob that matches files; one that matches none stays literal in a shell, too."""
    look = _Look(folder)
    for word in words:
        if word.is_glob and (found := list(islice(look.expanded(word.pattern), MAX_NAMED))):
            names = ", ".join(filter(None, found))
            raise InvalidArguments(
                f"exec: there is no shell: '{word.text}' is not expanded",
                hint=f"name the files{names and f' ({names}, …)'}, or quote it with '…' if it is meant literally",
            )


class _Look:
    """Expands globs in a folder. An empty name stands for possible matches where we do not look."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._left = MAX_LOOKED_AT

    def expanded(self, pattern: str) -> Iterator[str]:
        parts = [part for part in pattern.split("/") if part not in ("", ".")]
        if ".." in parts or len(parts) > MAX_PARTS:
            yield ""
        elif pattern.startswith("/"):  # matches outside are not told, and may be others in the cell
            yield from ("" for _ in self._matching(parts[0], "/"))
        else:
            yield from self._names(parts, "")

    def _names(self, parts: Sequence[str], above: str) -> Iterator[str]:
        for name in self._matching(parts[0], above):
            path = f"{above}{name}"
            full = os.path.join(self._folder, path)
            if self._left < 0 or (parts[1:] and os.path.islink(full)):
                yield ""
            elif not parts[1:]:
                yield path
            elif os.path.isdir(full):
                yield from self._names(parts[1:], f"{path}/")

    def _matching(self, part: str, above: str) -> Iterator[str]:
        place = os.path.join(self._folder, above)
        if not any(letter in part for letter in _MAGIC):
            yield from [part] if os.path.lexists(os.path.join(place, part)) else []
            return
        names = self._listed(place)
        yield from sorted(name for name in names if _matches(name, part))
        if self._left < 0:
            yield ""

    def _listed(self, place: str) -> list[str]:
        try:
            with os.scandir(place) as entries:
                names = [entry.name for entry in islice(entries, max(0, self._left + 1))]
        except OSError:
            return []
        self._left -= len(names)
        return names


def _matches(name: str, part: str) -> bool:
    return fnmatchcase(name, part.replace("[^", "[!")) and (not name.startswith(".") or part.startswith("."))
