"""`weft approvals`: which servers may start and which tools may run, as the person said; and what has changed since.

What its verbs take stands here.

| what | where |
|---|---|
| the book, and a line of it | `book`, `rows` |
| which of them somebody means by the words they type | `named_tools` |
| what servers say now, or said last | `offered` |
| what is approved and what waits | `list`; `waiting` for servers |
| to approve, and to take it back | `grant`, `revoke`; `confirmation` repeats what it was |
| what has changed since | `diff`; `texts` are what was approved |
| from one person to another | `export`, `import_` |
"""

from __future__ import annotations

from clawft.cli.parser import Parser, Verb, common_options, json_option, place_options


def _list_options(parser: Parser) -> None:
    parser.add_argument("server", metavar="SERVER", nargs="?", help="only this server")
    json_option(parser)
    common_options(parser)


def _grant_options(parser: Parser) -> None:
    parser.add_argument("server", metavar="SERVER", help="a server; without TOOL, approve its launch")
    parser.add_argument("tools", metavar="TOOL", nargs="*", default=[], help="tools by name or glob, like 'list_*'")
    parser.add_argument("--days", metavar="N", type=float, default=0.0, help="expires after N days (default: never)")
    parser.add_argument("--only-agent", metavar="NAME", default="*", help="for this agent only (default: all)")
    parser.add_argument("--only-workspace", action="store_true", help="for this workspace only (default: all)")
    parser.add_argument("--new", action="store_true", help="the globs also cover tools the server adds later")
    json_option(parser)
    common_options(parser)


def _revoke_options(parser: Parser) -> None:
    parser.add_argument("server", metavar="SERVER", help="a server; without TOOL, everything about it")
    parser.add_argument("tools", metavar="TOOL", nargs="*", default=[], help="tools by name or glob")
    json_option(parser)


def _diff_options(parser: Parser) -> None:
    parser.add_argument("server", metavar="SERVER", nargs="?", help="a server (default: all)")
    parser.add_argument("tool", metavar="TOOL", nargs="?", help="one of its tools (default: all)")
    json_option(parser)
    common_options(parser)


def _export_options(parser: Parser) -> None:
    parser.add_argument("servers", metavar="SERVER", nargs="*", help="only these servers")
    parser.add_argument("--output", metavar="FILE", default="-", help="the file to write (default: stdout)")
    parser.add_argument("--launches", action="store_true", help="include approvals of launches in this workspace")
    place_options(parser)


def _import_options(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file written by `weft approvals export`; - for stdin")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be approved")
    parser.add_argument("--launches", action="store_true", help="include approvals of launches in this workspace")
    json_option(parser)
    place_options(parser)


VERBS = {
    "list": Verb("List what is approved and what waits for approval", _list_options, "clawft.cli.approvals.list"),
    "grant": Verb(
        "Approve the launch of a server, or its tools, as they are now", _grant_options, "clawft.cli.approvals.grant"
    ),
    "revoke": Verb("Revoke approvals", _revoke_options, "clawft.cli.approvals.revoke"),
    "diff": Verb("Show what changed since the approval, side by side", _diff_options, "clawft.cli.approvals.diff"),
    "export": Verb("Export approvals to a file, for others", _export_options, "clawft.cli.approvals.export"),
    "import": Verb("Import approvals from a file", _import_options, "clawft.cli.approvals.import_"),
}
