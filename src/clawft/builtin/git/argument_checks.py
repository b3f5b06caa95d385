"""Validates values from a caller before they reach git, so that none is taken for an option or misread."""

import re
from collections.abc import Sequence
from posixpath import isabs, normpath

from clawft.builtin.git.settings import BOUNDS
from clawft.errors import InvalidArguments, PermissionDenied

_REF = re.compile(
    r"(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)|/\.|\.$|/$))[^\x00-\x20\x7f~^:?*\[\\/.@-][^\x00-\x20\x7f~^:?*\[\\]*"
)
_REMOTE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
_FULL_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PERSON = re.compile(r"[^\x00-\x1f\x7f<>]+")


def word(tool: str, name: str, value: str, hint: str = "") -> str:
    """Check a single line that is not an option: a revision, a name, a pattern."""
    if "\n" in value or "\r" in value:
        raise InvalidArguments(f"{tool}: '{name}' holds a line break", hint="one line only")
    return _no_option(tool, name, value, hint)


def revision(tool: str, name: str, value: str) -> str:
    """Check what names a commit: `main`, `HEAD~2`, `v1.0^`, an id."""
    if any(letter.isspace() for letter in word(tool, name, value)):
        raise InvalidArguments(f"{tool}: '{name}' holds blanks: {value!r}", hint="one revision or one range")
    return value


def ref_name(tool: str, name: str, value: str) -> str:
    """Check the name of a new branch or tag against the rules of git."""
    if not _REF.fullmatch(word(tool, name, value)):
        raise InvalidArguments(
            f"{tool}: {value!r} is not a valid name of a branch or tag", hint="letters, digits, . _ - /"
        )
    return value


def remote_name(tool: str, value: str) -> str:
    """Check the name of a configured remote; an address is refused, as it would bypass the rules for addresses."""
    if not _REMOTE.fullmatch(word(tool, "remote", value)):
        raise InvalidArguments(f"{tool}: {value!r} is not the name of a remote", hint="the name of one, such as origin")
    return value


def full_id(tool: str, name: str, value: str) -> str:
    if not _FULL_ID.fullmatch(word(tool, name, value)):
        raise InvalidArguments(f"{tool}: '{name}' is not a full commit id: {value!r}", hint="40 hexadecimal digits")
    return value


def message(tool: str, value: str, name: str = "message") -> str:
    """Check the text of a message: anything but an empty one."""
    _check(tool, name, value, BOUNDS.message_chars)
    if not value.strip():
        raise InvalidArguments(f"{tool}: '{name}' is empty")
    return value


def person(tool: str, name: str, value: str) -> str:
    """Check a person's name or mail address, as it may stand in a commit."""
    found = word(tool, name, value).strip()
    if not _PERSON.fullmatch(found):
        raise InvalidArguments(f"{tool}: '{name}' is empty or holds '<', '>' or control characters")
    return found


def path(tool: str, name: str, value: str) -> str:
    """Check a path relative to the top of the repository, as text: `./a//b` is `a/b`; `.` is everything."""
    _no_option(tool, name, value, hint=f"a file of this name is './{value}'")
    found = normpath(value)
    if isabs(found) or found == ".." or found.startswith("../"):
        raise PermissionDenied(tool, f"'{value}' leads outside", hint="relative paths only; '.' is the top")
    if ".git" in (part.lower() for part in found.split("/")):
        raise PermissionDenied(tool, f"'{value}' lies in a .git folder")
    return found


def paths(tool: str, values: Sequence[str]) -> list[str]:
    if len(values) > BOUNDS.paths:
        raise InvalidArguments(f"{tool}: {len(values)} paths, the bound is {BOUNDS.paths}", hint="name their folder")
    return [path(tool, "paths", value) for value in values]


def _no_option(tool: str, name: str, value: str, hint: str) -> str:
    _check(tool, name, value, BOUNDS.word_chars)
    if value.startswith("-"):
        raise InvalidArguments(f"{tool}: '{name}' begins with '-', so git could take it for an option", hint=hint)
    return value


def _check(tool: str, name: str, value: str, bound: int) -> None:
    if not value:
        raise InvalidArguments(f"{tool}: '{name}' is empty")
    if len(value) > bound:
        raise InvalidArguments(f"{tool}: '{name}' has {len(value)} characters, the bound is {bound}")
    if "\0" in value:
        raise InvalidArguments(f"{tool}: '{name}' holds a null byte")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InvalidArguments(f"{tool}: '{name}' is not valid text")
