"""Turns the parameters of a call into cargo's arguments, or refuses them. Pure.

No shell reads them, so shell syntax would be harmless; it is refused because that is promised and nobody needs it. What
matters is which flags pass: `--config` alone can name a program to run instead of the compiler. So allowed flags are
listed, each with the form of its value, and everything else is refused.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from clawft.builtin.cargo.family import Cargo, Subcommand
from clawft.errors import ExecutionFailed

MAX_ARGUMENT_CHARS = 1024
MAX_ARGUMENTS = 64
SHOWN_CHARS = 80

WITH_JSON = frozenset({"build", "clippy", "check"})
"""Subcommands that run with `--message-format=json`."""
MANIFEST_PATH = "--manifest-path"

_REFUSED = re.compile(r"[;&|$`(){}<>!\r\n\0]")
_LINT = re.compile(r"[A-Za-z_][A-Za-z0-9_:-]*")
_NUMBER = re.compile(r"\d{1,6}")
_TRIPLE = re.compile(r"[A-Za-z0-9_.-]+")
_WORD = re.compile(r"[^-].*", re.DOTALL)

Flags = Mapping[str, re.Pattern[str] | None]
"""Flag → the form of its value; None: it takes none."""

_EVERYWHERE: Flags = {
    **dict.fromkeys(("--all-features", "--no-default-features", "--keep-going", "--locked", "--offline", "--frozen")),
    **dict.fromkeys(("--verbose", "-v", "-vv")),
    **dict.fromkeys(("--features", "-F", "--exclude", MANIFEST_PATH), _WORD),
    **dict.fromkeys(("--jobs", "-j"), _NUMBER),
}
_TARGETS: Flags = {
    **dict.fromkeys(("--lib", "--bins", "--examples", "--tests", "--benches", "--all-targets")),
    **dict.fromkeys(("--bin", "--example", "--test", "--bench", "--profile"), _WORD),
    **dict.fromkeys(("--ignore-rust-version", "--release", "-r")),
}
FLAGS: Mapping[Subcommand, Flags] = {
    "build": {**_EVERYWHERE, **_TARGETS},
    "check": {**_EVERYWHERE, **_TARGETS},
    "clippy": {**_EVERYWHERE, **_TARGETS, "--no-deps": None},
    "test": {**_EVERYWHERE, **_TARGETS, "--no-fail-fast": None, "--no-run": None, "--doc": None},
    "publish": {**_EVERYWHERE, "--allow-dirty": None, "--no-verify": None},
}
"""Flags allowed in `extra_args`, before a `--`."""
BEHIND: Mapping[Subcommand, Flags] = {
    "test": {
        **dict.fromkeys(("--nocapture", "--no-capture", "--ignored", "--include-ignored", "--exact", "--show-output")),
        "--skip": _WORD,
        "--test-threads": _NUMBER,
    },
    "clippy": dict.fromkeys(("-A", "-W", "-D", "-F", "--allow", "--warn", "--deny", "--forbid"), _LINT),
}
"""Flags allowed behind a `--`: for test programs, and for lints."""
_INSTEAD = {
    "--dry-run": "use dry_run",
    "-n": "use dry_run",
    "--registry": "use registry",
    "--token": "use token, with a secret:// reference",
    "--target": "use target",
    "--package": "use package",
    "-p": "use package",
    "--workspace": "use workspace",
    "--all": "use workspace",
    "--config": "it can replace the compiler; put it into the project's .cargo/config.toml yourself",
    "-Z": "it can replace the compiler; put it into the project's .cargo/config.toml yourself",
    "--message-format": "it is chosen here",
}


def invalid(reason: str, hint: str = "") -> ExecutionFailed:
    return ExecutionFailed(f"invalid params: {reason}", hint=hint)


def argv_of(asked: Cargo) -> list[str]:
    """The arguments behind `cargo`. Raises ExecutionFailed for the first that is refused."""
    own, behind = _split(asked.extra_args)
    return [
        asked.subcommand,
        *_chosen(asked),
        *(["--message-format=json"] if asked.subcommand in WITH_JSON else []),
        *_checked(own, FLAGS[asked.subcommand], asked.subcommand, bare=asked.subcommand == "test"),
        *(["--", *_behind(behind, asked.subcommand)] if behind else []),
    ]


def _chosen(asked: Cargo) -> Iterator[str]:
    """The arguments for the named parameters. Publishing has no profile flag."""
    if asked.profile == "release" and asked.subcommand != "publish":
        yield "--release"
    if asked.workspace:
        yield "--workspace"
    if asked.package is not None:
        yield from ("-p", check_value("package", asked.package))
    for feature in asked.features:
        yield from ("--features", check_value("features", feature))
    if asked.target is not None:
        yield from ("--target", _target(asked.target))


def _target(triple: str) -> str:
    """The target, if it is a triple: a target file could name a linker to run."""
    check_value("target", triple)
    if not _TRIPLE.fullmatch(triple) or triple.endswith(".json"):
        raise invalid(f"target cannot be {quoted(triple)}", "a triple such as x86_64-unknown-linux-gnu")
    return triple


def check_argument(argument: str) -> str:
    """The argument. Refused if it holds anything with a meaning in a shell."""
    if len(argument) > MAX_ARGUMENT_CHARS:
        raise invalid(f"an argument has {len(argument)} characters, the bound is {MAX_ARGUMENT_CHARS}")
    found = _REFUSED.search(argument)
    if found:
        raise invalid(f"{quoted(argument)} contains {found[0]!r}", "leave it out; no shell reads this")
    return argument


def check_value(parameter: str, value: str) -> str:
    """The value. Refused if it could be taken for a flag."""
    check_argument(value)
    if not value or value.startswith("-"):
        raise invalid(f"{parameter} cannot be {quoted(value)}", "it must not be empty or begin with '-'")
    return value


def quoted(argument: str) -> str:
    return repr(argument if len(argument) <= SHOWN_CHARS else argument[: SHOWN_CHARS - 1] + "…")


def _split(extra: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments before and behind the first `--`, all checked."""
    if len(extra) > MAX_ARGUMENTS:
        raise invalid(f"{len(extra)} extra_args, the bound is {MAX_ARGUMENTS}")
    words = [check_argument(argument) for argument in extra]
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def _behind(words: list[str], subcommand: Subcommand) -> list[str]:
    flags = BEHIND.get(subcommand)
    if flags is None:
        raise invalid(f"cargo {subcommand} takes nothing behind '--'")
    return list(_checked(words, flags, f"{subcommand} --", bare=subcommand == "test"))


def _checked(words: list[str], flags: Flags, what: str, *, bare: bool) -> Iterator[str]:
    """The words, if each is a listed flag or its value; `bare` words are names of tests."""
    waiting = iter(words)
    for word in waiting:
        flag, equals, value = word.partition("=")
        if not word.startswith("-") and bare:
            yield check_value("a test's name", word)
            continue
        if flag not in flags:
            raise _unknown(flag, flags, what)
        pattern = flags[flag]
        yield flag
        if pattern is not None:
            yield _value(flag, value if equals else next(waiting, ""), pattern)
        elif equals:
            raise invalid(f"{flag} takes no value, not {quoted(value)}")


def _value(flag: str, value: str, pattern: re.Pattern[str]) -> str:
    if not pattern.fullmatch(value):
        raise invalid(f"{flag} cannot be {quoted(value)}")
    return value


def _unknown(flag: str, flags: Flags, what: str) -> ExecutionFailed:
    hint = _INSTEAD.get(flag) or f"allowed: {', '.join(flags)}"
    return invalid(f"extra_args: {quoted(flag)} is not allowed for cargo {what}", hint)
