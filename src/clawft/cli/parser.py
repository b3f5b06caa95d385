"""Options of one command: argparse with our manners. Wrong usage is an error as any other and names what was meant."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

from clawft.config.nearest import nearest
from clawft.errors import ClawftError

HELP_INDENT = 26

_CHOICE = r"invalid choice: '(?P<word>[^']*)' \(choose from (?P<choices>.*)\)"
_WORD = r"[\w-]+"

Options = argparse.Namespace
"""The values of one command line, by name of the option."""


class WrongUsage(ClawftError):
    exit_code = 2
    blame = "the caller"


class Parser(argparse.ArgumentParser):
    takes_command = False
    """Whether what stands behind `--` is a command line of its own, kept as it is in `command`."""
    command_taken_for = ""
    """The argument, a URL, that the first word of such a command becomes where somebody forgot `--`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, add_help=False, formatter_class=_Formatter, **options)
        self.add_argument("--help", "-h", action="help", help="print this")

    def read(self, words: Sequence[str]) -> Options:
        """Options may stand before, between and behind the words. Raises WrongUsage."""
        own, command = _at_dashes(list(words)) if self.takes_command else (list(words), [])
        namespace, extra = self.parse_known_intermixed_args(own)
        if self.takes_command:
            namespace.command = command
        taken = str(getattr(namespace, self.command_taken_for, ""))
        if extra and taken and "://" not in taken:
            raise self._without_dashes(own, taken)
        if extra:
            kind = "option" if extra[0].startswith("-") else "argument"
            raise unknown(kind, extra[0], self.known_options() if kind == "option" else (), f"{self.prog} --help")
        return namespace

    def _without_dashes(self, words: list[str], first: str) -> WrongUsage:
        """Words of a command were taken for ours: the same line with `--` before its first one."""
        at = words.index(first)
        meant = " ".join([self.prog, *words[:at], "--", *words[at:]])
        return WrongUsage(f"{self.prog.removeprefix('weft ')}: a command stands behind --", hint=meant)

    def known_options(self) -> list[str]:
        return [option for option in self._option_string_actions if option.startswith("--")]

    def described_options(self) -> dict[str, str]:
        """Long option → what it does."""
        return {option: self._option_string_actions[option].help or "" for option in self.known_options()}

    def known_values(self) -> dict[str, list[str]]:
        """Choices by option, and by name for words: for completion."""
        return {
            (action.option_strings or [action.dest])[0]: [str(choice) for choice in action.choices]
            for action in self._actions
            if action.choices
        }

    def error(self, message: str) -> NoReturn:
        choice = re.search(_CHOICE, message)
        near = nearest(choice["word"], re.findall(_WORD, choice["choices"])) if choice else ""
        hint = f"did you mean {near}?" if near else f"{self.prog} --help"
        raise WrongUsage(f"{self.prog.removeprefix('weft ')}: {message}", hint=hint)


def _at_dashes(words: list[str]) -> tuple[list[str], list[str]]:
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


class _Formatter(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=HELP_INDENT)


class Verb(NamedTuple):
    summary: str
    options: Callable[[Parser], None]
    run: Callable[[Options], int]


def unknown(kind: str, word: str, known: Iterable[str], help_line: str) -> WrongUsage:
    """An unknown command, option or verb; the hint names the nearest known one."""
    bare = {each.lstrip("-"): each for each in known}  # the dashes would make all options alike
    found = bare.get(nearest(word.partition("=")[0].lstrip("-"), bare), "")
    return WrongUsage(f"unknown {kind}: {word}", hint=f"did you mean {found}?" if found else help_line)


def missing_verb(command: str, verbs: Iterable[str]) -> WrongUsage:
    return WrongUsage(f"{command} what? One of: {', '.join(verbs)}", hint=f"weft {command} --help")


def json_option(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def folder(text: str) -> str:
    """A path the user typed, with `~` for home."""
    return os.path.expanduser(text)
