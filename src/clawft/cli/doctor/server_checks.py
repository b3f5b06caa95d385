"""The checks of `weft doctor` where files name servers. Nothing is started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clawft.app import App
from clawft.cli.config.warnings import lacks_folder, missing_program, warnings_of
from clawft.cli.doctor.checks import DoctorFinding, fail, ok, warn
from clawft.config.layers import FoundServer
from clawft.config.servers import is_there_already, waits
from clawft.model import CallToolResult, Tool
from clawft.store.secrets import unset_variables
from clawft.upstream.offer.cache import SchemaCache, folder
from clawft.upstream.offer.room import Room
from clawft.upstream.offer.server_offer import recalled
from clawft.wire.secrets import mask_url


def servers(app: App) -> Iterator[DoctorFinding]:
    """Findings in the files about servers; nothing is started."""
    known = app.servers
    for name, refused in known.refused.items():
        if refused.own:
            yield ok("servers", f"{refused.own}: yours is used; what {refused.file} says of one counts for nothing")
            continue
        yield fail("servers", f"{refused.error.message}", refused.error.hint or f"weft servers list shows {name}")
    waiting = [name for name, found in known.waiting.items() if not is_there_already(found, known)]
    for why in (waits(name, known.waiting[name]) for name in waiting):
        yield warn("servers", why.message, why.hint)
    for found in known.found.values():
        yield from (warn("servers", warning, hint) for warning, hint in warnings_of(found))
        if found.spec.enabled:
            yield from () if lacks_folder(found) else (_program(found),)
            yield from _variables(found)


def _variables(found: FoundServer) -> Iterator[DoctorFinding]:
    """Variables that a server refers to and that are not set: it would not start."""
    spec = found.spec
    for name in unset_variables(*spec.env.values(), *spec.headers.values(), spec.url, spec.proxy):
        yield warn("servers", f"{found.origin}: {spec.name} needs the variable {name}", f"export {name}=…")


def _program(found: FoundServer) -> DoctorFinding:
    """Whether the program of a server exists. Addresses are not tried; `weft servers test` does that."""
    if missing := missing_program(found):
        return fail("servers", *missing)
    spec = found.spec
    return ok(
        "servers", f"{spec.name}: {spec.command or mask_url(spec.url)}; weft servers test {spec.name} connects to it"
    )


class _Recalled:
    """The tools of a server as it listed them last."""

    def __init__(self, namespace: str, tools: Sequence[Tool]) -> None:
        self.namespace = namespace
        self._tools = tools

    def list_tools(self) -> Sequence[Tool]:
        return self._tools

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        raise NotImplementedError  # the doctor calls nothing


def recall(app: App) -> None:
    """Put what servers listed last into the catalog, so that names can be checked while no server runs."""
    cache, room = SchemaCache(folder(app.settings.home)), Room()
    for name, spec in app.servers.wanted.items():
        known = cache.get(spec) if spec.enabled else None
        if known is not None:
            offered = recalled(known, name, room.place())
            app.gateway.register(_Recalled(f"mcp:{name}", offered.tools), server=name)
