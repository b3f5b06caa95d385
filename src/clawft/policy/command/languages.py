"""The shell commands in a script, whatever language the program that runs it expects. Pure.

A language is a function from the text and its program to scripts (a `str`, read as a shell does) and commands; a row
in `LANGUAGES` makes it one that `runners.py` may name.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from clawft.policy.command.code import commands_in
from clawft.policy.command.parsed_command import Command
from clawft.policy.command.runners import Language

ShellCommands = Iterator[Command | str]

_SETTING = re.compile(r"\s*+[\w.@*-]++(?:\s*+[=:]|\s)\s*+!?(.*)", re.DOTALL)
_ESCAPED_LINE = re.compile(
    r"^[ \t:+]*+(?:sil(?:ent)?!?[ \t]++)?(?:[\d,%$.;]*+[ \t]*+(?:read|write|r|w)?[ \t]*+!|\.(?:shell|system)\b"
    r"|(?:platform )?shell\b|system\b|spawn\b|exec\b|terminal\b)[ \t]*+(\S.*)$",
    re.MULTILINE,
)
_BACKSLASHED = re.compile(r"\\![ \t]*+(\S.*)$", re.MULTILINE)
_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/[^/\n]*/I?)"
_SED_POSITION = rf"(?:^|[;{{}}\n])[ \t]*+(?:{_ADDRESS}(?:,[+~]?{_ADDRESS})?)?[ \t]*+!?[ \t]*+"
_SED_RUNS = re.compile(_SED_POSITION + r"e[ \t]*+(?P<script>.+)")
_SED_WRITES = re.compile(r"(?:" + _SED_POSITION + r"|/[gpiIeM\d]*+)w[ \t]++(?P<file>.+)")
_SED_SUBSTITUTES = re.compile(
    r"s([^\w\s\\])(?:\\.|(?!\1)[^\\])*\1(?P<script>(?:\\.|(?!\1)[^\\])*)\1[gpiImM\d]*e", re.DOTALL
)
_SCHEDULE = re.compile(r"^[ \t]*+(?:@\w++|(?:\S++[ \t]++){4}\S++)[ \t]++(.+)$", re.MULTILINE)
_RECIPE_MARKS = re.compile(r"(^|;)([ \t]*+)[@+-]+", re.MULTILINE)


def shell_commands_in(text: str, language: Language, program: str) -> ShellCommands:
    """The shell scripts and commands that would run."""
    return LANGUAGES[language](text, program)


def _shell(text: str, program: str) -> ShellCommands:
    yield text.removeprefix("!")


def _setting(text: str, program: str) -> ShellCommands:
    """`name=command`, `name command` or `NAME:command`, with a mark before it or not."""
    if found := _SETTING.fullmatch(text):
        yield found[1].strip("'\"")


def _lines(text: str, program: str) -> ShellCommands:
    for pattern in (_ESCAPED_LINE, _BACKSLASHED):
        yield from (found[1] for found in pattern.finditer(text))
    yield from commands_in(text, program)


def _sed(text: str, program: str) -> ShellCommands:
    yield from (found["script"] for found in _SED_RUNS.finditer(text))
    yield from (re.sub(r"\\(.)", r"\1", found["script"]) for found in _SED_SUBSTITUTES.finditer(text))
    yield from (Command((program,), writes=(found["file"].strip(),)) for found in _SED_WRITES.finditer(text))


def _make(text: str, program: str) -> ShellCommands:
    yield _RECIPE_MARKS.sub(r"\1\2", text.replace("$(shell ", "$("))


def _cron(text: str, program: str) -> ShellCommands:
    yield from (found[1] for found in _SCHEDULE.finditer(text))


def _remote(text: str, program: str) -> ShellCommands:
    """The address of a repository may name the program that speaks for it."""
    if text.startswith("ext::"):
        yield text.removeprefix("ext::").replace("% ", "\\ ")


LANGUAGES: Mapping[Language, Callable[[str, str], ShellCommands]] = {
    "shell": _shell,
    "setting": _setting,
    "code": commands_in,
    "lines": _lines,
    "sed": _sed,
    "make": _make,
    "cron": _cron,
    "remote": _remote,
}
