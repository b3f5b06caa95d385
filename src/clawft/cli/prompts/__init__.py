"""`weft prompts`: what prompts there are (`list`), and one of them filled in (`get`, by a `schema`).

What its verbs take stands here.
"""

from __future__ import annotations

from clawft.cli.parser import Parser, Verb, common_options, json_option


def _list_options(parser: Parser) -> None:
    json_option(parser)
    common_options(parser)


def _get_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="a name from the list")
    parser.add_argument("pairs", metavar="KEY=VALUE", nargs="*", default=[], help="arguments; KEY=@FILE (@- for stdin)")
    parser.add_argument("--args", metavar="JSON", help="all arguments as one JSON object, or @FILE")
    _list_options(parser)


VERBS = {
    "list": Verb("List prompts and their arguments", _list_options, "clawft.cli.prompts.list"),
    "get": Verb("Fill a prompt in and print its messages", _get_options, "clawft.cli.prompts.get"),
}
