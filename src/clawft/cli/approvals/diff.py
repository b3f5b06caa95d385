"""`weft approvals diff`: the text that was approved beside the one there is now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from clawft.cli.approvals.book import NOTHING_APPROVED, book, nothing_approved
from clawft.cli.approvals.named_tools import is_named
from clawft.cli.approvals.rows import LAUNCH
from clawft.cli.approvals.texts import lines
from clawft.cli.parser import Options
from clawft.cli.screen import counted, one_line, paint, safe, tell, width
from clawft.cli.screen.document import print_json
from clawft.cli.screen.table import cells, wrapped
from clawft.cli.setup.sources import sources
from clawft.config.launch_approval import shown_launch
from clawft.config.servers import discover
from clawft.policy.approval import Approval, approved_text
from clawft.policy.pin import ShownText, changed, pin, shown_tool

if TYPE_CHECKING:  # servers are started for them, or they are not needed
    from clawft.guard.approval.offers import OfferedTools

PIPE_COLUMNS = 120

Change = dict[str, Any]
"""One approval that does not fit any more: `server`, `tool`, and `fields` with `approved` and `now`."""


def run(options: Options) -> int:
    chosen = [each for each in book().all() if _is_chosen(each, options)]
    if not chosen and options.server:
        raise nothing_approved(options.server, options.tool)
    seen = [*_launches([each for each in chosen if not each.tool], options), *_tools(chosen, options)]
    changes = [change for each, now in seen for change in _compared(each, now)]
    if options.json:
        print_json({"changes": changes})
    elif not changes:
        tell(
            f"nothing has changed since you approved it: {counted(len(seen), 'approval')} looked at"
            if chosen
            else NOTHING_APPROVED
        )
    for each in [] if options.json else changes:
        _print(each)
    return 0


def _is_chosen(each: Approval, options: Options) -> bool:
    is_server = options.server in (None, each.server)
    return is_server and not each.is_glob and (options.tool is None or is_named(each.server, each.tool, [options.tool]))


def _tools(chosen: Sequence[Approval], options: Options) -> Iterator[tuple[Approval, ShownText]]:
    """Each approval of a tool that can be compared, with what the tool is now."""
    servers = list(dict.fromkeys(each.server for each in chosen if each.tool))
    if not servers:
        return
    from clawft.cli.approvals.offered import offered  # only where servers are started, which takes an app

    now = offered(servers, options)
    for server in servers:
        if server not in now:
            tell(f"weft: {server} has not listed its tools, so they cannot be compared (weft servers list)")
    for each in chosen:
        if each.tool and each.server in now:
            yield each, _tool_now(each, now[each.server])


def _tool_now(each: Approval, found: OfferedTools) -> ShownText:
    tool = next((tool for tool in found.tools if tool.name == each.tool), None)
    return shown_tool(tool.wire, found.instructions) if tool is not None else {}


def _launches(chosen: Sequence[Approval], options: Options) -> Iterator[tuple[Approval, ShownText]]:
    """Each approval of a server's start in this workspace, with how it would be started now."""
    where = sources(options)
    servers = discover(where) if chosen else None
    for each in chosen:
        found = (servers.waiting.get(each.server) or servers.found.get(each.server)) if servers else None
        if found is not None and each.workspace == str(where.workspace):
            yield each, shown_launch(found, each)


def _compared(each: Approval, now: ShownText) -> Iterator[Change]:
    if pin(now) == each.pin:
        return
    before = approved_text(each)
    parts = [{"field": name, "approved": before.get(name), "now": now.get(name)} for name in changed(before, now)]
    yield {"server": each.server, "tool": each.tool or LAUNCH, "fields": parts}


# ── what is shown ────────────────────────────────────────────────────────────────────────────────────────────────────


def _print(change: Mapping[str, Any]) -> None:
    print(paint(one_line(f"{change['server']} {change['tool']}"), "bold"))
    for field in change["fields"]:
        print(paint(f"  {safe(str(field['field']))}", "cyan"))
        columns = width() or PIPE_COLUMNS
        for line in side_by_side(lines(field["approved"]), lines(field["now"]), columns):
            print(line)
    print()


def side_by_side(before: Sequence[str], now: Sequence[str], columns: int) -> Iterator[str]:
    """Two columns, approved left and now right; `│` between lines that are the same, `≠` where they differ."""
    size = max(16, (columns - 7) // 2)
    for kind, left_from, left_to, right_from, right_to in SequenceMatcher(
        None, before, now, autojunk=False
    ).get_opcodes():
        left = [piece for line in before[left_from:left_to] for piece in wrapped(line, size)]
        right = [piece for line in now[right_from:right_to] for piece in wrapped(line, size)]
        mark = "│" if kind == "equal" else "≠"
        for at in range(max(len(left), len(right))):
            shown, beside = (side[at] if at < len(side) else "" for side in (left, right))
            yield f"    {shown}{' ' * (size - cells(shown))} {mark} {beside}".rstrip()
