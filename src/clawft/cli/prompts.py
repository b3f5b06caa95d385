"""`weft prompts`: what prompts there are, and one of them filled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clawft.cli.arguments import arguments
from clawft.cli.options import common_options, show_with_app
from clawft.cli.parser import Options, Parser, Verb, WrongUsage, json_option
from clawft.cli.screen import one_line, paint, print_json, print_table, tell
from clawft.errors import ToolNotFound, nearest, quoted

if TYPE_CHECKING:  # help needs none of it
    from clawft.app import App
    from clawft.gateway.offer.prompts import NamedPrompt
    from clawft.model import Prompt, PromptArgument


def _list_options(parser: Parser) -> None:
    json_option(parser)
    common_options(parser)


def _list(options: Options) -> int:
    async def work(app: App) -> list[NamedPrompt]:
        return app.gateway.prompts.listed(app.caller)

    return show_with_app(options, work, lambda prompts: _print_list(prompts, options), look=True)


def _print_list(prompts: Sequence[NamedPrompt], options: Options) -> int:
    if options.json:
        print_json({"prompts": [msgspec.to_builtins(each.said) | {"name": each.name} for each in prompts]})
    elif not prompts:
        tell("no prompts")
    else:
        print_table(("NAME", "ARGUMENTS", "WHAT IT DOES"), [_row(each) for each in prompts])
    return 0


def _row(each: NamedPrompt) -> tuple[str, str, str]:
    return each.name, usage(each.said), one_line(each.said.description or each.said.title or "")


def usage(prompt: Prompt) -> str:
    """`path [focus]`: optional ones in brackets."""
    return " ".join(each.name if each.required else f"[{each.name}]" for each in prompt.arguments)


def _get_options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="a name of the list")
    parser.add_argument("pairs", metavar="KEY=VALUE", nargs="*", default=[], help="arguments; KEY=@FILE (@- for stdin)")
    parser.add_argument("--args", metavar="JSON", help="all arguments as one JSON object, or @FILE")
    _list_options(parser)


def _to_type(name: str, missing: Sequence[str]) -> str:
    return " ".join(["weft prompts get", quoted(name), *(f"{quoted(each)}=…" for each in missing)])


def _get(options: Options) -> int:
    return show_with_app(options, lambda app: _filled(app, options), lambda result: _print_filled(result, options))


async def _filled(app: App, options: Options) -> Mapping[str, Any]:
    from clawft.cli.reply import PROGRESS_WANTED  # only where a prompt is made
    from clawft.cli.terminal_questions import way_back

    prompt = _find(app, options.name)
    given = arguments(options.pairs, options.args, schema_of(prompt.arguments))
    missing = [each.name for each in prompt.arguments if each.required and each.name not in given]
    if missing:
        raise WrongUsage(f"{options.name} needs {', '.join(missing)}", hint=_to_type(options.name, missing))
    caller, waiting = way_back(options.name, app.caller, quiet=options.json)
    encoded = msgspec.json.encode(given)
    made = await waiting.during(app.gateway.prompts.get(caller, options.name, encoded, waiting, PROGRESS_WANTED))
    return msgspec.json.decode(made, type=dict[str, Any])


def _find(app: App, name: str) -> Prompt:
    try:
        return app.gateway.prompts.find(app.caller, name).said
    except ToolNotFound as missing:
        near = nearest(name, [each.name for each in app.gateway.prompts.visible(app.caller)])
        missing.hint = f"did you mean {near}?" if near else "weft prompts list"
        raise


def schema_of(known: Iterable[PromptArgument]) -> Mapping[str, Any]:
    """Arguments of prompts are texts."""
    return {"properties": {each.name: {"type": "string"} for each in known}, "additionalProperties": False}


def _print_filled(result: Mapping[str, Any], options: Options) -> int:
    if options.json:
        print_json(result, guarded=True)
    else:
        _print_messages(result.get("messages", []))
    return 0


def _print_messages(messages: Sequence[Mapping[str, Any]]) -> None:
    from clawft.cli.reply import print_text, texts_of  # only where a prompt is made

    for message in messages:
        print(paint(f"{one_line(str(message.get('role', '')))}:", "bold"))
        for text in texts_of([message.get("content", {})]):
            print_text(text)


VERBS = {
    "list": Verb("List prompts and their arguments", _list_options, _list),
    "get": Verb("Fill a prompt in and print its messages", _get_options, _get),
}
