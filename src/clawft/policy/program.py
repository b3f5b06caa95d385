"""The programs behind the programs: what `sudo`, `env`, `sh -c`, `xargs`, `find -exec` and their like really run."""

import re
import shlex
from collections import deque
from collections.abc import Iterator
from itertools import dropwhile

from msgspec.structs import replace

from clawft.policy.expansion import TooComplex
from clawft.policy.lexer import MAX_NESTING, UNKNOWN_OUTPUT, LineState
from clawft.policy.parsed_command import Command
from clawft.policy.place import without_unknown
from clawft.policy.shell import MAX_COMMANDS, read_text

MAX_STARTS = 16
MAX_SCRIPTS = 131_072
MAX_WORDS = 262_144

SHELLS = frozenset("sh bash dash zsh ksh mksh ash fish csh tcsh rbash".split())
INTERPRETERS = frozenset("python pypy perl ruby node nodejs deno bun php lua tclsh osascript pwsh powershell".split())
PRIVILEGE = frozenset("sudo su doas pkexec run0 runuser gosu su-exec sudoedit".split())
SPEAKERS = frozenset({"echo", "printf"})

_PLAIN_WRAPPERS: tuple[str, ...] = tuple(
    "sudo doas pkexec run0 env nohup command builtin exec time coproc nice ionice stdbuf setsid busybox toybox xargs"
    " gxargs unshare nsenter strace ltrace caffeinate systemd-run parallel fakeroot firejail unbuffer rlwrap watch entr"
    " xvfb-run dbus-run-session torsocks proxychains proxychains4 npx bunx setpriv prlimit linux32 linux64 valgrind"
    " catchsegv ssh-agent tini dumb-init proot".split()
)
_WRAPPERS_WITH_OPERAND: tuple[str, ...] = tuple(
    "timeout gtimeout chroot flock chrt taskset gosu su-exec ssh setarch".split()
)
WRAPPERS: dict[str, int] = {**dict.fromkeys(_PLAIN_WRAPPERS, 0), **dict.fromkeys(_WRAPPERS_WITH_OPERAND, 1)}
"""Programs that run what follows them, and how many words of their own come first (options aside)."""
_TEXT_RUNNERS = frozenset({"eval", "ssh", "watch", "parallel"})
_DASH_C = SHELLS | {"su", "runuser", "script", "flock"}
_SOURCING = frozenset({"source", "."})
_RUNS_OUTPUT = SHELLS | _SOURCING | {"eval"}
_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})
_NARROWING = frozenset("-name -iname -path -ipath -wholename -regex -iregex -empty -samefile -inum -newer".split())
_COMMAND_FLAG = re.compile(r"-[A-Za-z]*c[A-Za-z]*|--command")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SPLIT_STRING = re.compile(r"(?:-[A-Za-z0]*S|--s[a-z-]*=?)(?P<text>.*)", re.DOTALL)
_NOT_FROM_STDIN = re.compile(r"-[A-Za-z]*[cemnprE][A-Za-z]*|--eval|--print|--command")
_ECHO_OPTION = re.compile(r"-[neE]+|--")
_PLACEHOLDER = re.compile(r"%[sbq]")
_VERSION = "0123456789."
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
    return found


class _Budget:
    """Characters we are still willing to read as scripts inside scripts."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, amount: int) -> None:
        self.left -= amount
        if self.left < 0:
            raise TooComplex


def _readings(line: str) -> list[Command]:
    """As a shell reads the line and, where that may differ, as plain words without a shell."""
    commands = read_text(line, LineState(), 0)
    if not any(char in line for char in "\n;&|<>()#`"):
        return commands
    try:
        return [*commands, Command(words=tuple(shlex.split(line)))]
    except ValueError:  # an open quote: without a shell it cannot run at all
        return commands


def runs_its_input(command: Command) -> bool:
    """Is this an interpreter whose program comes from standard input?"""
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
    name = command.name.rstrip(_VERSION)
    return name if name in SHELLS or name in INTERPRETERS else ""


def runs_output(command: Command) -> bool:
    """Does it run the output of another command: by `$(…)`, `<(…)`?"""
    known = command.name in _RUNS_OUTPUT or bool(interpreter(command))
    if not known or not command.inner:
        return False
    given = (*command.reads, command.stdin) if runs_its_input(command) else ()
    return any(UNKNOWN_OUTPUT in text for text in (*command.arguments, *given))


def is_opaque(command: Command) -> bool:
    """The program's name is only known when it runs."""
    program = command.words[0] if command.words else "["
    return program not in ("[", "[[") and any(char in program for char in "$*?[")


