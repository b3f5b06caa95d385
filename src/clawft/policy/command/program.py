"""Every program a command line would run, including those started by `sudo`, `env`, `sh -c`, `xargs`, `find -exec`.

The tables of programs that start others are in `runners.py`.
"""

import re
import shlex
from collections import deque
from collections.abc import Iterator

from msgspec.structs import replace

from clawft.policy.command.download import run_downloads
from clawft.policy.command.embedded_scripts import (
    VERSION_CHARACTERS,
    embedded_scripts,
    is_assignment,
    option_values,
    possible_starts,
)
from clawft.policy.command.expansion import TooComplex
from clawft.policy.command.known_output import known_inputs, known_outputs
from clawft.policy.command.languages import shell_commands_in
from clawft.policy.command.lexer import MAX_NESTING, UNKNOWN_OUTPUT
from clawft.policy.command.line_state import LineState
from clawft.policy.command.parsed_command import Command
from clawft.policy.command.place import place, without_unknown
from clawft.policy.command.runners import (
    FOLDER_OPTIONS,
    INTERPRETERS,
    RUN_VARIABLES,
    SHELLS,
    SUBCOMMANDS,
    SUBCOMMANDS_OF,
    WRAPPERS,
    Language,
)
from clawft.policy.command.shell import MAX_COMMANDS, read_text

MAX_EXECUTED = 16
MAX_SCRIPTS = 131_072
MAX_WORDS = 262_144

_RUN_JOINED_WORDS = frozenset({"eval", "ssh", "watch", "parallel"})
_SOURCING = frozenset({"source", "."})
_RUNS_OUTPUT = SHELLS | _SOURCING | {"eval"}
_SETS_VARIABLES = frozenset("env export declare typeset readonly local sudo doas".split())
_LOADER = re.compile(r"ld(?:-linux.*|-musl.*)?\.so(?:\..*)?")
EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})
_NARROWING = frozenset("-name -iname -path -ipath -wholename -regex -iregex -empty -samefile -inum -newer".split())
_COMMAND_FLAG = re.compile(r"-[A-Za-z]*c[A-Za-z]*|--command")
_SPLIT_STRING = re.compile(r"(?:-[A-Za-z0]*S|--s[a-z-]*=?)(?P<text>.*)", re.DOTALL)
_NOT_FROM_STDIN = re.compile(r"-[A-Za-z]*[cemnprE][A-Za-z]*|--eval|--print|--command")
_STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


def programs(line: str) -> list[Command]:
    """Every program that could run, the wrappers themselves included. Raises TooComplex."""
    found: list[Command] = []
    words = 0
    scripts = _Budget(MAX_SCRIPTS)
    waiting = deque((command, 0) for command in _readings(line))
    while waiting:
        command, depth = waiting.popleft()
        found.append(command)
        words += len(command.words)
        if depth > MAX_NESTING or len(found) > MAX_COMMANDS or words > MAX_WORDS:
            raise TooComplex
        waiting.extend((behind, depth + 1) for behind in _behind(command, scripts))
    return [*found, *run_downloads(found, _file_run)]


