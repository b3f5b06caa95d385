"""The words that Tab offers in place of the last word: those known without starting anything, and those no shell can
take for something else.

The completion scripts ask `weft completion -- WORD…` with all words up to the cursor, and get one a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clawft.cli.main import parser_of, verbs_of
from clawft.cli.parser import Options, Parser, common_options

if TYPE_CHECKING:
    from clawft.cli.completion.offer import KnownOffer

_HARMLESS = re.compile(r"[A-Za-z0-9_./:%@+,=][A-Za-z0-9_./:%@+,=-]*")
"""bash expands what it is offered: a tool, or a server of a workspace, that is called `$(rm -rf ~)` would be run."""


class TypedLine(Struct):
    """The words before the one that is completed."""

    words: list[str]
    """Behind the command, without options."""
    options: Options
    """The options that select tools and servers."""


def offered(words: Sequence[str]) -> Iterator[str]:
    """The offered words that begin like the last word."""
    *before, begun = words
    path = " ".join(before[:2])
    offers = VALUES.get(path, {}).get(before[-1]) if before else None
    if offers is not None:
        before.pop()
    else:
        offers = OFFERS.get(path)
    line = _read(before) if offers is not None else None
    if offers is None or line is None:
        return
    for word in offers(line, begun):
        if word.startswith(begun) and _HARMLESS.fullmatch(word):
            yield word


def _read(before: Sequence[str]) -> TypedLine | None:
    """None if an option waits for its value."""
    path, common = " ".join(before[:2]), Parser("weft")
    common_options(common)
    parser = parser_of(path, verbs_of(before[0])[before[1]])
    takes = {name: details.get("action", "store") != "store_true" for name, details in _options(parser)}
    ours = {name for name, _ in _options(common)}
    words: list[str] = []
    option_words: list[str] = []
    rest = iter(before[2:])
    for word in rest:
        if not word.startswith("-"):
            words.append(word)
            continue
        values = [*islice(rest, 1)] if takes.get(word) else []
        if takes.get(word) and not values:
            return None
        option_words += [word, *values] if word.partition("=")[0] in ours else []
    return TypedLine(words, common.read(option_words))


def _options(parser: Parser) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return ((name, details) for names, details in parser.arguments for name in names if name.startswith("-"))


# ── what stands where ────────────────────────────────────────────────────────────────────────────────────────────────

Offers = Callable[[TypedLine, str], Iterable[str]]


def _server(line: TypedLine, begun: str) -> Iterable[str]:
    return () if line.words else _servers(line, begun)


def _servers(line: TypedLine, begun: str) -> Iterable[str]:
    from clawft.cli.setup.sources import discovered  # only where servers are looked for

    known = discovered(line.options)
    return (*known.found, *known.waiting, *known.refused)


def _tool(line: TypedLine, begun: str) -> Iterable[str]:
    return () if line.words else _tools(line, begun)


def _tool_and_arguments(line: TypedLine, begun: str) -> Iterable[str]:
    if not line.words:
        return _tool(line, begun)
    name, *given = line.words
    return _asked(line, lambda known: known.arguments_of_tool(name, given, begun))


def _prompt_and_arguments(line: TypedLine, begun: str) -> Iterable[str]:
    if not line.words:
        return _asked(line, lambda known: known.prompts())
    name, *given = line.words
    return _asked(line, lambda known: known.arguments_of_prompt(name, given, begun))


def _resource(line: TypedLine, begun: str) -> Iterable[str]:
    return () if line.words else _asked(line, lambda known: known.resources())


def _tools(line: TypedLine, begun: str) -> Iterable[str]:
    return _asked(line, lambda known: known.tools())


def _server_and_tools(line: TypedLine, begun: str) -> Iterable[str]:
    if not line.words:
        return _servers(line, begun)
    server, *given = line.words
    return _asked(line, lambda known: [name for name in known.tools_of(server) if name not in given])


def _approved(line: TypedLine, begun: str) -> Iterable[str]:
    """The approvals in the book, which can be revoked or compared."""
    from clawft.cli.approvals.book import book  # only for those words

    if not line.words:
        return dict.fromkeys(each.server for each in book().all())
    server, *given = line.words
    return [each.tool for each in book().all() if each.server == server and each.tool and each.tool not in given]


def _approved_servers(line: TypedLine, begun: str) -> Iterable[str]:
    from clawft.cli.approvals.book import book  # only for those words

    return [name for name in dict.fromkeys(each.server for each in book().all()) if name not in line.words]


def _owners(line: TypedLine, begun: str) -> Iterable[str]:
    """Servers, and families of our own tools."""
    known = dict.fromkeys((*_servers(line, begun), *_asked(line, lambda offer: offer.families())))
    return [name for name in known if name not in line.words]


def _login(line: TypedLine, begun: str) -> Iterable[str]:
    if line.words:
        return ()
    from clawft.cli.auth.logins import vault  # only for those words

    own = vault()
    return dict.fromkeys((*own.servers.names(), *own.names()))


def _asked(line: TypedLine, ask: Callable[[KnownOffer], Iterable[str]]) -> Iterable[str]:
    from clawft.cli.completion.offer import asked  # brings the whole house

    return asked(line.options, ask)


OFFERS: Mapping[str, Offers] = {
    **dict.fromkeys((f"servers {verb}" for verb in "status remove enable disable reconnect test".split()), _server),
    "auth login": _server,
    **dict.fromkeys((f"auth {verb}" for verb in "status refresh logout allow".split()), _login),
    "tools list": _owners,
    "tools show": _tool,
    "tools call": _tool_and_arguments,
    "policy explain": _tool_and_arguments,
    "prompts get": _prompt_and_arguments,
    "resources read": _resource,
    "approvals list": _server,
    "approvals grant": _server_and_tools,
    "approvals revoke": _approved,
    "approvals diff": _approved,
    "approvals export": _approved_servers,
}
"""Command → what its words may be."""
VALUES: Mapping[str, Mapping[str, Offers]] = {"audit tail": {"--server": _servers, "--tool": _tools}}
"""Command → option → what it takes."""
ASKING = frozenset(option for options in VALUES.values() for option in options)
