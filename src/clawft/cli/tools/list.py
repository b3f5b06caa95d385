"""`weft tools list`: the tools an agent would see."""

from __future__ import annotations

from clawft.app import App
from clawft.catalog.snapshot import CatalogEntry
from clawft.cli.parser import Options
from clawft.cli.setup import show_with_app
from clawft.cli.tools.entries import print_entries
from clawft.cli.tools.finding import why_absent
from clawft.errors import nearest
from clawft.policy.globs import any_matches


def run(options: Options) -> int:
    async def work(app: App) -> tuple[list[CatalogEntry], str]:
        listed = [entry for entry in app.gateway.tools.listed(app.caller) if _is_of(entry, tuple(options.only))]
        return listed, "" if listed else _no_tools(app, options)

    alone = f"{options.only[0]}__" if len(options.only) == 1 else ""
    return show_with_app(options, work, lambda found: print_entries(found[0], options, found[1]), tool=alone, look=True)


def _is_of(entry: CatalogEntry, only: tuple[str, ...]) -> bool:
    return not only or (entry.origin.server or entry.origin.namespace) in only or any_matches(entry.names, only)


def _no_tools(app: App, options: Options) -> str:
    for name in options.only:
        absent = why_absent(app, f"{name}__")
        if absent is not None:
            return f"no tools: {absent[0]}\nhint: {absent[1]}"
    if options.only:
        whose = {entry.origin.server or entry.origin.namespace for entry in app.gateway.tools.visible(app.caller)}
        meant = " or ".join(filter(None, (nearest(name, whose) for name in options.only)))
        then = f"did you mean {meant}?" if meant else "`weft tools list` shows all tools"
        return f"no tool is of {' or '.join(options.only)}; {then}"
    return "no tools: no server offers any, and --no-builtin, --allow or --deny left no others"