def searched(command: Command) -> list[str]:
    """The places a `find` goes through, unless a test on names narrows it down."""
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
    if name in WRAPPERS:
        yield from _wrapped(command, name)
    if name in ("find", "gfind", "fd", "fdfind"):
        yield from _executed(command)
    for script in _scripts(command, name):
        if script.strip():
            budget.spend(len(script))
            shared = LineState()
            shared.folder = command.folder
            yield from read_text(script, shared, 0)


def _emptied(command: Command) -> Iterator[Command]:
    """The same, if what the line does not tell is nothing: words vanish, and so does part of the program's name."""
    program = without_unknown(command.words[0]) if command.words else ""
    arguments = tuple(word for word in command.arguments if without_unknown(word))
    words = (program, *arguments) if program else arguments
    if words != command.words:
        yield replace(command, words=words)


def _wrapped(command: Command, name: str) -> Iterator[Command]:
    fed = _fed_words(command) if name in ("xargs", "gxargs", "parallel") else ()
    for words in _starts(command.words, WRAPPERS[name]):
        yield replace(command, words=words + fed)


def _starts(words: tuple[str, ...], operands: int, *, text: bool = False) -> Iterator[tuple[str, ...]]:
    """Where the wrapped program may begin. An option may take the next word or not: both readings are offered.

    `text`: a script may begin there as well, and that with an assignment.
    """
    chances, offered = operands + 1, 0
    for at in range(1, len(words)):
        word = words[at]
        if len(word) > 1 and word[0] == "-":
            chances += word != "--"
        elif text or not _ASSIGNMENT.match(word):
            yield words[at:]
            offered += 1
            if offered == chances:
                return
            if offered == MAX_STARTS:
                raise TooComplex


def _fed_words(command: Command) -> tuple[str, ...]:
    """What a speaker, a search or a document hands to `xargs`."""
    for stage in command.fed_by:
        if spoken := _spoken(stage):
            return tuple(spoken.split())
        if stage.name in ("find", "gfind"):
            return tuple(searched(stage))
        if stage.name == "ls":
            return tuple(f"{folder}/*" for folder in stage.operands())
    return tuple(command.stdin.split())


def _executed(command: Command) -> Iterator[Command]:
    places = searched(command)
    words = list(command.words)
    starts = [at for at, word in enumerate(words) if word in _EXEC]
    if len(starts) > MAX_STARTS:
        raise TooComplex
    for at in starts:
        end = next((i for i in range(at + 1, len(words)) if words[i] in (";", "+")), len(words))
        inner = [piece for word in words[at + 1 : end] for piece in (places if word == "{}" and places else [word])]
        yield replace(command, words=tuple(inner))


def _scripts(command: Command, name: str) -> Iterator[str]:
    """The texts it runs as shell commands."""
    if name in _TEXT_RUNNERS:
        yield from (" ".join(words) for words in _starts(command.words, WRAPPERS.get(name, 0), text=True))
    elif name in WRAPPERS:
        yield from (words[0] for words in _starts(command.words, WRAPPERS[name]) if " " in words[0])
    if name == "env":
        yield from _split_strings(command)
    if name == "trap":
        yield from command.operands()[:1]
    if name in _DASH_C:
        yield from _after_command_flag(command.words)
    if runs_its_input(command) and (name in SHELLS or name in _SOURCING):
        yield command.stdin
        yield from map(_spoken, command.fed_by)
    if runs_output(command):
        yield from map(_spoken, command.inner)


def _after_command_flag(words: tuple[str, ...]) -> Iterator[str]:
    for at, word in enumerate(words):
        if word.startswith("--command="):
            yield word.partition("=")[2]
        elif _COMMAND_FLAG.fullmatch(word):
            yield from (start[0] for start in _starts(words[at:], 0, text=True))
            return


def _split_strings(command: Command) -> Iterator[str]:
    """What `env -S` takes apart, in the option itself or behind it."""
    options = [found for word in command.options() if (found := _SPLIT_STRING.fullmatch(word))]
    yield from (option["text"] for option in options if option["text"])
    if options:
        yield from (word for word in command.arguments if _ASSIGNMENT.match(word) and " " in word)


def _spoken(command: Command) -> str:
    """What echo or printf says, with its line breaks; of others the document that they read and may hand on."""
    if command.name not in SPEAKERS:
        return command.stdin
    words = list(dropwhile(_ECHO_OPTION.fullmatch, command.arguments))
    text = _printed(words[0], deque(words[1:])) if words and command.name == "printf" else " ".join(words)
    return text.replace("\\n", "\n")


def _printed(form: str, values: deque[str]) -> str:
    """The form again and again, until every value has its place. Raises TooComplex."""
    text = ""
    while True:
        left = len(values)
        text += _PLACEHOLDER.sub(lambda _: values.popleft() if values else "", form)
        if len(text) > MAX_SCRIPTS:
            raise TooComplex
        if not values or len(values) == left:
            return text
