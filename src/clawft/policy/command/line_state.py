"""State shared while one command line is read: the variables it has set so far, and bounds on the work."""

import re

from clawft.policy.command.expansion import TooComplex

MAX_EXPANDED = 262_144
MAX_TOKENS = 20_000

_UNKNOWN = re.compile(r"\$\{([A-Za-z_]\w*)\}")


class LineState:
    """`known`: variables and their values; `loops`: loop variables, which take several values; `opened`: descriptors
    and their files; `folder`: where the line changed to. The numbers count the work done so far.
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
        """Set a variable. One set earlier on the same line (`X=/ Y=$X`) was not yet known when the value was read."""
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
