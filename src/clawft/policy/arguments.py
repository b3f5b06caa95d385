"""What in a call's arguments has to be judged: command lines and URLs, wherever they hide."""

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from clawft.policy.search import FoundTexts

UNJUDGEABLE = "$(" * 16
"""Stands for what lies beyond the bounds of the search: a line that every command policy refuses."""

_BACKSLASH, _SLASH = b"\\/"


def suspicious(raw: bytes) -> bool:
    """Is it worth decoding these JSON arguments at all? Never False where `look` would find something.

    A backslash can spell anything, so it always counts; without one, keys and URLs stand there as they are.
    """
    return _BACKSLASH in raw or (_SLASH in raw and b"//" in raw) or _opening()(raw) is not None


@cache
def _opening() -> "Callable[[bytes], re.Match[bytes] | None]":
    """Finds a quote and the first letters of any key of a command or an address, or of a URL without slashes
    (`http:host`) behind any blanks (those beyond ASCII by their first byte), in either case.

    One class for the first letter makes this three times as fast as plain alternatives. Compiled on first use.
    """
    return re.compile(
        rb'"[CcSsBbEeRrAaHhUu \x7f\xc2\xe1-\xe3\xef](?:(?<=[Cc])(?:[Mm][Dd]|[Oo][Mm])|(?<=[Ss])(?:[Hh]|[Cc][Rr])'
        rb"|(?<=[Bb])[Aa][Ss]|(?<=[Ee])(?:[Xx]|[Nn][Dd][Pp])|(?<=[Rr])[Uu][Nn]|(?<=[Aa])[Rr][Gg]"
        rb"|(?<=[Hh])(?:[Tt][Tt][Pp]|[Rr][Ee][Ff])|(?<=[Uu])[Rr][LlIi]"
        rb"|(?<=[ \x7f\xc2\xe1-\xe3\xef])[ \x7f-\xbf\xc2\xe1-\xe3\xef]*+[Hh][Tt][Tt][Pp])"
    ).search


def commands(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Command lines and where they stand. Where there is more than we search, the last one is UNJUDGEABLE."""
    return commands_of(look(arguments))


def commands_of(found: "FoundTexts") -> list[tuple[str, str]]:
    return [*found.commands, *([] if found.complete else [("(too much to search)", UNJUDGEABLE)])]


def urls(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """URLs and where they stand, as far as they were searched; `commands` says if that was not everything."""
    return list(look(arguments).urls)


def look(arguments: Mapping[str, Any]) -> "FoundTexts":
    """Both at once, with the paths they were found at (`steps[0].run`)."""
    from clawft.policy.search import look  # patterns to compile: most calls are never suspicious

    return look(arguments)
