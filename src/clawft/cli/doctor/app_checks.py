"""What `weft doctor` looks at where the configuration can be loaded: tools, delegates, servers, one function per area.

Nothing is started and nothing is called, whatever is found.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clawft.app import App
from clawft.catalog.names import fit
from clawft.catalog.snapshot import CatalogEntry
from clawft.cli.doctor.checks import DoctorFinding, fail, ok, warn
from clawft.config.layers import FoundServer
from clawft.config.places import user_file
from clawft.errors import InvalidConfig
from clawft.model import CallToolResult, Tool
from clawft.wire.secrets import mask_url

# ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def tools(app: App) -> Iterator[DoctorFinding]:
    entries = app.gateway.tools.entries
    hidden = len(entries) - len(app.gateway.tools.visible(app.caller))
    yield ok("tools", f"{len(entries)} offered" + (f", {hidden} of them hidden by allow/deny" if hidden else ""))
    if app.files.name_any:
        _recall(app)
    for clash in app.gateway.tools.clashes:
        yield warn("tools", f"{clash.name} is left out: {clash.reason}", "rename one of the two, or use --names plain")
    for entry in app.gateway.tools.entries:
        if _is_shortened(entry):
            yield warn(
                "tools", f"{entry.canonical} is offered as {entry.name}", "its own name is too long or has odd letters"
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


def _recall(app: App) -> None:
    """Have what servers listed last stand in the catalog: their names can be looked at while none of them runs."""
    from clawft.upstream.offer.cache import SchemaCache, folder  # only where there are servers
    from clawft.upstream.offer.room import Room
    from clawft.upstream.offer.server_offer import recalled

    cache, room = SchemaCache(folder(app.settings.home)), Room()
    for name, spec in app.servers.wanted.items():
        known = cache.get(spec) if spec.enabled else None
        if known is not None:
            offered = recalled(known, name, room.place())
            app.gateway.register(_Recalled(f"mcp:{name}", offered.tools), server=name)


def _is_shortened(entry: CatalogEntry) -> bool:
    full = f"{entry.origin.server or entry.origin.namespace}__{entry.tool.name}"
    return fit(full) != full


def delegation(app: App) -> Iterator[DoctorFinding]:
    """Who could take a task now. Servers are not started here, so claude-flow's own is `servers`' business."""
    told = app.settings.delegation
    if not told.is_on:
        return
    from clawft.delegate.rules import problems  # only for those who delegate
    from clawft.policy.delegation import Target

    missing = app.desk.missing(app.caller)
    for target, is_on in ((Target.CLAUDE, told.claude_enabled), (Target.OPENAI, told.openai_enabled)):
        if is_on and target in missing:
            yield warn("delegation", f"{target.value}: {missing[target]}", "weft agent --explain -p TASK")
        elif is_on:
            yield ok("delegation", f"{target.value} can take tasks")
    for problem in problems(told.rules):
        yield warn("delegation", problem, "correct delegation.rules")


def web_search(app: App) -> Iterator[DoctorFinding]:
    settings = app.settings
    if not settings.builtin:
        return
    if settings.search_url:
        yield ok("web search", settings.search_url)
    else:
        hint = f'[web] search_url = "https://…/search" in {user_file(settings.home)}, the address of a SearXNG'
        yield warn("web search", "web__search is not offered: no search engine is configured", hint)


def people(app: App) -> Iterator[DoctorFinding]:
    """Whether the gateway could check their tokens."""
    if not app.settings.auth_issuer:
        return
    from clawft.auth.bearer import check_installed  # only where people come with tokens of their own

    try:
        check_installed()
    except InvalidConfig as missing:
        yield fail("gateway", missing.message, missing.hint)
    else:
        yield ok("gateway", f"takes tokens of {app.settings.auth_issuer}")


def providers(app: App) -> Iterator[DoctorFinding]:
    for problem in app.problems:
        yield fail("provider", problem, "update or uninstall the package this entry point belongs to")


# ── servers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def servers(app: App) -> Iterator[DoctorFinding]:
    """What the files say; nothing is started."""
    if not app.files.name_any:
        return
    from clawft.cli.config.warnings import lacks_folder, warnings_of  # only where there are servers
    from clawft.config.servers import waits

    known = app.servers
    for name, refused in known.refused.items():
        yield fail("servers", f"{refused.error.message}", refused.error.hint or f"weft servers list shows {name}")
    for why in (waits(name, found) for name, found in known.waiting.items()):
        yield warn("servers", why.message, why.hint)
    for found in known.found.values():
        yield from (warn("servers", said, hint) for said, hint in warnings_of(found))
        if found.spec.enabled:
            yield from () if lacks_folder(found) else (_program(found),)
            yield from _variables(found)


def _variables(found: FoundServer) -> Iterator[DoctorFinding]:
    """What a server refers to and nobody has set: it would not start."""
    from clawft.store.secrets import unset_variables  # loaded with the servers

    spec = found.spec
    for name in unset_variables(*spec.env.values(), *spec.headers.values(), spec.url):
        yield warn("servers", f"{found.origin}: {spec.name} needs the variable {name}", f"export {name}=…")


def _program(found: FoundServer) -> DoctorFinding:
    """Does what it starts exist? An address is not asked; `weft servers test` does that."""
    spec = found.spec
    if spec.command and shutil.which(spec.command) is None:
        return fail("servers", f"{found.origin}: {spec.name}: {spec.command} is not there", "install it, or correct it")
    return ok(
        "servers", f"{spec.name}: {spec.command or mask_url(spec.url)}; weft servers test {spec.name} connects to it"
    )
