"""`weft prompts get`: a prompt, filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from clawft.app import App
from clawft.cli.parser import Options, WrongUsage
from clawft.cli.parser.arguments import arguments
from clawft.cli.prompts.schema import schema_of
from clawft.cli.screen import one_line, paint
from clawft.cli.screen.document import print_json
from clawft.cli.screen.questions import way_back
from clawft.cli.screen.reply import PROGRESS_WANTED, print_text, texts_of
from clawft.cli.setup import show_with_app
from clawft.error_words import nearest, quoted
from clawft.errors import ToolNotFound
from clawft.model import Prompt

OWN = "weft__"
"""The beginning of the names of our own prompts: no server is started for them."""


def run(options: Options) -> int:
    return show_with_app(
        options,
        lambda app: _filled(app, options),
        lambda result: _print_filled(result, options),
        servers=not options.name.startswith(OWN),
        tool=options.name,
    )


async def _filled(app: App, options: Options) -> Mapping[str, Any]:
    prompt = _find(app, options.name)
    given = arguments(options.pairs, options.args, schema_of(prompt.arguments))
    missing = [each.name for each in prompt.arguments if each.required and each.name not in given]
    if missing:
        raise WrongUsage(f"{options.name} needs {', '.join(missing)}", hint=_to_type(options.name, missing))
    caller, waiting = way_back(options.name, app.caller, quiet=options.json)
    encoded = msgspec.json.encode(given)
    made = await waiting.during(app.gateway.prompts.get(caller, options.name, encoded, waiting, PROGRESS_WANTED))
    return msgspec.json.decode(made, type=dict[str, Any])


def _to_type(name: str, missing: Sequence[str]) -> str:
    return " ".join(["weft prompts get", quoted(name), *(f"{quoted(each)}=…" for each in missing)])


def _find(app: App, name: str) -> Prompt:
    try:
        return app.gateway.prompts.find(app.caller, name).view
    except ToolNotFound as missing:
        near = nearest(name, [each.name for each in app.gateway.prompts.visible(app.caller)])
        missing.hint = f"did you mean {near}?" if near else "weft prompts list"
        raise


def _print_filled(result: Mapping[str, Any], options: Options) -> int:
    if options.json:
        print_json(result, guarded=True)
    else:
        _print_messages(result.get("messages", []))
    return 0


def _print_messages(messages: Sequence[Mapping[str, Any]]) -> None:
    for message in messages:
        print(paint(f"{one_line(str(message.get('role', '')))}:", "bold"))
        for text in texts_of([message.get("content", {})]):
            print_text(text)
