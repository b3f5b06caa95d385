"""One server is connected to for a look at it, and every step is timed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from clawft.app import App
from clawft.cli.parser import Options
from clawft.cli.screen import one_line, paint, print_fields, print_table
from clawft.cli.screen.document import print_json
from clawft.cli.servers.connection import connected, outcome
from clawft.cli.setup import with_app
from clawft.errors import NotConnected
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.status import ServerStatus


def try_out(spec: UpstreamSpec, options: Options) -> int:
    steps: list[tuple[str, float]] = []

    async def work(app: App) -> int:
        async with connected(app, spec, steps) as pool:
            _print_test(options, *outcome(pool, spec), steps)
            sys.stdout.flush()  # some servers take seconds to end
        return 0

    try:
        return with_app(options, work, servers=False)
    except NotConnected as failed:
        if not options.json:
            raise
        result = {"ok": False, "name": spec.name, "error": failed.message, "hint": failed.hint}
        print_json({**result, "steps": _timed(steps)})
        return 1


def _print_test(
    options: Options, status: ServerStatus, counts: dict[str, int], steps: Sequence[tuple[str, float]]
) -> None:
    if options.json:
        result = {"ok": True, "name": status.name, "era": status.era, "revision": status.revision}
        print_json({**result, **counts, "left_out": list(status.left_out), "steps": _timed(steps)})
        return
    print(paint(status.name, "bold"), paint("ok", "green"), sep="  ")
    about = " ".join(str(status.server_info[key]) for key in ("name", "version") if key in status.server_info)
    offers = ", ".join(f"{count} {what.removesuffix('s') if count == 1 else what}" for what, count in counts.items())
    lacks = [("left out", one_line("; ".join(status.left_out)))] if status.left_out else []
    print_fields([("server", one_line(about)), ("era", f"{status.era}, {status.revision}"), ("offers", offers), *lacks])
    print()
    print_table(("STEP", "MS"), [(step, f"{ms:.1f}") for step, ms in steps])


def _timed(steps: Sequence[tuple[str, float]]) -> list[dict[str, object]]:
    return [{"step": step, "ms": round(ms, 1)} for step, ms in steps]
