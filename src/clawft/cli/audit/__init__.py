"""`weft audit`: the record of every call, and the proof that nobody touched it. What its verbs take stands here.

| what | where |
|---|---|
| the last calls, and those somebody looks for | `tail`, with `search`; `moment` reads since when |
| one line whole | `show`; `lines` is what a line is as data |
| whether anybody touched it | `verify` |
"""

from __future__ import annotations

import time

from clawft.cli.audit.moment import moment
from clawft.cli.parser import Parser, Verb, json_option, wrong_value

DEFAULT_LINES = 20
MAX_LINES = 100_000


def _tail_options(parser: Parser) -> None:
    parser.add_argument(
        "-n", "--lines", metavar="N", type=_count, help=f"how many (default: {DEFAULT_LINES}, with --since all)"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="keep showing new calls until Ctrl-C")
    parser.add_argument("--server", metavar="NAME", help="only calls of tools of this server")
    parser.add_argument("--tool", metavar="GLOB", help="only calls of matching tools, like 'git__*'")
    parser.add_argument("--caller", metavar="GLOB", help="only calls by matching callers: the token, agent or client")
    parser.add_argument("--errors", action="store_true", help="only calls that were rejected or failed")
    parser.add_argument("--since", metavar="WHEN", type=_moment, help="like 10m, 2h, 3d, or 2026-07-28T09:30")
    json_option(parser, "print each call as one line of JSON")


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_LINES:
        raise wrong_value(f"a number of lines is 1 to {MAX_LINES}, not {text!r}")
    return int(text)


def _moment(text: str) -> float:
    try:
        return moment(text, time.time())
    except ValueError:
        form = "10m (also s, h, d) for so long ago, or a date in UTC like 2026-07-28 or 2026-07-28T09:30"
        raise wrong_value(f"{text!r} is not a time: {form}") from None


def _show_options(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", help="the id of a line, from `weft audit tail`")
    json_option(parser)


VERBS = {
    "tail": Verb("Show the latest calls, or those that match", _tail_options, "clawft.cli.audit.tail"),
    "show": Verb("Show one line in full", _show_options, "clawft.cli.audit.show"),
    "verify": Verb("Find the first line that was changed", json_option, "clawft.cli.audit.verify"),
}
