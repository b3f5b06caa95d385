"""`weft prompts list`: what prompts there are."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clawft.app import App
from clawft.cli.parser import Options
from clawft.cli.screen import one_line, print_table, tell
from clawft.cli.screen.document import print_json
from clawft.cli.setup import show_with_app
from clawft.gateway.offer.prompts import NamedPrompt
from clawft.model import Prompt


def run(options: Options) -> int:
    async def work(app: App) -> list[NamedPrompt]:
        return app.gateway.prompts.listed(app.caller)

    return show_with_app(options, work, lambda prompts: _print_list(prompts, options), look=True)


def _print_list(prompts: Sequence[NamedPrompt], options: Options) -> int:
    if options.json:
        print_json({"prompts": [msgspec.to_builtins(each.view) | {"name": each.name} for each in prompts]})
    elif not prompts:
        tell("no prompts")
    else:
        print_table(("NAME", "ARGUMENTS", "WHAT IT DOES"), [_row(each) for each in prompts])
    return 0


def _row(each: NamedPrompt) -> tuple[str, str, str]:
    return each.name, usage(each.view), one_line(each.view.description or each.view.title or "")


def usage(prompt: Prompt) -> str:
    """`path [focus]`: optional ones in brackets."""
    return " ".join(each.name if each.required else f"[{each.name}]" for each in prompt.arguments)
