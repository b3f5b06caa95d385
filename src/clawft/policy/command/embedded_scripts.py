"""The scripts that stand in the arguments or the input of a command, found by the table in `runners`. Pure."""

from collections.abc import Iterator

from clawft.policy.command.expansion import TooComplex
from clawft.policy.command.known_output import known_inputs
from clawft.policy.command.parsed_command import SHORTEST_ABBREVIATION, Command
from clawft.policy.command.runners import SCRIPT_RUNNERS_OF, Language, ScriptRunner

MAX_STARTS = 16
VERSION_CHARACTERS = "0123456789."
"""Characters that may follow the name of a program: `python3.12`."""


def embedded_scripts(command: Command) -> Iterator[tuple[Language, str]]:
    """Each script that this command would run, and its language. Raises TooComplex."""
    name = command.name
    for runner in SCRIPT_RUNNERS_OF.get(name) or SCRIPT_RUNNERS_OF.get(name.rstrip(VERSION_CHARACTERS), ()):
        words = _behind_word(command.words, runner.under)
        if words:
            for text in _texts(command, words, runner):
                yield runner.language, text


def possible_starts(words: tuple[str, ...], operands: int, *, text: bool = False) -> Iterator[tuple[str, ...]]:
    """The words from each place where a wrapped program may start: an option may or may not take the next word.

    With `text` a script may start there as well, and a script may start with an assignment.
    """
    chances, offered = operands + 1, 0
    for at in range(1, len(words)):
        word = words[at]
        if word[:1] == "-":
            chances += len(word) > 1 and word != "--"
        elif text or not is_assignment(word):
            yield words[at:]
            offered += 1
            if offered == chances:
                return
            if offered == MAX_STARTS:
                raise TooComplex


def is_assignment(word: str) -> bool:
    name, mark, _ = word.partition("=")
    return bool(mark) and name.isidentifier() and name.isascii()


def option_values(words: tuple[str, ...], options: str) -> Iterator[str]:
    """The values of these options, whether in the same word or in the next."""
    names = options.split()
    for at in range(1, len(words) if names else 0):
        word, following = words[at], "".join(words[at + 1 : at + 2])
        for name in names if word[:1] == "-" else ():
            value = _value(word, name, following)
            if value is not None:
                yield value


def _value(word: str, name: str, following: str) -> str | None:
    """`--name=value`, `--na value`, `-xvalue`, `-abx value`, `-name value`; None for another option."""
    given, mark, value = word.partition("=")
    if name.startswith("--"):
        fits = name.startswith(given) and len(given) >= min(SHORTEST_ABBREVIATION, len(name))
        return (value if mark else following) if fits else None
    if len(name) > 2:
        return (value if mark else following) if given == name else None
    if word.startswith("--") or name[1] not in word:
        return None
    return word.partition(name[1])[2] or following


def _behind_word(words: tuple[str, ...], under: str) -> tuple[str, ...]:
    """The words from the first of the subcommands in `under` on; all words if `under` is empty."""
    if not under:
        return words
    wanted = under.split()
    at = next((at for at, word in enumerate(words) if at and word in wanted), 0)
    return words[at:] if at else ()


def _first_operands(words: tuple[str, ...]) -> list[str]:
    """The first operand, and one more for each option, which may have taken an earlier one as its value."""
    operands = [word for word in words[1:] if word[:1] != "-"]
    return operands[: len(words) - len(operands)]


def _texts(command: Command, words: tuple[str, ...], runner: ScriptRunner) -> Iterator[str]:
    yield from option_values(words, runner.options)
    match runner.operands:
        case "first":
            yield from _first_operands(words)
        case "all":
            yield from (word for word in words[1:] if word[:1] != "-")
        case "joined":
            yield from (" ".join(start) for start in possible_starts(words, command.name == "ssh", text=True))
        case _:
            pass
    if runner.stdin:
        yield from known_inputs(command)
