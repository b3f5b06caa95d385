"""`weft servers test NAME`: connects to one server, lists what it offers, and times every step."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from clawft.cli.options import common_options, sources, with_app
from clawft.cli.parser import Options, Parser, Verb, json_option
from clawft.cli.reply import Waiting
from clawft.cli.screen import one_line, paint, print_fields, print_json, print_table
from clawft.config.nearest import nearest
from clawft.errors import NotConnected, ServerNotFound

if TYPE_CHECKING:  # help needs none of it
    from clawft.app import App
    from clawft.link.base import Link, Outgoing
    from clawft.upstream.pool import Pool, ServerStatus
    from clawft.upstream.spec import UpstreamSpec

TEST_SECONDS = 60.0
"""How long a server may take to answer everything."""


def _options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="a configured server, one that waits or is switched off too")
    json_option(parser)
    common_options(parser)


def _test(options: Options) -> int:
    spec = find(options)
    steps: list[tuple[str, float]] = []
    status, counts = with_app(options, lambda app: _connect(app, spec, steps), servers=False)
    if options.json:
        print_json({"ok": True, "name": spec.name, "era": status.era, "revision": status.revision, **counts,
                    "steps": [{"step": step, "ms": round(ms, 1)} for step, ms in steps]})  # fmt: skip
        return 0
    print(paint(spec.name, "bold"), paint("ok", "green"), sep="  ")
    about = " ".join(str(status.server_info[key]) for key in ("name", "version") if key in status.server_info)
    offers = ", ".join(f"{count} {what}" for what, count in counts.items())
    print_fields([("server", one_line(about)), ("era", f"{status.era}, {status.revision}"), ("offers", offers)])
    print()
    print_table(("STEP", "MS"), [(step, f"{ms:.1f}") for step, ms in steps])
    return 0


def find(options: Options) -> UpstreamSpec:
    """The server by its name. Raises what is wrong with it, or ServerNotFound."""
    import msgspec  # loaded with the servers

    from clawft.config.servers import discover  # only where servers are looked for

    servers = discover(sources(options))
    if options.name in servers.refused:
        error = servers.refused[options.name].error
        raise NotConnected(error.message, hint=error.hint)
    found = servers.found.get(options.name)
    if found is None or not (found.spec.command or found.spec.url):
        waiting = servers.waiting.get(options.name)
        if waiting is not None:
            from clawft.config.servers import waits  # only where something waits

            raise NotConnected(waits(options.name, waiting).message, hint=waits(options.name, waiting).hint)
        near = nearest(options.name, [*servers.found, *servers.refused])
        raise ServerNotFound(
            f"there is no server {options.name!r}", hint=f"did you mean {near}?" if near else "weft servers list"
        )
    return msgspec.structs.replace(found.spec, enabled=True)


async def _connect(app: App, spec: UpstreamSpec, steps: list[tuple[str, float]]) -> tuple[ServerStatus, dict[str, int]]:
    """In a pool of its own with nothing remembered, so that every step is really taken."""
    from clawft.upstream.cells import Cells
    from clawft.upstream.pool import Pool  # loaded by now or never
    from clawft.upstream.ways import ways_to

    cells = Cells(app.settings.home, app.settings.workspace)

    def timed(spec: UpstreamSpec) -> list[Callable[[], Link]]:
        ways = ways_to(spec, cells=cells, login_to=app.logins.of)
        return [lambda way=way: cast("Link", TimedLink(way(), steps)) for way in ways]

    logging.getLogger("clawft").setLevel(logging.CRITICAL)  # the reason is told once, as an error
    with tempfile.TemporaryDirectory() as folder:
        pool = Pool(Path(folder), timed, [{"uri": app.settings.workspace.as_uri(), "name": "workspace"}])
        try:
            await pool.set_servers({spec.name: spec})
            await Waiting(f"connecting to {spec.name}").during(pool.settled(TEST_SECONDS))
            return _outcome(pool, spec.name)
        finally:
            await pool.close()


def _outcome(pool: Pool, name: str) -> tuple[ServerStatus, dict[str, int]]:
    status, answers = pool.server_status(name), pool.find(name).answers
    if status.status != "connected" or answers is None:
        why = status.error or f"no answer within {TEST_SECONDS:g} s"
        raise NotConnected(f"{name}: {why}", hint=f"weft servers status {name} --mcp-debug shows what it does")
    offered = {"tools": len(status.tools), "prompts": len(answers.prompts), "resources": len(answers.resources)}
    return status, offered


class TimedLink:
    """A link that notes how long opening it and each request took."""

    def __init__(self, link: Link, steps: list[tuple[str, float]]) -> None:
        self._link = link
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._link, name)

    async def open(self, *listeners: Any) -> None:
        began = time.perf_counter()
        await self._link.open(*listeners)
        self._note("start" if self._link.kind == "stdio" else "open", began)

    async def request(self, outgoing: Outgoing, *patience: Any) -> Any:
        began = time.perf_counter()
        try:
            return await self._link.request(outgoing, *patience)
        finally:
            self._note(outgoing.method, began)

    def _note(self, step: str, began: float) -> None:
        self._steps.append((step, (time.perf_counter() - began) * 1000))


VERB = Verb("Connect to one server, list what it offers, time each step", _options, _test)
