"""`weft tools`: the same catalog and the same guards an agent gets, for a person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clawft.catalog.surface import cost_of, tokens_of
from clawft.cli import tool
from clawft.cli.options import common_options, show_with_app
from clawft.cli.parser import Options, Parser, Verb, json_option
from clawft.cli.screen import one_line, print_json, print_table, tell
from clawft.cli.tool import flags

if TYPE_CHECKING:  # `weft tools --help` needs none of it
    from clawft.app import App
    from clawft.catalog.snapshot import CatalogEntry

_SENTENCE_END = re.compile(r"\. (?=[^a-z])")

MAX_FOUND = 20
"""Tools that a search shows, the best first."""


# ── list and search ──────────────────────────────────────────────────────────────────────────────────────────────────


def _list_options(parser: Parser) -> None:
    parser.add_argument("only", metavar="WHOSE", nargs="*", help="a server, a family like git, or a glob like 'git__*'")
    _table_options(parser)


def _table_options(parser: Parser) -> None:
    parser.add_argument("--tokens", action="store_true", help="show what each definition costs in a model's context")
    json_option(parser)
    common_options(parser)


def _list(options: Options) -> int:
    async def work(app: App) -> tuple[list[CatalogEntry], str]:
        listed = [entry for entry in app.gateway.tools.listed(app.caller) if _is_of(entry, tuple(options.only))]
        return listed, "" if listed else _no_tools(app, options)

    alone = f"{options.only[0]}__" if len(options.only) == 1 else ""
    return show_with_app(
        options, work, lambda found: _print_entries(found[0], options, found[1]), tool=alone, look=True
    )


def _is_of(entry: CatalogEntry, only: tuple[str, ...]) -> bool:
    from clawft.policy.globs import any_matches  # loaded by now

    return not only or (entry.origin.server or entry.origin.namespace) in only or any_matches(entry.names, only)


def _no_tools(app: App, options: Options) -> str:
    for name in options.only:
        absent = tool.why_absent(app, f"{name}__")
        if absent is not None:
            return f"no tools: {absent[0]}\nhint: {absent[1]}"
    if options.only:
        return f"no tool is of {' or '.join(options.only)}; `weft tools list` shows all tools"
    return "no tools: no server offers any, and --no-builtin, --allow or --deny left no others"


def _search_options(parser: Parser) -> None:
    parser.add_argument("words", metavar="WORD", nargs="+", help="words of the name or description")
    _table_options(parser)


def _search(options: Options) -> int:
    async def work(app: App) -> list[CatalogEntry]:
        return app.gateway.tools.search(app.caller, " ".join(options.words), MAX_FOUND)

    nothing = "nothing found; `weft tools list` shows all tools"
    return show_with_app(options, work, lambda found: _print_entries(found, options, nothing), look=True)


def _print_entries(entries: Sequence[CatalogEntry], options: Options, nothing: str) -> int:
    if options.json:
        print_json({"tools": [_summary(entry) for entry in entries], "tokens": cost_of(entries)})
        return 0
    if not entries:
        tell(nothing)
        return 0
    counted = options.tokens
    head = ["NAME", "KIND", *(["TOKENS"] if counted else []), "WHAT IT DOES"]
    rows = [
        [entry.name, _kind(entry), *([str(tokens_of(entry))] if counted else []), _does(entry)] for entry in entries
    ]
    if counted:
        rows.append(["total", "", str(cost_of(entries)), f"{len(entries)} tools"])
    print_table(head, rows)
    return 0


def _summary(entry: CatalogEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.tool.title,
        "description": entry.tool.description,
        "namespace": entry.origin.namespace,
        "server": entry.origin.server,
        "trusted": entry.origin.trusted,
        "flags": flags(entry.tool.annotations),
        "tokens": tokens_of(entry),
    }


def _kind(entry: CatalogEntry) -> str:
    """What a server that is not trusted says of its tools is only its word."""
    return ", ".join((flags(entry.tool.annotations)[0], *(() if entry.origin.trusted else ("untrusted",))))


def _does(entry: CatalogEntry) -> str:
    return first_sentence(entry.tool.description or entry.tool.title)


def first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence, or the first empty line."""
    line = one_line(text.strip().partition("\n\n")[0])
    return _SENTENCE_END.split(line, maxsplit=1)[0].removesuffix(".")


VERBS = {
    "list": Verb("List the tools an agent would see", _list_options, _list),
    "search": Verb("Search names and descriptions", _search_options, _search),
    "show": Verb("Show one tool: arguments, flags, names", tool.show_options, tool.show),
    "call": Verb("Call a tool, guarded like any call", tool.call_options, tool.call),
}
