"""The tools that servers offer now, or offered when they last ran."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clawft.app import App
from clawft.cli.parser import Options
from clawft.cli.setup import with_app
from clawft.cli.setup.start_servers import SETTLE_SECONDS, start_servers
from clawft.config.places import home_folder
from clawft.guard.approval.offers import OfferedTools
from clawft.model import Tool
from clawft.policy.pseudo_tools import pseudo_tools
from clawft.upstream.offer.cache import SchemaCache, folder
from clawft.upstream.offer.list_reading import read_tools


def offered(servers: Sequence[str], options: Options) -> dict[str, OfferedTools]:
    """The present offer of these servers, for which they are started; the last known offer for one that cannot run
    here.
    """

    async def work(app: App) -> dict[str, OfferedTools]:
        known = [name for name in servers if app.files.name_any and name in app.servers.wanted]
        if known:
            await start_servers(app, only=known)
            await app.pool.settled(SETTLE_SECONDS)
        offers = {name: _whole(app.upstreams.offered(name), app.upstreams.beside(name)) for name in known}
        return {name: found for name, found in offers.items() if found.tools}

    now = with_app(options, work, servers=False)
    return {name: found for name in servers if (found := now.get(name) or _last_said(name)) is not None}


def _whole(found: OfferedTools, beside: Sequence[Tool]) -> OfferedTools:
    return msgspec.structs.replace(found, tools=(*found.tools, *beside))


def _last_said(server: str) -> OfferedTools | None:
    known = SchemaCache(folder(home_folder())).last(server)
    if known is None:
        return None
    beside = pseudo_tools(list(map(bytes, known.prompts)), resources=bool(known.resources or known.templates))
    return OfferedTools((*read_tools(known.tools), *beside), known.instructions)
