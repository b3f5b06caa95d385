"""Output and input that a command line spells out: the words of `echo` and `printf`, and here-documents."""

import re
from collections import deque
from collections.abc import Iterator
from itertools import dropwhile

from clawft.policy.command.expansion import TooComplex, unescaped
from clawft.policy.command.parsed_command import Command

MAX_PRINTED_CHARS = 131_072

PRINTERS = frozenset({"echo", "printf"})

_ECHO_OPTION = re.compile(r"-[neE]+|--")
_PLACEHOLDER = re.compile(r"%[sbq]")
_ESCAPE = re.compile(r"\\(?:x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,6}|[0-7]{1,3}|[nrt])")
_OCTAL = re.compile(r"\\0(?=[0-7])")


def known_outputs(command: Command) -> list[str]:
    """The output of echo or printf, with its line breaks; for another command the here-document that it may pass on.

    Not every `echo` knows escapes: where there are any, both readings are in the list.
    """
    if command.name not in PRINTERS:
        return [command.stdin] if command.stdin else []
    words = list(dropwhile(_ECHO_OPTION.fullmatch, command.arguments))
    text = _printed(words[0], deque(words[1:])) if words and command.name == "printf" else " ".join(words)
    plain = text.replace("\\n", "\n")
    decoded = _ESCAPE.sub(lambda escape: unescaped(escape[0]), _OCTAL.sub(r"\\", text))
    return [plain] if decoded == plain else [plain, decoded]


def known_inputs(command: Command) -> Iterator[str]:
    """The standard input of a command, as far as the line spells it out."""
    yield command.stdin
    yield from (text for stage in command.fed_by for text in known_outputs(stage))


def _printed(form: str, values: deque[str]) -> str:
    """The output of `printf`, which repeats its format until every value is used. Raises TooComplex."""
    text = ""
    while True:
        left = len(values)
        text += _PLACEHOLDER.sub(lambda _: values.popleft() if values else "", form)
        if len(text) > MAX_PRINTED_CHARS:
            raise TooComplex
        if not values or len(values) == left:
            return text
