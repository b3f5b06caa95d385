"""Asks the person at the terminal to fill in a form, line by line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clawft.cli.parser import WrongUsage
from clawft.cli.screen import safe, tell, tell_paragraph
from clawft.cli.screen.form import FormField, asked, fields_of, read
from clawft.cli.screen.questions import MAX_TRIES, choose, typed_line
from clawft.wire.quoted_lines import BAR

FILL_IN = "fill it in"


async def filled_in(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The values that were filled in; None if the person declines or gives up."""
    if await choose((FILL_IN,)) is None:
        return None
    content: dict[str, Any] = {}
    for field in fields_of(schema):
        answer = await _answer_to(field)
        if answer is None:
            tell("not sent")
            return None
        content |= answer
    return content


async def _answer_to(field: FormField) -> Mapping[str, Any] | None:
    """The value of one field, empty if it is left out, None if the person gives up. The server's text has a bar."""
    if field.about:
        tell_paragraph("".join(f"{BAR}{line}\n" for line in field.about.splitlines()).rstrip("\n"))
    offered = "  ".join(f"[{at}] {safe(choice.shown)}" for at, choice in enumerate(field.choices, 1))
    for _ in range(MAX_TRIES):
        tell(f"{safe(asked(field))} {offered}".rstrip())
        typed = await typed_line()
        if not typed:  # Ctrl-D
            return None
        if not typed.strip() and (field.has_default or not field.required):
            return {field.name: field.expected["default"]} if field.has_default else {}
        try:
            return {field.name: read(field, typed.strip())}
        except WrongUsage as wrong:
            tell(safe(wrong.message))
    return None
