"""The runners of tasks: which program one starts, with which arguments and parser. A new one is a row here.

Their modules are imported when a task first needs them.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol

from msgspec import Struct

from clawft.builtin.build.run import OutputParser

RUNNERS = {
    "cargo": "clawft.builtin.cargo.runner:CARGO",
    "pytest": "clawft.builtin.build.junit:PYTEST",
    "vitest": "clawft.builtin.build.jest:VITEST",
    "jest": "clawft.builtin.build.jest:JEST",
    "npm": "clawft.builtin.build.plain:NPM",
    "make": "clawft.builtin.build.plain:MAKE",
}

TellProgress = Callable[[float, float | None, str], None]


class Runner(Protocol):
    """One kind of builder. `argv` follows the program; `report` is the name of the file it writes, or empty."""

    @property
    def programs(self) -> Sequence[str]:
        """Names to try, in this order; one with a slash is looked up from the folder of the run."""
        ...

    @property
    def report(self) -> str: ...

    def argv(self, target: str, args: Sequence[str], report: str) -> list[str]:
        """Raises ExecutionFailed for what the task may not ask for."""
        ...

    def parser(self, tell: TellProgress) -> OutputParser: ...


class Template(Struct, frozen=True):
    """A runner from a template: `{target}` and `{report}` are replaced, `{args}` by all arguments."""

    programs: tuple[str, ...]
    words: tuple[str, ...]
    makes_parser: Callable[[TellProgress], OutputParser]
    report: str = ""

    def argv(self, target: str, args: Sequence[str], report: str) -> list[str]:
        filled = [_fill(word, target, args, report) for word in self.words]
        return [word for words in filled for word in words]

    def parser(self, tell: TellProgress) -> OutputParser:
        return self.makes_parser(tell)


def runner_named(name: str) -> Runner:
    module, _, row = RUNNERS[name].partition(":")
    return getattr(import_module(module), row)


def _fill(word: str, target: str, args: Sequence[str], report: str) -> Sequence[str]:
    if word == "{args}":
        return args
    if word == "{target}":
        return [target] if target else []
    return [word.replace("{report}", report)]
