"""The command lines that a value may stand for, together with the arguments given in neighbouring keys."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, cast

LIST_KEYS = frozenset("commands cmds scripts shell_commands shellcommands".split())
SCRIPT_KEYS = frozenset("script shell_script shellscript bash_script bashscript".split())
COMMAND_KEYS = SCRIPT_KEYS | frozenset(
    "command cmd command_line commandline cmdline cmd_line command_text commandtext command_string commandstring"
    " shell_command shellcommand bash_command bashcommand bash sh shell exec execute run argv run_command runcommand"
    " exec_command execcommand execute_command executecommand".split()
)
ARGUMENT_KEYS = "options opts flags args arg arguments argument argv parameters params".split()
"""Keys of arguments, in the order in which they are put after the command."""
DESCRIPTION_KEYS = frozenset(
    "description title summary comment comments message prompt reason explanation note notes help label".split()
)
"""Keys that only describe a command, in a table that is one."""

_COMMANDS = COMMAND_KEYS | LIST_KEYS
_OF_LINES = SCRIPT_KEYS | LIST_KEYS
_TAKES_TEXTS = frozenset(
    "echo printf say logger grep egrep fgrep rg ag ack git gh ssh docker podman nerdctl kubectl tmux screen psql mysql"
    " sqlite3 python python3 node perl ruby".split()
)
"""Programs that take any text as an argument: such a text is not judged as a command line of its own."""

NamedLine = tuple[str, str]
"""The path of a command line, and the line."""


def plain_name(key: str) -> str:
    """`Shell-Command` and `shell_command` are one name."""
    return key.lower().replace("-", "_")


def names_command(name: str) -> bool:
    return name in _COMMANDS


def is_line_of(name: str) -> bool:
    """Whether this key, in a table that is a command, holds a command line, and no argument or description."""
    return name not in DESCRIPTION_KEYS and name not in ARGUMENT_KEYS


def lines_of(where: str, name: str, value: Any, beside: Mapping[str, str]) -> Iterator[NamedLine]:
    """All readings of one value; `beside` holds the arguments from neighbouring keys."""
    if isinstance(value, str):
        yield from _with_arguments(where, name, value, beside)
    elif isinstance(value, list):
        yield from _lines_of_list(where, name, cast("list[Any]", value), beside)


def _with_arguments(where: str, name: str, line: str, beside: Mapping[str, str]) -> Iterator[NamedLine]:
    yield where, line
    rest = " ".join(text for key, text in beside.items() if key != name)
    if rest:  # {"command": "rm", "args": ["-rf", "/"]} is one command
        yield where, f"{line} {rest}"


def _lines_of_list(where: str, name: str, items: list[Any], beside: Mapping[str, str]) -> Iterator[NamedLine]:
    """As words of one command, and as lines where it may be a list of lines."""
    words = [str(item) for item in items if not isinstance(item, (list, Mapping))]
    if not words:
        return
    begins_with_line = _has_blank(words[0])
    if name not in LIST_KEYS or not begins_with_line:
        yield from _with_arguments(where, name, shlex.join(words), beside)
    certain = name in _OF_LINES or begins_with_line
    if certain or _may_be_lines(words):
        for at, item in enumerate(items):
            if isinstance(item, str) and (certain or _has_blank(item)):
                yield f"{where}[{at}]", item


def _may_be_lines(words: list[str]) -> bool:
    """Whether a list that begins with a single word may be a list of lines, and not one command with arguments."""
    takes_texts = words[0].rpartition("/")[2].lower() in _TAKES_TEXTS
    return not takes_texts and not any(word.startswith("-") for word in words)


def _has_blank(text: str) -> bool:
    return len(text.split(maxsplit=1)) > 1


def arguments_in(table: Mapping[str, Any]) -> dict[str, str]:
    """The arguments in a table, each spelled as on a command line."""
    named = {plain_name(key): value for key, value in table.items()}
    return {name: text for name in ARGUMENT_KEYS if (text := _as_text(named.get(name)))}


def _as_text(value: Any) -> str:
    """A text is split as a shell would, a list has one argument in each item."""
    if isinstance(value, str):
        return value
    return shlex.join(_flat(cast("list[Any]", value))) if isinstance(value, list) else ""


def _flat(items: list[Any]) -> list[str]:
    words: list[str] = []
    waiting = items[::-1]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(cast("list[Any]", item)[::-1])
        elif not isinstance(item, Mapping):
            words.append(str(item))
    return words
