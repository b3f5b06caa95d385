"""`weft resources`: what can be read (`list`), and reading it (`read`). What its verbs take stands here."""

from __future__ import annotations

from clawft.cli.parser import Parser, Verb, common_options, json_option


def _list_options(parser: Parser) -> None:
    json_option(parser)
    common_options(parser)


def _read_options(parser: Parser) -> None:
    parser.add_argument("uri", metavar="URI", help="a URI from the list, or one that matches a template")
    _list_options(parser)


VERBS = {
    "list": Verb("List resources and templates", _list_options, "clawft.cli.resources.list"),
    "read": Verb("Print the contents of a resource", _read_options, "clawft.cli.resources.read"),
}
