"""`weft resources`: what can be read, and reading it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from clawft.cli.options import common_options, show_with_app
from clawft.cli.parser import Options, Parser, Verb, json_option
from clawft.cli.screen import one_line, print_json, print_table, tell
from clawft.errors import ResourceNotFound
from clawft.model import ResourceContent

if TYPE_CHECKING:  # help needs none of it
    from clawft.app import App
    from clawft.model import Resource, ResourceTemplate

    Offered = tuple[list[Resource], list[ResourceTemplate]]


def _list_options(parser: Parser) -> None:
    json_option(parser)
    common_options(parser)


def _list(options: Options) -> int:
    async def work(app: App) -> Offered:
        offered = app.gateway.resources
        return [each for _, each in offered.owned(app.caller)], list(offered.templates(app.caller))

    return show_with_app(options, work, lambda found: _print_list(*found, options), look=True)


def _print_list(resources: list[Resource], templates: list[ResourceTemplate], options: Options) -> int:
    if options.json:
        print_json({"resources": resources, "resourceTemplates": templates})
    elif not resources and not templates:
        tell("no resources")
    else:
        print_table(("URI", "TYPE", "NAME"), [*map(_row, resources), *map(_template_row, templates)])
    return 0


def _row(resource: Resource) -> tuple[str, str, str]:
    return one_line(resource.uri), resource.mime_type or "", one_line(resource.title or resource.name)


def _template_row(template: ResourceTemplate) -> tuple[str, str, str]:
    said = template.description or template.title or template.name
    return one_line(template.uri_template), template.mime_type or "", one_line(f"template: {said}")


def _read_options(parser: Parser) -> None:
    parser.add_argument("uri", metavar="URI", help="a URI of the list, or one that fits a template")
    _list_options(parser)


class _ReadResult(msgspec.Struct):
    contents: list[ResourceContent] = []


def _read(options: Options) -> int:
    async def work(app: App) -> Sequence[ResourceContent]:
        from clawft.cli.reply import PROGRESS_WANTED  # help needs none of it
        from clawft.cli.terminal_questions import way_back
        from clawft.gateway.offer.resources import Reader

        caller, waiting = way_back(options.uri, app.caller, quiet=options.json)
        reader = Reader(caller, waiting, PROGRESS_WANTED)
        result = await waiting.during(app.gateway.resources.read_noted(options.uri, reader))
        return msgspec.json.decode(result, type=_ReadResult).contents

    options.uri.encode()  # what is no text is nobody's address: `main` says so
    try:
        return show_with_app(options, work, lambda contents: _print_contents(contents, options))
    except ResourceNotFound as missing:
        missing.hint = "weft resources list"
        raise


def _print_contents(contents: Sequence[ResourceContent], options: Options) -> int:
    if options.json:
        print_json({"contents": contents}, guarded=True)
        return 0
    from clawft.cli.reply import print_text, texts_of  # only where something is read

    blocks = [{"type": "resource", "resource": msgspec.to_builtins(content)} for content in contents]
    for content, text in zip(contents, texts_of(blocks), strict=True):
        print_text(content.text if isinstance(content.text, str) else text)
    return 0


VERBS = {
    "list": Verb("List resources and templates", _list_options, _list),
    "read": Verb("Print the contents of a resource", _read_options, _read),
}
