"""`weft servers test NAME`: connects to one server, lists what it offers, and times every step."""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from clawft.cli.house import discovered, with_app
from clawft.cli.parser import Options, Parser, Verb, WrongUsage, common_options, json_option
from clawft.cli.sandbox_hint import hint_for
from clawft.cli.screen import one_line, paint, print_fields, print_json, print_table, tell
from clawft.cli.screen.reply import WaitingTalk
from clawft.cli.server_names import no_server
from clawft.config.places import home_folder
from clawft.errors import NotConnected

if TYPE_CHECKING:  # help needs none of it
    from clawft.app import App
    from clawft.config.layers import FoundServer
    from clawft.link.base import Link, OutgoingRequest
    from clawft.sandbox.proposal import Proposal
    from clawft.upstream.cells import Cells
    from clawft.upstream.pool import Pool
    from clawft.upstream.spec import UpstreamSpec
    from clawft.upstream.status import ServerStatus

Calls = Sequence[tuple[str, dict[str, Any]]]
"""Tools to call, with their arguments."""

ANSWER_SECONDS = 30.0
"""How long a server may take to answer at all."""
TEST_SECONDS = 60.0
"""How long one that has may take to answer everything."""
MAX_RUNS = 5
"""Of one that is watched, and ends each time where it may not write."""


def _options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="a configured server, one that waits or is switched off too")
    parser.add_argument("--learn", action="store_true", help="watch this run and propose its sandbox (needs strace)")
    parser.add_argument(
        "--call", metavar="'TOOL {JSON}'", action="append", default=[], help="with --learn: a tool to call; repeatable"
    )
    parser.add_argument("--write", action="store_true", help="with --learn: store the proposal in the server's file")
    json_option(parser)
    common_options(parser)


def _test(options: Options) -> int:
    if options.learn:
        return _learn(options)
    if options.call or options.write:
        raise WrongUsage("--call and --write belong to --learn", hint=f"weft tools call {options.name}__TOOL calls one")
    spec = find(options)
    steps: list[tuple[str, float]] = []

    async def work(app: App) -> int:
        async with _connected(app, spec, steps) as pool:
            _print_test(options, *_outcome(pool, spec), steps)
            sys.stdout.flush()  # some servers take seconds to end
        return 0

    try:
        return with_app(options, work, servers=False)
    except NotConnected as failed:
        if not options.json:
            raise
        told = {"ok": False, "name": spec.name, "error": failed.message, "hint": failed.hint}
        print_json({**told, "steps": _timed(steps)})
        return 1


def _print_test(
    options: Options, status: ServerStatus, counts: dict[str, int], steps: Sequence[tuple[str, float]]
) -> None:
    if options.json:
        told = {"ok": True, "name": status.name, "era": status.era, "revision": status.revision}
        print_json({**told, **counts, "left_out": list(status.left_out), "steps": _timed(steps)})
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


def find(options: Options) -> UpstreamSpec:
    """The server by its name. Raises what is wrong with it, or ServerNotFound."""
    return msgspec.structs.replace(found_of(options).spec, enabled=True)


def found_of(options: Options) -> FoundServer:
    servers = discovered(options)
    if options.name in servers.refused:
        error = servers.refused[options.name].error
        raise NotConnected(error.message, hint=error.hint)
    found, waiting = servers.found.get(options.name), servers.waiting.get(options.name)
    if found is not None and (found.spec.command or found.spec.url):
        return found
    if waiting is not None:
        from clawft.config.servers import waits  # only where something waits

        why = waits(options.name, waiting)
        raise NotConnected(why.message, hint=why.hint)
    raise no_server(options.name, [*servers.found, *servers.refused, *servers.waiting])


# ── learning ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _learn(options: Options) -> int:
    """Run it watched, as `auto` would hold it; then as the proposal would."""
    from clawft.cli import server_learn  # brings the sandbox

    spec = find(options)
    if not spec.command:
        raise WrongUsage(f"{spec.name} is an address: what runs there, runs elsewhere", hint="weft servers list")
    calls = [_call_in(text) for text in options.call]
    proposal, starts = with_app(options, lambda app: _watch(app, spec, calls), servers=False)
    if options.json:
        table = server_learn.as_table(proposal.table)
        print_json({"name": spec.name, "sandbox": table, "notes": proposal.notes, "starts": not starts})
    else:
        server_learn.show(
            spec.name, proposal, f"does not start with this table: {starts}" if starts else "starts with it"
        )
    if options.write and not starts:
        print(f"written: {server_learn.store(found_of(options), home_folder(), proposal.table)}")
    return 1 if starts else 0


def _call_in(text: str) -> tuple[str, dict[str, Any]]:
    import json  # only where calls are given

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
        async with _connected(app, msgspec.structs.replace(spec, sandbox=proposal.table), []) as pool:
            _outcome(pool, spec)
    except NotConnected as failed:
        return proposal, failed.message
    return proposal, ""


async def _proposal(app: App, spec: UpstreamSpec, calls: Calls) -> Proposal:
    """One that ends where it may not write is run again with that open to it, for it may want more then."""
    from clawft.cli import server_learn  # brings the sandbox

    open_to_it: tuple[str, ...] = ()
    for _ in range(MAX_RUNS):
        proposal, failed = await _watch_once(app, spec, calls, open_to_it)
        if failed is None:
            return proposal
        wanted = sorted(set(proposal.table.write) - set(open_to_it))
        if not wanted:
            raise _nothing_to_open(spec, proposal, failed)
        server_learn.make_folders(proposal)
        tell(f"{spec.name} did not start; once more, and it may write to {one_line(', '.join(wanted))}")
        open_to_it = (*open_to_it, *wanted)
    raise NotConnected(f"{spec.name} did not start in {MAX_RUNS} runs", hint=f"weft servers test {spec.name}")


