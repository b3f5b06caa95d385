"""Finds the command lines and URLs in a call's arguments that have to be judged, wherever they hide."""

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from clawft.policy.search import FoundTexts

UNJUDGEABLE = "$(" * 16
"""A command line that every policy refuses; it stands for whatever lies beyond the bounds of the search."""

_BACKSLASH, _SLASH = b"\\/"


def suspicious(raw: bytes) -> bool:
    """Whether these JSON arguments are worth decoding. Never False where `search_arguments` would find something.

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
    """Command lines with their paths. If a bound of the search was hit, the last one is UNJUDGEABLE."""
    return commands_of(search_arguments(arguments))


def commands_of(found: "FoundTexts") -> list[tuple[str, str]]:
    return [*found.commands, *([] if found.complete else [("(too much to search)", UNJUDGEABLE)])]


def urls(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """URLs with their paths, as far as the search went; `commands` tells if it was cut short."""
    return list(search_arguments(arguments).urls)


def search_arguments(arguments: Mapping[str, Any]) -> "FoundTexts":
    """Command lines and URLs at once, with the path of each (`steps[0].run`)."""
    from clawft.policy.search import search_arguments  # patterns to compile: most calls are never suspicious

    return search_arguments(arguments)
