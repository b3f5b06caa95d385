"""`weft tools call`: a tool is called, guarded like any call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from clawft.app import App
from clawft.catalog.snapshot import CatalogEntry
from clawft.cli.parser import Options, WrongUsage
from clawft.cli.parser.arguments import arguments
from clawft.cli.screen import tell
from clawft.cli.screen.document import print_json
from clawft.cli.screen.questions import way_back
from clawft.cli.screen.reply import PROGRESS_WANTED, print_text, texts_of
from clawft.cli.setup import show_with_app
from clawft.cli.tools.finding import not_found, why_absent
from clawft.config.keys import MAX_RESULT_LIMIT
from clawft.errors import JsonRpcFailure, ToolNotFound
from clawft.model import Reply


def run(options: Options) -> int:
    """Whole: what is cut for a model waits in a process that goes on, and ours ends here."""
    options.name.encode()  # what is no text never had a name: `main` says so
    options.more = {"result.limit": MAX_RESULT_LIMIT}
    return show_with_app(
        options, lambda app: _call(app, options), lambda came: _print_reply(*came, options), tool=options.name
    )


async def _call(app: App, options: Options) -> tuple[Reply, str, Sequence[str]]:
    """The reply, what to do if it is an error, and the files whose changed text ends with us.

    Also a name nobody knows goes through the gateway: the audit has a line for it.
    """
    entry = app.gateway.tools.find(options.name)
    schema = msgspec.json.decode(entry.tool.input_schema, type=dict[str, Any]) if entry else {}
    given = arguments(options.pairs, options.args, schema)
    caller, waiting = way_back(options.name, app.caller, quiet=options.json)
    encoded = msgspec.json.encode(given)
    was_absent = why_absent(app, options.name) is not None
    try:
        reply = await waiting.during(app.gateway.call(caller, options.name, encoded, waiting, PROGRESS_WANTED))
    except ToolNotFound:
        raise not_found(app, options.name) from None
    except JsonRpcFailure as refused:
        reply = _refused(entry, refused)
    if reply.is_error and (entry is None or was_absent) and why_absent(app, options.name) is not None:
        raise not_found(app, options.name)  # why it is down was told when it was started
    missing = [name for name in schema.get("required", ()) if name not in given]
    if missing and reply.is_error and not options.json and entry is not None and not entry.origin.server:
        raise WrongUsage(_lacks(entry.name, missing), hint=f"weft tools show {entry.name}")
    if missing:
        return reply, f"weft tools show {options.name}", ()
    hint = _held(app, entry.origin.server, reply) if entry is not None and reply.is_error else ""
    return reply, hint, app.editors.lost_with_us()


def _lacks(tool: str, missing: Sequence[str]) -> str:
    return f"{tool}: {'; '.join(f'missing {name!r}' for name in missing)}"


def _refused(entry: CatalogEntry | None, error: JsonRpcFailure) -> Reply:
    """The error answer of a server, as a result that is marked as an error."""
    from clawft.provider.server.call.refusal import in_words  # only where a server refused

    return Reply.error(in_words(entry.origin.server if entry is not None else "", error))


def _held(app: App, server: str | None, reply: Reply) -> str:
    """A server of somebody else seldom knows why it may not write."""
    if not server or reply.refused or server not in app.servers.found:
        return ""
    from clawft.cli.servers.sandbox_hint import hint_for  # only where something went wrong

    return hint_for(app.servers.found[server].spec, reply.result.decode())


def _print_reply(reply: Reply, hint: str, lost: Sequence[str], options: Options) -> int:
    if options.json:
        print_json(msgspec.Raw(reply.result), guarded=True)
    else:
        _print_result(msgspec.json.decode(reply.result, type=dict[str, Any]), is_error=reply.is_error)
        if reply.is_error and hint:
            tell(f"hint: {hint}")
    if lost:
        tell(f"weft: nothing was written: the change of {', '.join(lost)} ends with this command")
        tell("hint: save=true writes it")
    return 1 if reply.is_error or lost else 0


def _print_result(result: Mapping[str, Any], *, is_error: bool) -> None:
    for text in texts_of(result.get("content", []), result.get("structuredContent")):
        print_text(f"weft: {text}" if is_error else text, error=is_error)