def _nothing_to_open(spec: UpstreamSpec, proposal: Proposal, failed: NotConnected) -> NotConnected:
    """Its reason, once everything that may be opened is: to learn once more would teach nothing."""
    for note in proposal.notes:
        tell(f"note: {note}")
    return NotConnected(failed.message, hint=_debugging(spec))


async def _watch_once(
    app: App, spec: UpstreamSpec, calls: Calls, open_to_it: Sequence[str]
) -> tuple[Proposal, NotConnected | None]:
    from clawft.cli.server_learn import WatchingCells  # brings the sandbox

    with tempfile.TemporaryDirectory(prefix="weft-learn-") as notes:
        cells = WatchingCells(app.settings.home, app.settings.workspace, Path(notes), open_to_it)
        try:
            async with _connected(app, spec, [], cells) as pool:
                _outcome(pool, spec)
                await _use(pool, spec.name, calls)
        except NotConnected as failed:
            if cells.found is None:  # there is nothing to start
                raise
            return await asyncio.to_thread(cells.learned), failed
        return await asyncio.to_thread(cells.learned), None


# ── one connection ───────────────────────────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def _connected(
    app: App, spec: UpstreamSpec, steps: list[tuple[str, float]], cells: Cells | None = None
) -> AsyncGenerator[Pool]:
    """In a pool of its own with nothing remembered, so that every step is really taken."""
    from clawft.link.process import kill_all
    from clawft.upstream.cells import Cells
    from clawft.upstream.pool import Pool  # loaded by now or never
    from clawft.upstream.ways import ways_to

    links: list[TimedLink] = []
    held = cells or Cells(app.settings.home, app.settings.workspace)

    def timed(spec: UpstreamSpec) -> list[Callable[[], Link]]:
        ways = ways_to(spec, cells=held, login_to=app.logins.to_servers.credentials)
        return [lambda way=way: cast("Link", kept(TimedLink(way(), steps))) for way in ways]

    def kept(link: TimedLink) -> TimedLink:
        links.append(link)
        return link

    logging.getLogger("clawft").setLevel(logging.CRITICAL)  # the reason is told once, as an error
    with tempfile.TemporaryDirectory() as folder:
        pool = Pool(Path(folder), timed, [{"uri": app.settings.workspace.as_uri(), "name": "workspace"}])
        try:
            await pool.set_servers({spec.name: spec})
            what = f"connecting to {spec.name}, {ANSWER_SECONDS:g} s at most for its first answer"
            await WaitingTalk(what).during(_settled(pool, spec.name))
            if _is_silent(pool, spec.name):
                raise _gives_no_answer(spec, links[-1].last_words() if links else "")
            yield pool
        finally:
            if cells is None and _is_silent(pool, spec.name):
                kill_all()  # it answers nothing, and would not hear that it shall end
            await pool.close()


async def _settled(pool: Pool, name: str) -> None:
    await pool.settled(ANSWER_SECONDS)
    if not _is_silent(pool, name):
        await pool.settled(TEST_SECONDS - ANSWER_SECONDS)


def _is_silent(pool: Pool, name: str) -> bool:
    """Whether it was asked, and has answered nothing yet."""
    status = pool.server_status(name)
    return bool(status.step) and not status.era


def _gives_no_answer(spec: UpstreamSpec, words: str) -> NotConnected:
    why = f"{spec.name}: no answer within {ANSWER_SECONDS:g} s"
    if words:
        return NotConnected(f"{why}; its last words: {words}", hint=hint_for(spec, words) or _debugging(spec))
    if not spec.command:
        return NotConnected(why, hint=_debugging(spec))
    hint = "is it a server for stdin and stdout? If it was still fetching what it needs, try once more"
    return NotConnected(f"{why}, and not a word from it: it runs, and says nothing", hint=hint)


def _debugging(spec: UpstreamSpec) -> str:
    return f"weft servers status {spec.name} --mcp-debug shows what it does"


async def _use(pool: Pool, name: str, calls: Calls) -> None:
    """What a call says does not matter here, only what the server touches for it."""
    from clawft.provider.server.server_provider import ServerProvider  # only where calls are given

    provider = ServerProvider(pool.find(name)) if calls else None
    for tool, arguments in calls:
        if provider is not None:
            reply = await provider.call_tool(tool, arguments)
            tell(f"called {tool}: {'an error' if reply.is_error else 'ok'}")


def _outcome(pool: Pool, spec: UpstreamSpec) -> tuple[ServerStatus, dict[str, int]]:
    """How it is, and how much it offers. Raises NotConnected."""
    status, answers = pool.server_status(spec.name), pool.find(spec.name).answers
    if status.status != "connected" or answers is None:
        why = status.error or f"no answer within {TEST_SECONDS:g} s"
        raise NotConnected(f"{spec.name}: {why}", hint=hint_for(spec, why) or _debugging(spec))
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

    async def request(self, outgoing: OutgoingRequest, *patience: Any) -> Any:
        began = time.perf_counter()
        try:
            return await self._link.request(outgoing, *patience)
        finally:
            self._note(outgoing.method, began)

    def last_words(self) -> str:
        from clawft.store.concealed_secrets import conceal  # loaded with the servers

        return conceal(self._link.child.last_words()) if self._link.child is not None else ""

    def _note(self, step: str, began: float) -> None:
        self._steps.append((step, (time.perf_counter() - began) * 1000))


VERB = Verb("Connect to one server, list what it offers, time each step", _options, _test)
