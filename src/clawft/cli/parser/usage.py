"""argparse with our manners: help, and what is wrong with a command line. Wrong usage names what was meant."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from clawft.cli.examples import section
from clawft.cli.parser import Options, WrongUsage, unknown
from clawft.error_words import nearest

if TYPE_CHECKING:  # which reads through us
    from clawft.cli.parser import Parser

HELP_INDENT = 26

_CHOICE = r"invalid choice: '(?P<word>[^']*)' \(choose from (?P<choices>.*)\)"
_WORD = r"[\w-]+"


class UsageParser(argparse.ArgumentParser):
    """Knows everything about the options of one command, and takes its time."""

    def __init__(self, told: Parser) -> None:
        super().__init__(
            prog=told.prog,
            description=told.description,
            usage=told.usage,
            allow_abbrev=False,
            add_help=False,
            formatter_class=_Formatter,
        )
        self.suggest_on_error = False  # we do, on a line of its own; newer Pythons would do it within the sentence
        self._takes_command = told.takes_command
        self._command_taken_for = told.command_taken_for
        self.add_argument("--help", "-h", action="help", help="print this")
        for names, details in told.arguments:
            self.add_argument(*names, **details)

    def read(self, words: Sequence[str]) -> Options:
        """Options may stand before, between and behind the words. Raises WrongUsage."""
        own, command = _at_dashes(list(words)) if self._takes_command else (list(words), [])
        namespace, extra = self.parse_known_intermixed_args(own, Options())
        if self._takes_command:
            namespace.command = command
        taken = str(getattr(namespace, self._command_taken_for, ""))
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
        return WrongUsage(f"{self.prog.removeprefix('weft ')}: the command must follow --", hint=meant)

    def format_help(self) -> str:
        return super().format_help() + section(self.prog.removeprefix("weft "))

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

    def free_options(self) -> list[str]:
        """The options that take a value of one's own: a file, a name, a number."""
        return [
            option
            for option in self.known_options()
            if (action := self._option_string_actions[option]).nargs != 0 and not action.choices
        ]

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
