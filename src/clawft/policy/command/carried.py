"""The texts that a command hands to a program to be run, found by the table of carriers. Pure."""

from collections.abc import Iterator

from clawft.policy.command.carriers import CARRIERS_OF, Carrier, Language
from clawft.policy.command.expansion import TooComplex
from clawft.policy.command.parsed_command import SHORTEST_ABBREVIATION, Command
from clawft.policy.command.speech import heard

MAX_STARTS = 16
VERSION = "0123456789."
"""What may stand behind the name of a program: `python3.12`."""


def carried(command: Command) -> Iterator[tuple[Language, str]]:
    """Each text and how it is to be read. Raises TooComplex."""
    name = command.name
    for carrier in CARRIERS_OF.get(name) or CARRIERS_OF.get(name.rstrip(VERSION), ()):
        words = _behind_word(command.words, carrier.under)
        if words:
            for text in _texts(command, words, carrier):
                yield carrier.language, text


def starts(words: tuple[str, ...], operands: int, *, text: bool = False) -> Iterator[tuple[str, ...]]:
    """Where the wrapped program may begin. An option may take the next word or not: both readings are offered.

    `text`: a script may begin there as well, and that with an assignment.
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
    """What follows any of these options, in the same word or in the next."""
    names = options.split()
    for at in range(1, len(words) if names else 0):
        word, following = words[at], "".join(words[at + 1 : at + 2])
        for name in names if word[:1] == "-" else ():
            value = _value(word, name, following)
            if value is not None:
                yield value


def _value(word: str, name: str, following: str) -> str | None:
    """`--name=value`, `--na value`, `-xvalue`, `-abx value`, `-name value`; nothing if it is another option."""
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
    """From the word on behind which it counts; all of them if there is none to look for."""
    if not under:
        return words
    wanted = under.split()
    at = next((at for at, word in enumerate(words) if at and word in wanted), 0)
    return words[at:] if at else ()


def _first_operands(words: tuple[str, ...]) -> list[str]:
    """The first one, and as many more as there are options that may have taken those before it."""
    operands = [word for word in words[1:] if word[:1] != "-"]
    return operands[: len(words) - len(operands)]


def _texts(command: Command, words: tuple[str, ...], carrier: Carrier) -> Iterator[str]:
    yield from option_values(words, carrier.options)
    match carrier.operands:
        case "first":
            yield from _first_operands(words)
        case "all":
            yield from (word for word in words[1:] if word[:1] != "-")
        case "joined":
            yield from (" ".join(start) for start in starts(words, command.name == "ssh", text=True))
        case _:
            pass
    if carrier.stdin:
        yield from heard(command)
