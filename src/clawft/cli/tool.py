"""One tool: `weft tools show` and `weft tools call`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from clawft.catalog.surface import tokens_of
from clawft.cli.house import show_with_app
from clawft.cli.parser import Options, Parser, WrongUsage, argument_options, common_options, json_option
from clawft.cli.parser.arguments import arguments, kinds_of, resolved
from clawft.cli.screen import one_line, paint, print_fields, print_json, print_paragraph, print_table, safe, tell
from clawft.errors import JsonRpcFailure, ToolNotFound, nearest
from clawft.model import Annotations, Origin, Reply

if TYPE_CHECKING:  # help needs none of it
    from clawft.app import App
    from clawft.catalog.snapshot import CatalogEntry

Schema = Mapping[str, Any]


def find(app: App, name: str) -> CatalogEntry:
    """The tool, if this caller may see it. Raises ToolNotFound, which names the nearest one."""
    entry = app.gateway.tools.find_visible(name, app.caller)
    if entry is None:
        raise not_found(app, name)
    return entry


def not_found(app: App, name: str) -> ToolNotFound:
    absent = why_absent(app, name)
    if absent is not None:
        return ToolNotFound(f"{name}: {absent[0]}", hint=absent[1])
    near = nearest(name, [spelling for entry in app.gateway.tools.visible(app.caller) for spelling in entry.names])
    return ToolNotFound(f"unknown tool: {name}", hint=f"did you mean {near}?" if near else "weft tools list")


def why_absent(app: App, name: str) -> tuple[str, str] | None:
    """Why the server that this name speaks of has no tools now, and what to do about it."""
    if not app.files.name_any:
        return None
    from clawft.cli.house.start_servers import servers_of  # loaded with the servers
    from clawft.config.follow import RUNNING
    from clawft.config.servers import waits

    known = app.servers
    down = {each.name for each in app.pool.status() if each.status not in RUNNING and not each.rests}
    for server in servers_of(name, (*known.found, *known.waiting, *known.refused)):
        if server in known.waiting:
            told = waits(server, known.waiting[server])
            return told.message, told.hint
        if server in known.refused:
            return known.refused[server].error.message, known.refused[server].error.hint
        if not known.found[server].spec.enabled:
            return f"{server} is switched off", f"weft servers enable {server}"
        if server in down:
            return f"{server} is not connected", f"weft servers test {server}"
    return None


def flags(hints: Annotations) -> list[str]:
    """What the tool says of itself, in words, the most important first."""
    if hints.read_only_hint:
        told = ["read-only"]
    else:
        told = [
            "destructive" if hints.destructive_hint else "writes",
            *(["idempotent"] if hints.idempotent_hint else []),
        ]
    return [*told, *(["open-world"] if hints.open_world_hint else [])]


# ── show ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def show_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the tool, by any of its names")
    json_option(parser)
    common_options(parser)


def show(options: Options) -> int:
    async def work(app: App) -> CatalogEntry:
        return find(app, options.name)

    return show_with_app(options, work, lambda entry: _print_entry(entry, options), tool=options.name)


def _print_entry(entry: CatalogEntry, options: Options) -> int:
    if options.json:
        print_json(msgspec.Raw(entry.wire))
        return 0
    print(paint(entry.name, "bold") + (f"  {safe(entry.tool.title)}" if entry.tool.title else ""))
    print()
    if entry.tool.description:
        print_paragraph(entry.tool.description)
        print()
    _print_arguments(msgspec.json.decode(entry.tool.input_schema, type=dict[str, Any]))
    origin = entry.origin
    print_fields(
        [
            ("flags", ", ".join(flags(entry.tool.annotations))),
            ("from", _from(origin)),
            ("also", ", ".join(name for name in entry.names if name != entry.name)),
            ("costs", f"about {tokens_of(entry)} tokens in a model's context"),
        ]
    )
    return 0


def _from(origin: Origin) -> str:
    if not origin.server:
        return f"built in or installed: {origin.namespace}"
    return f"the server {origin.server}, which is {'' if origin.trusted else 'not '}trusted"


def _print_arguments(schema: Schema) -> None:
    properties = cast("dict[str, Any]", schema.get("properties") or {})
    if not properties:
        print("takes no arguments\n")
        return
    required: list[str] = schema.get("required", [])
    rows = [argument_row(name, each, schema, required=name in required) for name, each in properties.items()]
    print_table(("ARGUMENT", "TYPE", "REQUIRED", "DEFAULT", "WHAT IT IS"), rows, wrap=True)
    print()


def argument_row(name: str, expected: Schema, schema: Schema, *, required: bool) -> tuple[str, ...]:
    default = msgspec.json.encode(expected["default"]).decode() if "default" in expected else ""
    expected = {**resolved(expected, schema), **expected}
    kind = "|".join(sorted(kinds_of(expected, schema))) or "any"
    return (
        name,
        kind,
        "yes" if required else "",
        default,
        one_line("; ".join(filter(None, (_limits(expected), _described(expected))))),
    )


def _described(expected: Schema) -> str:
    return str(expected.get("description") or expected.get("title") or "")


def _limits(expected: Schema) -> str:
    """`one of a, b` or `1 to 100`: what a person must know to get it right."""
    if "enum" in expected:
        return f"one of {', '.join(map(str, expected['enum']))}"
    low, high = expected.get("minimum"), expected.get("maximum")
    if low is not None and high is not None:
        return f"{low} to {high}"
    return f"at least {low}" if low is not None else f"at most {high}" if high is not None else ""


# ── call ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def call_options(parser: Parser) -> None:
    argument_options(parser)
    json_option(parser)
    common_options(parser)


def call(options: Options) -> int:
    """Whole: what is cut for a model waits in a process that goes on, and ours ends here."""
    from clawft.config.keys import MAX_RESULT_LIMIT  # brings the policies

    options.name.encode()  # what is no text never had a name: `main` says so
    options.more = {"result.limit": MAX_RESULT_LIMIT}
    return show_with_app(
        options, lambda app: _call(app, options), lambda came: _print_reply(*came, options), tool=options.name
    )


async def _call(app: App, options: Options) -> tuple[Reply, str]:
    """The reply, and what to do if it is an error.

    Also a name nobody knows goes through the gateway: the audit has a line for it.
    """
    from clawft.cli.screen.questions import way_back
    from clawft.cli.screen.reply import PROGRESS_WANTED  # only where a call runs

    entry = app.gateway.tools.find(options.name)
    schema = msgspec.json.decode(entry.tool.input_schema, type=dict[str, Any]) if entry else {}
    given = arguments(options.pairs, options.args, schema)
    caller, waiting = way_back(options.name, app.caller, quiet=options.json)
    encoded = msgspec.json.encode(given)
    try:
        reply = await waiting.during(app.gateway.call(caller, options.name, encoded, waiting, PROGRESS_WANTED))
    except ToolNotFound:
        raise not_found(app, options.name) from None
    except JsonRpcFailure as refused:
        reply = _refused(entry, refused)
    if entry is None and reply.is_error and why_absent(app, options.name) is not None:
        raise not_found(app, options.name)
    missing = [name for name in schema.get("required", ()) if name not in given]
    if missing and reply.is_error and not options.json and entry is not None and not entry.origin.server:
        raise WrongUsage(_lacks(entry.name, missing), hint=f"weft tools show {entry.name}")
    if missing:
        return reply, f"weft tools show {options.name}"
    return reply, _held(app, entry.origin.server, reply) if entry is not None and reply.is_error else ""


def _lacks(tool: str, missing: Sequence[str]) -> str:
    return f"{tool}: {'; '.join(f'missing {name!r}' for name in missing)}"


def _refused(entry: CatalogEntry | None, error: JsonRpcFailure) -> Reply:
    """As a result that says so, whatever form the server chose."""
    from clawft.provider.server.call.refusal import in_words  # only where a server refused

    return Reply.error(in_words(entry.origin.server if entry is not None else "", error))


def _held(app: App, server: str | None, reply: Reply) -> str:
    """A server of somebody else seldom knows why it may not write."""
    if not server or reply.refused or server not in app.servers.found:
        return ""
    from clawft.cli.servers.sandbox_hint import hint_for  # only where something went wrong

    return hint_for(app.servers.found[server].spec, reply.result.decode())


def _print_reply(reply: Reply, hint: str, options: Options) -> int:
    if options.json:
        print_json(msgspec.Raw(reply.result), guarded=True)
    else:
        _print_result(msgspec.json.decode(reply.result, type=dict[str, Any]), is_error=reply.is_error)
        if reply.is_error and hint:
            tell(f"hint: {hint}")
    return 1 if reply.is_error else 0


def _print_result(result: Mapping[str, Any], *, is_error: bool) -> None:
    from clawft.cli.screen.reply import print_text, texts_of  # only where a call runs

    for text in texts_of(result.get("content", []), result.get("structuredContent")):
        print_text(f"weft: {text}" if is_error else text, error=is_error)
