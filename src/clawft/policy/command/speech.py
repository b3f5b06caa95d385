"""What a command says that its line tells in full: the words of `echo` and `printf`, or the document it hands on."""

import re
from collections import deque
from collections.abc import Iterator
from itertools import dropwhile

from clawft.policy.command.expansion import TooComplex, unescaped
from clawft.policy.command.parsed_command import Command

MAX_SPOKEN = 131_072

SPEAKERS = frozenset({"echo", "printf"})

_ECHO_OPTION = re.compile(r"-[neE]+|--")
_PLACEHOLDER = re.compile(r"%[sbq]")
_ESCAPE = re.compile(r"\\(?:x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,6}|[0-7]{1,3}|[nrt])")
_OCTAL = re.compile(r"\\0(?=[0-7])")


def spoken(command: Command) -> list[str]:
    """What echo or printf says, with its line breaks; of others the document that they read and may hand on.

    Not every `echo` knows escapes: where there are any, both readings are offered.
    """
    if command.name not in SPEAKERS:
        return [command.stdin] if command.stdin else []
    words = list(dropwhile(_ECHO_OPTION.fullmatch, command.arguments))
    text = _printed(words[0], deque(words[1:])) if words and command.name == "printf" else " ".join(words)
    plain = text.replace("\\n", "\n")
    decoded = _ESCAPE.sub(lambda escape: unescaped(escape[0]), _OCTAL.sub(r"\\", text))
    return [plain] if decoded == plain else [plain, decoded]


def heard(command: Command) -> Iterator[str]:
    """What the line tells of its standard input."""
    yield command.stdin
    yield from (text for stage in command.fed_by for text in spoken(stage))


def _printed(form: str, values: deque[str]) -> str:
    """The form again and again, until every value has its place. Raises TooComplex."""
    text = ""
    while True:
        left = len(values)
        text += _PLACEHOLDER.sub(lambda _: values.popleft() if values else "", form)
        if len(text) > MAX_SPOKEN:
            raise TooComplex
        if not values or len(values) == left:
            return text
