"""`weft servers test NAME --learn`: one run in its sandbox, watched; then the table that would allow just that."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec

from clawft.app import App
from clawft.cli.parser import Options, WrongUsage
from clawft.cli.screen import one_line, tell
from clawft.cli.screen.document import print_json
from clawft.cli.screen.reply import texts_of
from clawft.cli.screen.table import cut
from clawft.cli.servers.connection import connected, debugging, outcome
from clawft.cli.servers.files import keep
from clawft.cli.servers.found import found_to_start, spec_to_start
from clawft.cli.servers.watched_cells import WatchingCells
from clawft.cli.setup import with_app
from clawft.cli.setup.start_servers import SHOWN_CELLS
from clawft.config.layers import TABLE, FoundServer, Scope
from clawft.config.places import home_folder, servers_folder
from clawft.config.server_text import toml_value, with_value
from clawft.errors import JsonRpcFailure, NotConnected
from clawft.provider.server.server_provider import ServerProvider
from clawft.sandbox.bounds import SandboxTable
from clawft.sandbox.proposal import Proposal
from clawft.store.private_files import write_private
from clawft.upstream.pool import Pool
from clawft.upstream.spec import UpstreamSpec

Calls = Sequence[tuple[str, dict[str, Any]]]
"""Tools to call, with their arguments."""
MAX_RUNS = 5
"""Of one that is watched, and ends each time where it may not write."""
PRIVATE = 0o700


def learn(options: Options) -> int:
    """Run it watched, as `auto` would hold it; then as the proposal would."""
    spec = spec_to_start(options)
    if not spec.command:
        raise WrongUsage(f"{spec.name} is an address, and --learn works with programs only", hint="weft servers list")
    calls = [_call_in(text) for text in options.call]
    proposal, starts = with_app(options, lambda app: _watch(app, spec, calls), servers=False)
    if options.json:
        table = as_table(proposal.table)
        print_json({"name": spec.name, "sandbox": table, "notes": proposal.notes, "starts": not starts})
    else:
        show(spec.name, proposal, f"does not start with this table: {starts}" if starts else "starts with it")
    if options.write and not starts:
        print(f"written: {store(found_to_start(options), home_folder(), proposal.table)}")
    elif not (starts or options.json):
        tell(f"--write stores the line in the file of {spec.name}")
    return 1 if starts else 0


def _call_in(text: str) -> tuple[str, dict[str, Any]]:
    name, _, given = text.strip().partition(" ")
    try:
        arguments = json.loads(given or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise WrongUsage(
            f"{text!r} is no call", hint="""a tool's name and its arguments: --call 'echo {"text": "hi"}'"""
        )
    return name, cast("dict[str, Any]", arguments)


async def _watch(app: App, spec: UpstreamSpec, calls: Calls) -> tuple[Proposal, str]:
    """The proposal, and why the server does not start with it, if it does not."""
    proposal = await _proposal(app, msgspec.structs.replace(spec, sandbox="auto"), calls)
    try:
        async with connected(app, msgspec.structs.replace(spec, sandbox=proposal.table), []) as pool:
            outcome(pool, spec)
    except NotConnected as failed:
        return proposal, failed.message
    return proposal, ""


async def _proposal(app: App, spec: UpstreamSpec, calls: Calls) -> Proposal:
    """One that ends where it may not write is run again with that open to it, for it may want more then."""
    open_to_it: tuple[str, ...] = ()
    for _ in range(MAX_RUNS):
        proposal, failed = await _watch_once(app, spec, calls, open_to_it)
        if failed is None:
            return proposal
        wanted = sorted(set(proposal.table.write) - set(open_to_it))
        if not wanted:
            raise _nothing_to_open(spec, proposal, failed)
        make_folders(proposal)
        tell(f"{spec.name} did not start; trying once more with write access to {one_line(', '.join(wanted))}")
        open_to_it = (*open_to_it, *wanted)
    raise NotConnected(f"{spec.name} did not start in {MAX_RUNS} runs", hint=f"weft servers test {spec.name}")


def _nothing_to_open(spec: UpstreamSpec, proposal: Proposal, failed: NotConnected) -> NotConnected:
    """The failure's own reason, once everything that may be opened is: to learn once more would teach nothing."""
    for note in proposal.notes:
        tell(f"note: {note}")
    return NotConnected(failed.message, hint=debugging(spec))


async def _watch_once(
    app: App, spec: UpstreamSpec, calls: Calls, open_to_it: Sequence[str]
) -> tuple[Proposal, NotConnected | None]:
    with tempfile.TemporaryDirectory(prefix="weft-learn-") as notes:
        cells = WatchingCells(app.settings.home, app.settings.workspace, Path(notes), open_to_it)
        try:
            async with connected(app, spec, [], cells) as pool:
                outcome(pool, spec)
                await _use(pool, spec.name, calls)
        except NotConnected as failed:
            if cells.found is None:  # there is nothing to start
                raise
            return await asyncio.to_thread(cells.learned), failed
        return await asyncio.to_thread(cells.learned), None


async def _use(pool: Pool, name: str, calls: Calls) -> None:
    """Call the tools of the server. Their results do not matter here, only the places the server touches."""
    provider = ServerProvider(pool.find(name)) if calls else None
    for tool, arguments in calls:
        if provider is not None:
            error = await _error_of(provider, tool, arguments)
            tell(f"called {tool}: {f'an error: {cut(one_line(error), SHOWN_CELLS)}' if error else 'ok'}")


async def _error_of(provider: ServerProvider, tool: str, arguments: dict[str, Any]) -> str:
    """The objection of the server, empty if there is none: the name of the tool, or an argument, may be misspelled."""
    try:
        reply = await provider.call_tool(tool, arguments)
    except JsonRpcFailure as refused:
        return refused.message
    return " ".join(texts_of(reply.content)) or "it does not say which" if reply.is_error else ""


def make_folders(proposal: Proposal) -> None:
    """Make the missing folders, as only existing ones can be opened. One that cannot be made stays away, and the server
    says so.
    """
    for folder in proposal.folders:
        with suppress(OSError):
            os.makedirs(folder, mode=PRIVATE, exist_ok=True)


# ── what is shown, and kept ──────────────────────────────────────────────────────────────────────────────────────────


def as_toml(table: SandboxTable) -> str:
    """Ready to be pasted into the server's own file."""
    return f"sandbox = {toml_value(as_table(table))}"


def as_table(table: SandboxTable) -> dict[str, list[str]]:
    return {"read": list(table.read), "write": list(table.write), "network": list(table.network)}


def store(found: FoundServer, home: Path, table: SandboxTable) -> Path:
    """Into the user's own file of this server, with a copy of the old beside it."""
    if found.scope in (Scope.WORKSPACE, Scope.COMMAND_LINE):
        raise WrongUsage(
            f"{found.spec.name} comes from {found.origin}, which weft does not change",
            hint="paste the line above into the entry of the server",
        )
    path = Path(found.origin.file)
    text = path.read_bytes().decode()
    place = () if path.parent == servers_folder(home) else (TABLE, found.spec.name)
    changed = with_value(text, str(path), place, "sandbox", as_table(table))
    keep(path)
    write_private(path.resolve(), changed.encode())
    return path


def show(name: str, proposal: Proposal, starts: str) -> None:
    """The table alone on stdout; everything said about it on stderr."""
    print(as_toml(proposal.table))
    for note in proposal.notes:
        tell(f"note: {note}")
    tell(f"{name} {starts}; what was not used in this run is not in the table: --call TOOL uses more of it")
