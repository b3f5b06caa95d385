"""`weft resources read`: the contents of one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clawft.app import App
from clawft.cli.parser import Options
from clawft.cli.screen.document import print_json
from clawft.cli.screen.questions import way_back
from clawft.cli.screen.reply import PROGRESS_WANTED, print_text, texts_of
from clawft.cli.setup import show_with_app
from clawft.errors import ResourceNotFound
from clawft.gateway.offer.resources import Reader
from clawft.model import ResourceContent

OWN = ("workspace:", "ide:")
"""Beginnings of addresses that are ours: no server is started for them."""


class _ReadResult(msgspec.Struct):
    contents: list[ResourceContent] = []


def run(options: Options) -> int:
    async def work(app: App) -> Sequence[ResourceContent]:
        caller, waiting = way_back(options.uri, app.caller, quiet=options.json)
        reader = Reader(caller, waiting, PROGRESS_WANTED)
        result = await waiting.during(app.gateway.resources.read_noted(options.uri, reader))
        return msgspec.json.decode(result, type=_ReadResult).contents

    options.uri.encode()  # what is no text is nobody's address: `main` says so
    try:
        return show_with_app(
            options, work, lambda contents: _print_contents(contents, options), servers=not options.uri.startswith(OWN)
        )
    except ResourceNotFound as missing:
        missing.hint = "weft resources list"
        raise


def _print_contents(contents: Sequence[ResourceContent], options: Options) -> int:
    if options.json:
        print_json({"contents": contents}, guarded=True)
        return 0
    blocks = [{"type": "resource", "resource": msgspec.to_builtins(content)} for content in contents]
    for content, text in zip(contents, texts_of(blocks), strict=True):
        print_text(content.text if isinstance(content.text, str) else text)
    return 0
