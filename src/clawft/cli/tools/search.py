"""`weft tools search`: tools by words of their names and descriptions."""

from __future__ import annotations

from clawft.app import App
from clawft.catalog.snapshot import CatalogEntry
from clawft.cli.parser import Options
from clawft.cli.setup import show_with_app
from clawft.cli.tools.entries import print_entries

MAX_FOUND = 20
"""Tools that a search shows, the best first."""


def run(options: Options) -> int:
    async def work(app: App) -> list[CatalogEntry]:
        return app.gateway.tools.search(app.caller, " ".join(options.words), MAX_FOUND)

    nothing = "nothing found; `weft tools list` shows all tools"
    return show_with_app(options, work, lambda found: print_entries(found, options, nothing), look=True)
