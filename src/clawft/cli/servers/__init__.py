"""`weft servers`: which there are, where they come from, how they are. What its verbs take stands here.

| what | where |
|---|---|
| which are configured, and where | `list` |
| how they are | `status`; `status_table` is how it is shown |
| connect to one, and time each step | `test`, a `trial` over a `connection` of its own and a `timed_link` |
| what may keep it from its work | `sandbox_hint` |
| a sandbox from what it does | `learn`, in a cell of `watched_cells` |
| write one down | `add`; `plaintext_secrets` refuses what no file is to hold |
| take over those of other programs | `import_` |
| take away, switch, connect anew | `remove`, `enable`, `disable` by `switch`, `reconnect` |
| what those share | `names`, `files`, `found` |
"""

from __future__ import annotations

from clawft.cli.parser import Parser, Verb, common_options, json_option, place_options


def _list_options(parser: Parser) -> None:
    json_option(parser)
    common_options(parser)


def _status_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="one server, with its last lines on stderr")
    parser.add_argument("--watch", action="store_true", help="redraw every second, at a terminal")
    parser.add_argument("--fresh", action="store_true", help="start the servers to check, even if a weft runs here")
    json_option(parser)
    common_options(parser)


HERE = "."


def _add_options(parser: Parser) -> None:
    parser.takes_command, parser.command_taken_for = True, "url"
    parser.usage = "weft servers add NAME URL [options]\n       weft servers add NAME [options] -- COMMAND [ARG …]"
    parser.add_argument("name", metavar="NAME", help="the server's name; its tools become NAME__tool")
    parser.add_argument("url", metavar="URL", nargs="?", default="", help="http(s)://…, or -- followed by a command")
    parser.add_argument("--env", metavar="K=V", action="append", default=[], help="an environment variable; repeatable")
    parser.add_argument(
        "--header", metavar="'K: V'", action="append", default=[], help="an HTTP header, for a URL; repeatable"
    )
    parser.add_argument("--cwd", metavar="DIR", default=HERE, help="its working folder (default: the workspace)")
    parser.add_argument(
        "--timeout-ms", metavar="N", type=int, default=30_000, help="the timeout of one call (default: 30000)"
    )
    parser.add_argument("--trust", action="store_true", help="trust its tools as if they were built in")
    parser.add_argument("--force", action="store_true", help="replace a server with this name; keeps a .bak")
    place_options(parser)


def _name_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="a configured server")
    common_options(parser)


def _test_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="a configured server; may be disabled or not approved")
    parser.add_argument(
        "--learn", action="store_true", help="watch this run and propose a sandbox table (needs strace)"
    )
    parser.add_argument(
        "--call", metavar="'TOOL {JSON}'", action="append", default=[], help="with --learn: a tool to call; repeatable"
    )
    parser.add_argument("--write", action="store_true", help="with --learn: save the proposal in the server's file")
    json_option(parser)
    common_options(parser)


SOURCES = ("claude-code", "claude-desktop", "vscode", "cursor", "codex", "gemini", "zed", "workspace")


def _import_options(parser: Parser) -> None:
    parser.add_argument(
        "--from",
        metavar="PROGRAM",
        dest="programs",
        action="append",
        choices=SOURCES,
        help=f"one of {', '.join(SOURCES)}; repeatable (default: all but workspace)",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be written without writing it")
    parser.add_argument("--force", action="store_true", help="replace existing servers; keeps a .bak")
    parser.add_argument(
        "--keep-secrets",
        action="store_true",
        help="copy secrets into private files under the home folder",
    )
    parser.add_argument("--trust", action="store_true", help="trust their tools as if they were built in")
    json_option(parser)
    place_options(parser)


VERBS = {
    "list": Verb("List configured servers and the files they come from", _list_options, "clawft.cli.servers.list"),
    "status": Verb(
        "Show the state of the servers of the weft that runs here; if none runs, start them to check",
        _status_options,
        "clawft.cli.servers.status",
    ),
    "add": Verb("Add a server: a command behind --, or a URL", _add_options, "clawft.cli.servers.add"),
    "remove": Verb("Remove one of your servers; keeps a .bak", _name_options, "clawft.cli.servers.remove"),
    "enable": Verb("Enable a server", _name_options, "clawft.cli.servers.enable"),
    "disable": Verb("Disable a server", _name_options, "clawft.cli.servers.disable"),
    "reconnect": Verb("Reconnect a server in every running weft", _name_options, "clawft.cli.servers.reconnect"),
    "test": Verb(
        "Connect to one server, list what it offers, time each step", _test_options, "clawft.cli.servers.test"
    ),
    "import": Verb("Import the servers of other programs", _import_options, "clawft.cli.servers.import_"),
}
