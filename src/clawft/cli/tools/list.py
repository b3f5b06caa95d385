"""`weft tools list`: the tools an agent would see."""

from __future__ import annotations

from clawft.app import App
from clawft.catalog.snapshot import CatalogEntry
from clawft.cli.parser import Options
from clawft.cli.setup import show_with_app
from clawft.cli.tools.entries import print_entries
from clawft.cli.tools.finding import why_absent
from clawft.error_words import nearest
from clawft.errors import ToolNotFound
from clawft.policy.globs import any_matches


def run(options: Options) -> int:
    async def work(app: App) -> list[CatalogEntry]:
        listed = app.gateway.tools.listed(app.caller)
        for name in options.only:
            _refuse_unknown(name, listed, app)
        return [entry for entry in listed if _is_of(entry, tuple(options.only))]

    alone = f"{options.only[0]}__" if len(options.only) == 1 else ""
    return show_with_app(
        options, work, lambda found: print_entries(found, options, _nothing(options)), tool=alone, look=True
    )


def _is_of(entry: CatalogEntry, only: tuple[str, ...]) -> bool:
    return not only or _owner(entry) in only or any_matches(entry.names, only)


def _owner(entry: CatalogEntry) -> str:
    return entry.origin.server or entry.origin.namespace


def _refuse_unknown(name: str, listed: list[CatalogEntry], app: App) -> None:
    """Raise ToolNotFound if no tool is listed under this name, unless it is a server that offers none."""
    if any(_is_of(entry, (name,)) for entry in listed):
        return
    if absent := why_absent(app, f"{name}__"):
        raise ToolNotFound(f"no tools of {name}: {absent[0]}", hint=absent[1])
    seen = app.gateway.tools.visible(app.caller)
    if any(_is_of(entry, (name,)) for entry in seen):
        raise ToolNotFound(f"tools of {name} are not listed, but found by a search", hint="--surface full lists them")
    if not (app.files.name_any and name in app.servers.wanted):
        near = nearest(name, {word for entry in seen for word in (_owner(entry), *entry.names)})
        raise ToolNotFound(
            f"no server, family or tool matches {name}", hint=f"did you mean {near}?" if near else "weft tools list"
        )


def _nothing(options: Options) -> str:
    if options.only:
        return f"no tools: {' and '.join(options.only)} offers none"
    return "no tools: no server offers any, and --no-builtin, --allow or --deny left no others"
