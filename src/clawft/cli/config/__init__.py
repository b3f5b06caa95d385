"""`weft config`: every setting with its source, where the files are, and what is wrong with them.

What its verbs take stands here.

| what | where |
|---|---|
| settings, and which files are read | `show`, `path` |
| what is wrong | `check`; `warnings` are of servers that start all the same |
"""

from __future__ import annotations

from clawft.cli.parser import Parser, Verb, common_options, json_option, place_options


def _show_options(parser: Parser) -> None:
    parser.add_argument("--origin", action="store_true", help="show the file and line of each value")
    json_option(parser)
    common_options(parser)


def _path_options(parser: Parser) -> None:
    json_option(parser)
    place_options(parser)


VERBS = {
    "show": Verb("Show every setting, as TOML", _show_options, "clawft.cli.config.show"),
    "path": Verb("Show which files are read", _path_options, "clawft.cli.config.path"),
    "check": Verb("Report mistakes in the files", _path_options, "clawft.cli.config.check"),
}
