"""`weft approvals`: which servers may start and which tools may run, as the person said; and what has changed since."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clawft.cli import approval_diff, approval_files
from clawft.cli.approval_book import LAUNCH, NOTHING_APPROVED, book, cells_of, described, is_named, offered
from clawft.cli.house import sources
from clawft.cli.parser import Options, Parser, Verb, WrongUsage, common_options, json_option
from clawft.cli.screen import one_line, paint, print_fields, print_json, print_table, safe, tell
from clawft.cli.server_names import no_server
from clawft.errors import ClawftError, NotConnected, ServerNotFound, ToolNotFound, nearest

if TYPE_CHECKING:  # help needs none of it
    from clawft.config.layers import FoundServer, Sources
    from clawft.guard.approval.offers import OfferedTools
    from clawft.policy.approval import Approval

DAY = 24 * 60 * 60.0
MAX_DAYS = 36_500
NAMED = 12
"""Tools that an error names."""


# ── list ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _list_options(parser: Parser) -> None:
    parser.add_argument("server", metavar="SERVER", nargs="?", help="only what is about this server")
    json_option(parser)
    common_options(parser)


def _list(options: Options) -> int:
    chosen = [each for each in book().all() if options.server in (None, each.server)]
    waiting = {name: found for name, found in _waiting(options).items() if options.server in (None, name)}
    told = [_waits(name, found, options) for name, found in waiting.items()]
    changed = {(each["server"], str(sources(options).workspace)) for each in told if each["changed"]}
    rows = [described(each, time.time(), changed) for each in sorted(chosen, key=lambda each: each.key)]
    if options.json:
        print_json({"approvals": rows, "waiting": told})
        return 0
    if rows:
        head = ("SERVER", "TOOL", "STATE", "GRANTED", "EXPIRES", "HOLDS FOR")
        print_table(head, [cells_of(row, head) for row in rows])
    elif not waiting:
        tell(_nothing(options))
    for each in told:
        diff = f"weft approvals diff {each['server']}"
        why = f"is not what you approved ({diff})" if each["changed"] else "waits for approval"
        tell(f"{paint(each['server'], 'bold')} {why}: {safe(each['starts'])}\n  {safe(each['command'])}")
    return 0


def _nothing(options: Options) -> str:
    """Of all servers, or of one that somebody has misspelled: then there may be others."""
    if options.server is None:
        return NOTHING_APPROVED
    if wrong := _unknown(options.server, options):
        raise wrong
    return f"nothing of {options.server} is approved yet; its tools ask when they are first called"


def _waiting(options: Options) -> dict[str, FoundServer]:
    from clawft.config.servers import discover  # only where servers are looked for

    return dict(discover(sources(options)).waiting)


def _unknown(server: str, options: Options) -> ClawftError | None:
    """Why nothing can be approved of it: nobody names it, or whoever does made a mistake. None if that is not so."""
    from clawft.config.servers import discover  # only where servers are looked for

    known = discover(sources(options))
    if server in known.refused:
        return known.refused[server].error
    named = [*known.found, *known.waiting]
    return None if server in named else no_server(server, named)


def _waits(name: str, found: FoundServer, options: Options) -> dict[str, Any]:
    from clawft.config.launch_approval import grant_command, has_changed  # loaded with the servers
    from clawft.config.servers import told

    return {
        "server": name,
        "starts": told(found.spec),
        "changed": has_changed(book(), found, sources(options)),
        "origin": str(found.origin),
        "command": grant_command(name, found, Path.cwd()),
    }


# ── grant ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _grant_options(parser: Parser) -> None:
    parser.add_argument("server", metavar="SERVER", help="a server; alone: approve that it is started")
    parser.add_argument("tools", metavar="TOOL", nargs="*", default=[], help="tools by name or glob, like 'list_*'")
    parser.add_argument("--days", metavar="N", type=float, default=0.0, help="ends after so many days (default: never)")
    parser.add_argument("--only-agent", metavar="NAME", default="*", help="for this agent alone (default: all)")
    parser.add_argument("--only-workspace", action="store_true", help="for this workspace alone (default: all)")
    parser.add_argument("--new", action="store_true", help="a glob also covers tools the server will have later")
    json_option(parser)
    common_options(parser)


def _grant(options: Options) -> int:
    server, globs = _meant(options)
    where, kept = sources(options), book()
    given: list[Approval] = []
    launched = _to_launch(server, options, again=not globs)
    if launched is not None:
        given.append(_launch(launched, where, options))
        kept.add(*given)
    elif not globs:
        raise _unknown(server, options) or _which_tools(server)
    if globs:
        tools = _tools(server, offered([server], options).get(server), globs, where, options)
        kept.add(*tools)
        given += tools
    return _tell("approved", given, options)


def _to_launch(server: str, options: Options, *, again: bool) -> FoundServer | None:
    """The server of this workspace that waits. `again`: one that was approved, too, as a running weft may not know it.

    It looks at scripts when it starts them, and has one wait that was changed; nobody tells it when that is undone.
    """
    from clawft.config.servers import discover  # only where servers are looked for

    known = discover(sources(options))
    found = known.found.get(server)
    approved = found if again and found is not None and found.must_wait else None
    return known.waiting.get(server) or approved


def _which_tools(server: str) -> ClawftError:
    return WrongUsage(
        f"approvals grant: {server} does not wait to be started; which of its tools?",
        hint=f"weft approvals grant {server} '*'",
    )


def _meant(options: Options) -> tuple[str, list[str]]:
    """`SERVER TOOL…`, or the name of one tool in any form that agents may see."""
    for head, between in () if options.tools else (("mcp:", ":"), ("mcp:", "__"), ("mcp__", "__"), ("", "__")):
        server, found, tool = options.server.removeprefix(head).partition(between)
        if found and options.server.startswith(head):
            return server, [tool]
    return options.server, list(options.tools)


def _launch(found: FoundServer, where: Sources, options: Options) -> Approval:
    from clawft.config.launch_approval import launch_approval  # loaded with the servers

    now = time.time()
    return launch_approval(found, where, now, _end(options, now), options.only_agent)


def _tools(
    server: str, offers: OfferedTools | None, globs: Sequence[str], where: Sources, options: Options
) -> list[Approval]:
    from clawft.policy.approval import Approval, approval_of  # loaded with the app
    from clawft.policy.globs import MAX_HOSTILE_GLOB, is_glob
    from clawft.policy.pin import shown_tool

    if offers is None:
        raise _unknown(server, options) or _says_nothing(server)
    now = time.time()
    scope: dict[str, Any] = {
        "expires": _end(options, now),
        "agent": options.only_agent,
        "workspace": str(where.workspace) if options.only_workspace or offers.local else "*",
    }
    chosen = [tool for tool in offers.tools if is_named(server, tool.name, globs)]
    found = [
        approval_of(server, tool.name, shown_tool(tool.wire, offers.instructions), now, **scope) for tool in chosen
    ]
    later = [Approval(server, glob, granted=now, **scope) for glob in globs if options.new and is_glob(glob)]
    if any(len(each.tool) > MAX_HOSTILE_GLOB for each in later):
        raise WrongUsage(f"approvals grant: a glob has up to {MAX_HOSTILE_GLOB} letters", hint="name the tools")
    if not found and not later:
        raise _no_tool(server, globs, [tool.name for tool in offers.tools])
    return [*found, *later]


def _says_nothing(server: str) -> ClawftError:
    return NotConnected(f"{server} does not say what it has", hint=f"weft servers test {server}")


def _no_tool(server: str, globs: Sequence[str], known: Sequence[str]) -> ToolNotFound:
    near = nearest(globs[0], known)
    some = ", ".join(map(one_line, known[:NAMED])) + (f" and {len(known) - NAMED} more" if len(known) > NAMED else "")
    return ToolNotFound(
        f"{server} has no tool {' or '.join(globs)}",
        hint=f"did you mean {one_line(near)}?" if near else f"it has: {some or 'none'}",
    )


def _end(options: Options, now: float) -> float | None:
    if not 0 <= options.days <= MAX_DAYS:  # nan is no number of days either
        raise WrongUsage(f"approvals grant: --days is a number up to {MAX_DAYS}", hint="leave it out: it never ends")
    return now + options.days * DAY if options.days else None


def _tell(done: str, given: Sequence[Approval], options: Options) -> int:
    """What was approved, in full: this is the moment to read it. What all tools of a server share is said once."""
    if options.json:
        print_json({done: [described(each, time.time()) for each in given]})
        return 0
    from clawft.policy.pin import INSTRUCTIONS  # loaded by now

    said: set[tuple[str, str]] = set()
    for each in given:
        print(one_line(f"{done}: {each.server} {each.tool or LAUNCH}"))
        if done == "approved":
            fields = [(name, text) for name, text in approval_diff.fields(each) if (each.server, text) not in said]
            print_fields([(f"  {name}", one_line(text)) for name, text in fields])
            said.update((each.server, text) for name, text in fields if name == INSTRUCTIONS)
    tell("a running weft follows within a second")
    return 0


# ── revoke ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _revoke_options(parser: Parser) -> None:
    parser.add_argument("server", metavar="SERVER", help="a server; alone: everything about it")
    parser.add_argument("tools", metavar="TOOL", nargs="*", default=[], help="tools by name or glob")
    json_option(parser)


def _revoke(options: Options) -> int:
    server, globs = _meant(options)
    gone: list[Approval] = []

    def without(known: tuple[Approval, ...]) -> Iterable[Approval]:
        gone.extend(_meant_by(known, server, globs))
        return [each for each in known if each not in gone]

    book().change(without)
    if not gone:
        raise ServerNotFound(
            f"nothing of {server} is approved{' under that name' if globs else ''}",
            hint=_approved_instead(server, globs),
        )
    return _tell("revoked", gone, options)


def _approved_instead(server: str, globs: Sequence[str]) -> str:
    """The nearest of what is approved: a tool of this server, or a server."""
    tools = [each.tool for each in book().all() if each.server == server and each.tool]
    near = nearest(globs[0], tools) if globs and tools else nearest(server, {each.server for each in book().all()})
    return f"did you mean {one_line(near)}?" if near and near != server else "weft approvals list"


def _meant_by(known: Iterable[Approval], server: str, words: Sequence[str]) -> list[Approval]:
    """With every glob that would approve one of the tools anew when it is used next."""
    from clawft.policy.approval import covers  # loaded with the book

    mine = [each for each in known if each.server == server]
    named = [each for each in mine if not words or is_named(server, each.tool, words)]
    tools = {*(each.tool for each in named), *(word.removeprefix(f"{server}__") for word in words)}
    return [each for each in mine if each in named or (each.is_glob and any(covers(each.tool, one) for one in tools))]


VERBS = {
    "list": Verb("List what is approved, and what waits for it", _list_options, _list),
    "grant": Verb("Approve the start of a server, or tools of it, as they are now", _grant_options, _grant),
    "revoke": Verb("Take approvals back", _revoke_options, _revoke),
    "diff": Verb(
        "Show what has changed since it was approved, side by side", approval_diff.options, approval_diff.diff
    ),
    "export": Verb("Write approvals to a file, for others", approval_files.export_options, approval_files.export),
    "import": Verb("Take over approvals from a file", approval_files.import_options, approval_files.import_),
}
