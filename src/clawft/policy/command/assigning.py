"""Variables that a builtin sets (`read`, `printf -v`, `set --`), with their values where the line spells them out."""

from collections.abc import Iterator

from clawft.policy.command.embedded_scripts import option_values
from clawft.policy.command.known_output import known_outputs
from clawft.policy.command.parsed_command import Command


def assigned(command: Command, separators: str) -> Iterator[tuple[str, str]]:
    """The names and values that this command sets; `separators` is the value of IFS."""
    match command.name:
        case "read":
            yield from _read(command, separators)
        case "printf":
            for name in option_values(command.words, "-v"):
                values = [
                    text for at, word in enumerate(command.words) if word == name for text in _printed(command, at)
                ]
                yield from ((name, text) for text in values[:1])
        case "set":
            yield from _positional(command.arguments)
        case _:
            pass


def _printed(command: Command, at: int) -> list[str]:
    return known_outputs(Command(("printf", *command.words[at + 1 :])))


def _read(command: Command, separators: str) -> Iterator[tuple[str, str]]:
    """`read` gives each name one word, and the last name the rest of the line."""
    names = [word for word in command.operands() if word.isidentifier()] or ["REPLY"]
    line = command.stdin.partition("\n")[0]
    for separator in separators:
        line = line.replace(separator, " ")
    return zip(names, line.split(maxsplit=len(names) - 1), strict=False)


def _positional(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if words[:1] != ("--",) and (not words or words[0][:1] in ("-", "+")):
        return
    values = words[1:] if words[0] == "--" else words
    yield from ((str(number), value) for number, value in enumerate(values[:9], 1))
    yield from ((name, " ".join(values)) for name in "@*")
