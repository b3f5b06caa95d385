"""Reads the command line. Wrong usage is an error as any other and names the option or command that was meant.

| what | where |
|---|---|
| the options of one command, and those that several take; a verb | here |
| help, and what is wrong with a command line | `usage` |
| `key=value` words as the arguments of a tool | `arguments` |

A plain line is read here. Help, mistakes and everything out of the ordinary are left to argparse, whose import costs a
start more than most of what is imported for good reasons.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from clawft.config.places import DEFAULT_AGENT
from clawft.error_words import nearest
from clawft.errors import ClawftError

if TYPE_CHECKING:  # brings argparse
    from clawft.cli.parser.usage import UsageParser

SURFACES = ("full", "search", "auto")
FORMS = ("plain", "mcp", "claude", "bare")

Argument = tuple[tuple[str, ...], Mapping[str, Any]]
"""The arguments of `add_argument`: names, and the rest by keyword."""

_PLAIN_DETAILS = frozenset("action choices default help metavar type".split())
_PLAIN_ACTIONS = ("store", "store_true", "append")


class WrongUsage(ClawftError):
    exit_code = 2
    blame = "the caller"


class Options(SimpleNamespace):
    """The values of one command line, by name of the option."""


class Parser:
    usage: str | None = None
    """The first lines of its help, where they cannot be made from the arguments."""
    takes_command = False
    """Whether what stands behind `--` is a command line of its own, kept as it is in `command`."""
    command_taken_for = ""
    """The argument, a URL, that the first word of such a command becomes where somebody forgot `--`."""

    def __init__(self, prog: str, description: str = "") -> None:
        self.prog = prog
        self.description = description
        self.arguments: list[Argument] = []

    def add_argument(self, *names: str, **details: Any) -> None:
        """As argparse has it."""
        self.arguments.append((names, details))

    def read(self, words: Sequence[str]) -> Options:
        """Options may stand before, between and behind the words. Raises WrongUsage."""
        told = None if self.takes_command else read_plainly(self.arguments, words)
        return self.whole().read(words) if told is None else told

    def whole(self) -> UsageParser:
        from clawft.cli.parser.usage import UsageParser  # only for those who need more than a plain line

        return UsageParser(self)


def read_plainly(arguments: Sequence[Argument], words: Sequence[str]) -> Options | None:
    """A line of long options, each known and with a good value, as argparse would read it; None for any other line."""
    if not all(_is_plain(*argument) for argument in arguments):
        return None
    known = {name: (_attribute(names), details) for names, details in arguments for name in names}
    values = {attribute: _unless_told(details) for attribute, details in known.values()}
    rest = iter(words)
    for word in rest:
        if word not in known:
            return None
        attribute, details = known[word]
        value = True if details.get("action") == "store_true" else _value(next(rest, "-"), details)
        if value is None:
            return None
        values[attribute] = [*(values[attribute] or ()), value] if details.get("action") == "append" else value
    return Options(**values)


def _is_plain(names: tuple[str, ...], details: Mapping[str, Any]) -> bool:
    long = all(name.startswith("--") for name in names)
    return long and details.keys() <= _PLAIN_DETAILS and details.get("action", "store") in _PLAIN_ACTIONS


def _attribute(names: tuple[str, ...]) -> str:
    return names[0].removeprefix("--").replace("-", "_")


def _unless_told(details: Mapping[str, Any]) -> Any:
    default = details.get("default", False if details.get("action") == "store_true" else None)
    return details["type"](default) if isinstance(default, str) and "type" in details else default


def _value(word: str, details: Mapping[str, Any]) -> object | None:
    """None if there is something wrong with it: argparse knows the words for that."""
    if word.startswith("-"):
        return None
    try:
        value = details.get("type", str)(word)
    except Exception:  # noqa: BLE001 - will be raised once more
        return None
    return value if value in details.get("choices", (value,)) else None


class Verb:
    """One thing a command does: what it takes, and the module that does it, which is loaded when it runs."""

    def __init__(self, summary: str, options: Callable[[Parser], None], work: str) -> None:
        """`work`: a module with `run`, which gets the options and gives the exit code."""
        self.summary = summary
        self.options = options
        self.work = work

    def run(self, options: Options) -> int:
        run: Callable[[Options], int] = import_module(self.work).run
        return run(options)


def unknown(kind: str, word: str, known: Iterable[str], help_line: str) -> WrongUsage:
    """An unknown command, option or verb; the hint names the nearest known one."""
    bare = {each.lstrip("-"): each for each in known}  # the dashes would make all options alike
    found = bare.get(nearest(word.partition("=")[0].lstrip("-"), bare), "")
    return WrongUsage(f"unknown {kind}: {word or repr(word)}", hint=f"did you mean {found}?" if found else help_line)


def wrong_value(told: str) -> Exception:
    """The error for a bad value of an option, in words that follow the name of the option."""
    from argparse import ArgumentTypeError  # only to complain

    return ArgumentTypeError(told)


def missing_verb(command: str, verbs: Iterable[str]) -> WrongUsage:
    return WrongUsage(f"{command} what? One of: {', '.join(verbs)}", hint=f"weft {command} --help")


# ── options that several commands take ───────────────────────────────────────────────────────────────────────────────


def json_option(parser: Parser, does: str = "print one JSON document") -> None:
    parser.add_argument("--json", action="store_true", help=does)


def folder(text: str) -> str:
    """A path the user typed, with `~` for home."""
    return os.path.expanduser(text)


def argument_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="any name of the tool")
    parser.add_argument(
        "pairs", metavar="KEY=VALUE", nargs="*", default=[], help="arguments; KEY:=JSON, KEY=@FILE (@- for stdin)"
    )
    parser.add_argument("--args", metavar="JSON", help="all arguments as one JSON object, or @FILE")


def place_options(parser: Parser) -> None:
    parser.add_argument(
        "--agent", metavar="NAME", default=DEFAULT_AGENT, help="whose settings apply (default: default)"
    )
    parser.add_argument(
        "--workspace", metavar="DIR", type=folder, default=".", help="the folder to work in (default: .)"
    )


def common_options(parser: Parser) -> None:
    place_options(parser)
    parser.add_argument("--names", metavar="FORM", choices=FORMS, help=f"how tools are named: {', '.join(FORMS)}")
    parser.add_argument("--allow", metavar="GLOB", action="append", help="tools to offer; may be repeated")
    parser.add_argument("--deny", metavar="GLOB", action="append", help="tools to hide; may be repeated")
    parser.add_argument(
        "--surface", metavar="FORM", choices=SURFACES, help=f"how many tools are listed: {', '.join(SURFACES)}"
    )
    parser.add_argument("--no-builtin", action="store_true", help="do not offer the built-in tools")
    parser.add_argument(
        "--mcp-config", metavar="FILE-OR-JSON", action="append", help="servers to use, as mcpServers JSON; repeatable"
    )
    parser.add_argument("--strict-mcp-config", action="store_true", help="exit with 1 if a server does not start")
    parser.add_argument("--mcp-debug", action="store_true", help="print on stderr what each server does")
