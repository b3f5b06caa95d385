"""`weft tools`: the same catalog and the same guards an agent gets, for a person. What its verbs take stands here.

| what | where |
|---|---|
| many tools | `list`, `search`; `entries` are rows of both, `flags` what a tool says of itself |
| one tool | `show`, `call`; `finding` one by its name; `absence`: why a server has none |
"""

from __future__ import annotations

from clawft.cli.parser import Parser, Verb, argument_options, common_options, json_option


def _list_options(parser: Parser) -> None:
    parser.add_argument("only", metavar="WHOSE", nargs="*", help="a server, a family like git, or a glob like 'git__*'")
    _table_options(parser)


def _table_options(parser: Parser) -> None:
    parser.add_argument("--tokens", action="store_true", help="show what each definition costs in a model's context")
    json_option(parser)
    common_options(parser)


def _search_options(parser: Parser) -> None:
    parser.add_argument("words", metavar="WORD", nargs="+", help="words in the name or description")
    _table_options(parser)


def _show_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="any name of the tool")
    json_option(parser)
    common_options(parser)


def _call_options(parser: Parser) -> None:
    argument_options(parser)
    json_option(parser)
    common_options(parser)


VERBS = {
    "list": Verb("List the tools an agent would see", _list_options, "clawft.cli.tools.list"),
    "search": Verb("Search names and descriptions", _search_options, "clawft.cli.tools.search"),
    "show": Verb("Show one tool: arguments, flags, names", _show_options, "clawft.cli.tools.show"),
    "call": Verb("Call a tool; all guards apply", _call_options, "clawft.cli.tools.call"),
}
