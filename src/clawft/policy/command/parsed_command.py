"""One program run of a command line, as data for the rules."""

from __future__ import annotations

from msgspec import Struct


class Command(Struct, frozen=True):
    """`words[0]` is the program (missing in `> file`). All fields are text; nothing was looked up on disk."""

    words: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    """Files its output is redirected to."""
    reads: tuple[str, ...] = ()
    stdin: str = ""
    """The here-document or here-string it reads."""
    fed_by: tuple[Command, ...] = ()
    """The earlier stages of its pipeline."""
    inner: tuple[Command, ...] = ()
    """Commands that run to produce its words: `$(…)`, backticks, `<(…)`."""
    function: str = ""
    """The function whose body this is part of."""
    background: bool = False
    folder: str = ""
    """Where it runs, if the line says so by `cd`."""
    no_shell: bool = False
    """The whole line as plain words, as if run without a shell: `&&` and the like are then arguments."""

    @property
    def name(self) -> str:
        """The program without its folder, in lower case (some file systems do not care): `/bin/RM` → `rm`."""
        return self.words[0].rpartition("/")[2].lower() if self.words else ""

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.words[1:]

    def options(self) -> list[str]:
        """Arguments that begin with a dash, up to `--`; options may follow operands."""
        return [word for word in self._before_dashes() if _is_option(word)]

    def operands(self) -> list[str]:
        before = self._before_dashes()
        return [word for word in before if not _is_option(word)] + list(self.arguments[len(before) + 1 :])

    def _before_dashes(self) -> tuple[str, ...]:
        arguments = self.arguments
        return arguments[: arguments.index("--")] if "--" in arguments else arguments

    def has_flag(self, letters: str, *longs: str) -> bool:
        """Whether one of the short options is given, alone or in a cluster, or a long one (perhaps abbreviated)."""
        return any(_means(option, letters, longs) for option in self.options())

    def shown(self) -> str:
        text = " ".join((*self.words, *(f"> {target}" for target in self.writes)))
        return text if len(text) <= SHOWN else text[:SHOWN] + "…"


SHOWN = 80
SHORTEST_ABBREVIATION = 5


def _is_option(word: str) -> bool:
    return len(word) > 1 and word[0] == "-"


def _means(option: str, letters: str, longs: tuple[str, ...]) -> bool:
    if not option.startswith("--"):
        return any(letter in option for letter in letters)
    given = option.partition("=")[0]
    return any(long.startswith(given) and len(given) >= SHORTEST_ABBREVIATION for long in longs)
