"""`weft servers`: which there are, where they come from, how they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from clawft.cli import server_add, server_files, server_import, server_status, server_test
from clawft.cli.options import common_options, discovered
from clawft.cli.parser import Options, Parser, Verb, json_option
from clawft.cli.screen import one_line, print_json, print_table, tell, width
from clawft.cli.server_names import NO_SERVERS
from clawft.wire.strings import clipped

if TYPE_CHECKING:  # help needs none of it
    from clawft.config.layers import FoundServer
    from clawft.config.servers import Servers


MAX_CELL = 2_000
"""Characters: a workspace may have written them. `--json` has all."""


def _options(parser: Parser) -> None:
    json_option(parser)
    common_options(parser)


def _list(options: Options) -> int:
    rows = list(described(discovered(options)))
    if options.json:
        print_json({"servers": rows})
    elif not rows:
        tell(NO_SERVERS)
    else:
        _print_table(rows)
        for each in rows:
            if each["error"]:
                tell(f"weft: {one_line(clipped(each['error'], MAX_CELL))}")
    return 0


def _print_table(rows: list[dict[str, Any]]) -> None:
    """Whole for a pipe; at a terminal the file alone, as SCOPE tells whose it is."""
    keys = ("name", "state", "scope", "transport", "trust", "origin", "what")
    narrow = bool(width())
    cells = [{**each, "origin": each["origin"].rpartition("/")[2]} if narrow else each for each in rows]
    head = [("VIA" if narrow and key == "transport" else key.upper()) for key in keys]
    print_table(head, [[one_line(clipped(each[key], MAX_CELL)) for key in keys] for each in cells])


def described(servers: Servers) -> Iterator[dict[str, Any]]:
    """One row for every name, whatever became of it."""
    for name, found in servers.found.items():
        yield _row(name, found, "enabled" if found.spec.enabled else "disabled")
    for name, found in servers.waiting.items():
        from clawft.config.servers import waits  # only where something waits

        yield _row(name, found, "waiting", str(waits(name, found)))
    for name, refused in servers.refused.items():
        row = dict.fromkeys(("scope", "transport", "trust", "what"), "")
        yield {"name": name, "state": "refused", **row, "origin": refused.file, "error": str(refused.error)}


def _row(name: str, found: FoundServer, state: str, error: str = "") -> dict[str, Any]:
    from clawft.config.servers import told  # loaded by now

    spec = found.spec
    return {
        "name": name,
        "state": state,
        "scope": found.scope.value,
        "transport": spec.transport if spec.command or spec.url else "",
        "trust": spec.trust,
        "what": told(spec),
        "origin": str(found.origin),
        "error": error,
    }


VERBS = {
    "list": Verb("List configured servers and the files they come from", _options, _list),
    "status": server_status.VERB,
    "add": server_add.VERB,
    "remove": server_files.REMOVE,
    "enable": server_files.ENABLE,
    "disable": server_files.DISABLE,
    "reconnect": server_files.RECONNECT,
    "test": server_test.VERB,
    "import": server_import.VERB,
}
