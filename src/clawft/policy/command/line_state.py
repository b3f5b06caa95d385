"""What a whole command line has in common while it is read: what it has set so far, and how much work it made."""

import re

from clawft.policy.command.expansion import TooComplex

MAX_EXPANDED = 262_144
MAX_TOKENS = 20_000

_UNKNOWN = re.compile(r"\$\{([A-Za-z_]\w*)\}")


class LineState:
    """Variables set so far, and which of them go through many words; files opened to stay open, the folder it changed
    to, how much work it made.
    """

    __slots__ = ("commands", "expanded", "folder", "known", "loops", "opened", "tokens")

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.loops: set[str] = set()
        self.opened: dict[str, str] = {}
        self.folder = ""
        self.expanded = 0
        self.tokens = 0
        self.commands = 0

    def set(self, name: str, value: str) -> None:
        """One before it on the same line (`X=/ Y=$X`) is known by now, and was not when the words were read."""
        value = _UNKNOWN.sub(lambda unknown: self.known.get(unknown[1], unknown[0]), value) if "${" in value else value
        self.spend(len(value))
        self.known[name] = value

    def spend(self, characters: int) -> None:
        self.expanded += characters
        if self.expanded > MAX_EXPANDED:
            raise TooComplex

    def count_token(self) -> None:
        self.tokens += 1
        if self.tokens > MAX_TOKENS:
            raise TooComplex