class _Budget:
    """How many more characters of scripts inside scripts may be read."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, amount: int) -> None:
        self.left -= amount
        if self.left < 0:
            raise TooComplex


def _readings(line: str) -> list[Command]:
    """The line as a shell reads it and, where that differs, as plain words without a shell."""
    commands = read_text(line, LineState(), 0)
    if not any(char in line for char in "\n;&|<>()#`"):
        return commands
    try:
        return [*commands, Command(words=tuple(shlex.split(line)), no_shell=True)]
    except ValueError:  # an open quote: without a shell it cannot run at all
        return commands


def runs_its_input(command: Command) -> bool:
    """Whether this is an interpreter whose program comes from standard input."""
    if command.name in _SOURCING:
        return not _STDIN.isdisjoint(command.operands()[:1])
    name = interpreter(command)
    if not name:
        return False
    options, operands = command.options(), command.operands()
    if name in SHELLS and command.has_flag("s"):
        return True
    if any(map((_COMMAND_FLAG if name in SHELLS else _NOT_FROM_STDIN).fullmatch, options)):
        return False
    values = 1 if name in SHELLS and any(option[-1] in "oO" for option in options) else 0
    rest = operands[values:]
    return not rest or rest[0] in _STDIN


def interpreter(command: Command) -> str:
    name = command.name.rstrip(VERSION_CHARACTERS)
    return name if name in SHELLS or name in INTERPRETERS else ""


def runs_output(command: Command) -> bool:
    """Whether it runs the output of another command: by `$(…)`, `<(…)`."""
    known = command.name in _RUNS_OUTPUT or bool(interpreter(command))
    if not known or not command.inner:
        return False
    given = (*command.reads, command.stdin) if runs_its_input(command) else ()
    return any(UNKNOWN_OUTPUT in text for text in (*command.arguments, *given))


def is_opaque(command: Command) -> bool:
    """Whether the name of the program is only known at run time."""
    program = command.words[0] if command.words else "["
    return program not in ("[", "[[") and any(char in program for char in "$*?[")


def searched(command: Command) -> list[str]:
    """The folders that a `find` searches; none if it selects by name, as then not everything in them is meant."""
    tests = {word for word, value in zip(command.words, (*command.words[1:], ""), strict=True) if value.strip("*")}
    if tests & _NARROWING:
        return []
    places: list[str] = []
    for word in command.arguments:
        if word[:1] in ("-", "(", "!") and places:
            break
        if word[:1] not in ("-", "(", "!"):
            places.append(word)
    return places or ["."]


def _behind(command: Command, budget: _Budget) -> Iterator[Command]:
    name = command.name
    yield from _emptied(command)
    yield from _wrapped(command)
    if name in ("find", "gfind", "fd", "fdfind"):
        yield from _executed(command)
    for script in _scripts(command, name):
        yield from _read(script, command.folder, budget)
    for language, text in (*embedded_scripts(command), *_code_given(command)):
        budget.spend(len(text) if language != "shell" else 0)  # a script is paid for where it is read
        for meant in shell_commands_in(text, language, name):
            if isinstance(meant, str):
                yield from _read(meant, command.folder, budget)
            else:
                yield replace(meant, folder=command.folder)


def _read(script: str, folder: str, budget: _Budget) -> list[Command]:
    if not script.strip():
        return []
    budget.spend(len(script))
    shared = LineState()
    shared.folder = folder
    return read_text(script, shared, 0)


def _emptied(command: Command) -> Iterator[Command]:
    """The command as it runs if every unknown part (`${NAME}`, `$(…)`) is empty: such words vanish."""
    program = without_unknown(command.words[0]) if command.words else ""
    arguments = tuple(word for word in command.arguments if without_unknown(word))
    words = (program, *arguments) if program else arguments
    if words != command.words:
        yield replace(command, words=words)


def _wrapped(command: Command) -> Iterator[Command]:
    name = command.name
    fed = _fed_words(command) if name in ("xargs", "gxargs", "parallel") else ()
    folder = next(option_values(command.words, FOLDER_OPTIONS.get(name, "")), "")
    inside = replace(command, folder=place(folder, command.folder)) if folder else command
    for words, operands in _wrapping(command.words, name):
        for start in possible_starts(words, operands):
            yield replace(inside, words=start + fed)


def _wrapping(words: tuple[str, ...], name: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """The words after which a wrapped program starts, and the number of operands in between."""
    if name in WRAPPERS:
        yield words, WRAPPERS[name]
    elif _LOADER.fullmatch(name):
        yield words, 0
    for key in SUBCOMMANDS_OF.get(name, ()):
        own = tuple(key.split()[1:])
        at = next((at for at in range(1, len(words)) if words[at : at + len(own)] == own), 0)
        if at:
            yield words[at + len(own) - 1 :], SUBCOMMANDS[key]


def _fed_words(command: Command) -> tuple[str, ...]:
    """The words that `xargs` gets from an `echo`, a `find`, an `ls` or a here-document."""
    for stage in command.fed_by:
        if outputs := known_outputs(stage):
            return tuple(outputs[-1].split())
        if stage.name in ("find", "gfind"):
            return tuple(searched(stage))
        if stage.name == "ls":
            return tuple(f"{folder}/*" for folder in stage.operands())
    return tuple(command.stdin.split())


def _executed(command: Command) -> Iterator[Command]:
    places = searched(command)
    words = list(command.words)
    starts = [at for at, word in enumerate(words) if word in EXEC]
    if len(starts) > MAX_EXECUTED:
        raise TooComplex
    for at in starts:
        end = next((i for i in range(at + 1, len(words)) if words[i] in (";", "+")), len(words))
        inner = [piece for word in words[at + 1 : end] for piece in (places if word == "{}" and places else [word])]
        yield replace(command, words=tuple(inner))


def _scripts(command: Command, name: str) -> Iterator[str]:
    """The texts this command runs as shell scripts."""
    if name in WRAPPERS and name not in _RUN_JOINED_WORDS:
        yield from (words[0] for words in possible_starts(command.words, WRAPPERS[name]) if " " in words[0])
    if name == "env":
        yield from _split_strings(command)
    if name in _SETS_VARIABLES:
        yield from _run_variables(command)
    if name in SHELLS:
        yield from _after_command_flag(command.words)
    if runs_its_input(command) and (name in SHELLS or name in _SOURCING):
        yield from known_inputs(command)
    if runs_output(command):
        yield from (text for stage in command.inner for text in known_outputs(stage))


def _code_given(command: Command) -> Iterator[tuple[Language, str]]:
    if interpreter(command) in INTERPRETERS and runs_its_input(command):
        for text in known_inputs(command):
            yield "code", text


def _after_command_flag(words: tuple[str, ...]) -> Iterator[str]:
    for at, word in enumerate(words):
        if word.startswith("--command="):
            yield word.partition("=")[2]
        elif _COMMAND_FLAG.fullmatch(word):
            yield from (start[0] for start in possible_starts(words[at:], 0, text=True))
            return


def _split_strings(command: Command) -> Iterator[str]:
    """The text that `env -S` splits into words, in the option itself or after it."""
    options = [found for word in command.options() if (found := _SPLIT_STRING.fullmatch(word))]
    yield from (option["text"] for option in options if option["text"])
    if options:
        yield from (word for word in command.arguments if is_assignment(word) and " " in word)


def _run_variables(command: Command) -> Iterator[str]:
    """Values of variables that programs run as commands; some have a mark (`|`, `!`) before the command."""
    for word in command.arguments:
        name, _, value = word.partition("=")
        if RUN_VARIABLES.fullmatch(name.rstrip("+")):
            yield value.lstrip("|-! ")


def _file_run(command: Command) -> str:
    """The file whose commands it runs, if the line names one; else an empty text."""
    if command.name in _SOURCING or interpreter(command):
        return next(iter(command.operands()), "")
    return command.words[0] if command.words and "/" in command.words[0] else ""
