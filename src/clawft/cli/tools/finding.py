"""One tool by any of its names; where there is none, why not, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping

from clawft.app import App
from clawft.catalog.snapshot import CatalogEntry
from clawft.config.places import user_file
from clawft.error_words import nearest
from clawft.errors import ToolNotFound

OFFERED_ONCE: Mapping[str, tuple[str, str]] = {
    "web__search": ("once a search engine is configured", '{config}: [web] search_url = "https://…/search", a SearXNG'),
    "delegate__task": ("once somebody may take tasks", "weft agent --explain -p TASK says what is switched off"),
    **dict.fromkeys(("weft__search_tools", "weft__call_tool"), ("with another surface", "--surface search")),
}
"""Tools of ours that are not always there → when they are, and what brings them."""
MAX_NAMED = 10
"""How many tools an error lists if several have one name."""


def find(app: App, name: str) -> CatalogEntry:
    """The tool, if this caller may see it. Raises ToolNotFound, which names the nearest one."""
    entry = app.gateway.tools.find_visible(name, app.caller)
    if entry is None:
        raise not_found(app, name)
    return entry


def not_found(app: App, name: str) -> ToolNotFound:
    absent = why_absent(app, name)
    if absent is not None:
        return ToolNotFound(f"{name}: {absent[0]}", hint=absent[1])
    seen = app.gateway.tools.visible(app.caller)
    several = [entry.name for entry in seen if entry.tool.name == name]
    if len(several) > 1:
        return ToolNotFound(
            f"several servers have a tool {name}", hint=f"use the full name: {', '.join(several[:MAX_NAMED])}"
        )
    if name in OFFERED_ONCE and app.gateway.tools.find(name) is None:
        when, step = OFFERED_ONCE[name]
        return ToolNotFound(f"{name} is offered {when}", hint=step.format(config=user_file(app.settings.home)))
    near = nearest(name, [spelling for entry in seen for spelling in entry.names])
    return ToolNotFound(f"unknown tool: {name}", hint=f"did you mean {near}?" if near else "weft tools list")


def why_absent(app: App, name: str) -> tuple[str, str] | None:
    """Why the server that this name belongs to has no tools now, and what to do about it."""
    if not app.files.name_any:
        return None
    from clawft.cli.tools.absence import reason_of  # only where there are servers

    return reason_of(app, name)
