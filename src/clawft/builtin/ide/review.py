"""Asks the person to review a proposed text: in their editor, or through their agent if there is no screen."""

from typing import Any

from clawft.builtin.ide.connection import IdeConnection
from clawft.builtin.ide.family import Ide
from clawft.builtin.ide.hub import HEADLESS
from clawft.builtin.ide.model import Review
from clawft.builtin.ide.text import apply, hunks
from clawft.errors import IdeNotConnected

ACCEPT, REJECT, PART = "accept", "reject", "part"
MAX_HUNKS = 20
"""With more hunks than this all are accepted or rejected together."""
SHOWN_CHARS = 400


async def reviewed(ide: Ide, connection: IdeConnection, path: str, old: str, new: str) -> Review:
    """The verdict. It may take minutes; cancelling the call removes the question."""
    if old == new:
        return Review(ACCEPT)
    if connection.backend != HEADLESS:
        ide.ctx.progress(0, 1, f"waiting for the review of {ide.shown(path)}")
        return await connection.show_diff(path, new)
    if not ide.ctx.caller.capabilities.elicit_form:
        raise IdeNotConnected(
            "there is nobody to ask: no editor with a screen is connected, and the agent cannot put questions",
            hint="open the workspace in VS Code or Neovim",
        )
    return await _elicited(ide, path, old, new)


async def _elicited(ide: Ide, path: str, old: str, new: str) -> Review:
    changes = list(hunks(old, new))
    parts = changes if 1 < len(changes) <= MAX_HUNKS else []
    answer = await ide.ctx.elicit("weft_review", _message(ide.shown(path), changes), _form(len(parts)))
    decision = (answer or {}).get("decision", REJECT)
    if decision != PART:
        return Review(ACCEPT if decision == ACCEPT else REJECT)
    taken = [edit for at, (edit, _) in enumerate(parts, start=1) if (answer or {}).get(f"change_{at}", True)]
    if not taken:
        return Review(REJECT)
    return Review(ACCEPT) if len(taken) == len(parts) else Review(PART, apply(old, taken))


def _message(path: str, changes: list[Any]) -> str:
    shown = "\n\n".join(
        f"{at}. line {edit.range.start.line + 1}\n{_marked('-', gone)}{_marked('+', edit.new_text)}"
        for at, (edit, gone) in enumerate(changes[:MAX_HUNKS], start=1)
    )
    return f"Change {path}?\n\n{shown}"


def _marked(sign: str, text: str) -> str:
    return "".join(f"{sign} {line}\n" for line in text[:SHOWN_CHARS].splitlines())


def _form(parts: int) -> dict[str, Any]:
    decisions = [ACCEPT, REJECT, PART] if parts else [ACCEPT, REJECT]
    flags = {
        f"change_{at}": {"type": "boolean", "title": f"Take change {at}", "default": True} for at in range(1, parts + 1)
    }
    return {
        "type": "object",
        "properties": {"decision": {"type": "string", "enum": decisions, "title": "What shall happen"}, **flags},
        "required": ["decision"],
    }
