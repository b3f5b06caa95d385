"""`weft approvals diff`: the text that was approved beside the one there is now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from clawft.cli.approval_book import LAUNCH, NOTHING_APPROVED, book, is_named, nothing_approved, offered
from clawft.cli.house import sources
from clawft.cli.parser import Options, Parser, common_options, json_option
from clawft.cli.screen import counted, one_line, paint, print_json, safe, tell, width
from clawft.cli.screen.table import cells, wrapped

if TYPE_CHECKING:  # help needs none of it
    from clawft.guard.approval.offers import OfferedTools
    from clawft.policy.approval import Approval
    from clawft.policy.pin import ShownText

PIPE_COLUMNS = 120
ABSENT = "(not there)"


Change = dict[str, Any]
"""One approval that does not fit any more: `server`, `tool`, and `fields` with `approved` and `now`."""


def options(parser: Parser) -> None:
    parser.add_argument("server", metavar="SERVER", nargs="?", help="a server (default: all)")
    parser.add_argument("tool", metavar="TOOL", nargs="?", help="one of its tools (default: all)")
    json_option(parser)
    common_options(parser)


def diff(options: Options) -> int:
    chosen = [each for each in book().all() if _is_chosen(each, options)]
    if not chosen and options.server:
        raise nothing_approved(options.server)
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
    """Those that can be compared, each with what it is now."""
    servers = list(dict.fromkeys(each.server for each in chosen if each.tool))
    now = offered(servers, options) if servers else {}
    for server in servers:
        if server not in now:
            tell(f"weft: {server} does not say what it has, so its tools cannot be compared (weft servers list)")
    for each in chosen:
        if each.tool and each.server in now:
            yield each, _tool_now(each, now[each.server])


def _tool_now(each: Approval, found: OfferedTools) -> ShownText:
    from clawft.policy.pin import shown_tool  # loaded with the book

    tool = next((tool for tool in found.tools if tool.name == each.tool), None)
    return shown_tool(tool.wire, found.instructions) if tool is not None else {}


def _launches(chosen: Sequence[Approval], options: Options) -> Iterator[tuple[Approval, ShownText]]:
    """The same for those of this workspace."""
    from clawft.config.launch_approval import shown_launch  # only where servers are looked for
    from clawft.config.servers import discover

    where = sources(options)
    servers = discover(where) if chosen else None
    for each in chosen:
        found = (servers.waiting.get(each.server) or servers.found.get(each.server)) if servers else None
        if found is not None and each.workspace == str(where.workspace):
            yield each, shown_launch(found, each)


def _compared(each: Approval, now: ShownText) -> Iterator[Change]:
    from clawft.policy.approval import approved_text  # loaded with the book
    from clawft.policy.pin import changed, pin

    if pin(now) == each.pin:
        return
    before = approved_text(each)
    parts = [{"field": name, "approved": before.get(name), "now": now.get(name)} for name in changed(before, now)]
    yield {"server": each.server, "tool": each.tool or LAUNCH, "fields": parts}


# ── what is shown ────────────────────────────────────────────────────────────────────────────────────────────────────


def fields(each: Approval) -> list[tuple[str, str]]:
    """What was approved, member by member."""
    from clawft.policy.approval import approved_text  # loaded with the book

    return [(name, "\n".join(_lines(value))) for name, value in approved_text(each).items() if name != "name"]


def _print(change: Mapping[str, Any]) -> None:
    print(paint(one_line(f"{change['server']} {change['tool']}"), "bold"))
    for field in change["fields"]:
        print(paint(f"  {safe(str(field['field']))}", "cyan"))
        columns = width() or PIPE_COLUMNS
        for line in side_by_side(_lines(field["approved"]), _lines(field["now"]), columns):
            print(line)
    print()


def _lines(value: object) -> list[str]:
    """A text by its lines, everything else as readable JSON."""
    import msgspec  # loaded with the book

    if value is None:
        return [ABSENT]
    text = value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return safe(text).removesuffix("\n").split("\n")


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
