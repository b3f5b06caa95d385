"""`weft servers list`: which there are, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clawft.cli.parser import Options
from clawft.cli.screen import one_line, print_table, tell, width
from clawft.cli.screen.document import print_json
from clawft.cli.servers.names import NO_SERVERS
from clawft.cli.setup.sources import discovered
from clawft.config.layers import FoundServer
from clawft.config.servers import Servers, launch_line, waits
from clawft.wire.strings import clipped

MAX_CELL = 2_000
"""Characters: a workspace may have written them. `--json` has all."""


def run(options: Options) -> int:
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
        yield _row(name, found, "waiting", str(waits(name, found)))
    for name, refused in servers.refused.items():
        row = dict.fromkeys(("scope", "transport", "trust", "what"), "")
        yield {"name": name, "state": "refused", **row, "origin": refused.file, "error": str(refused.error)}


def _row(name: str, found: FoundServer, state: str, error: str = "") -> dict[str, Any]:
    spec = found.spec
    return {
        "name": name,
        "state": state,
        "scope": found.scope.value,
        "transport": spec.transport if spec.command or spec.url else "",
        "trust": spec.trust,
        "what": launch_line(spec),
        "origin": str(found.origin),
        "error": error,
    }
