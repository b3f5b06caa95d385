"""Asks the person to allow something once."""

from clawft.provider.context import ToolContext


async def allowed_once(ctx: ToolContext, question: str, message: str, title: str) -> bool:
    """Whether they say yes; no, where nobody can be asked. `question` names it, `title` stands at the box to tick."""
    if not ctx.caller.capabilities.elicit_form:
        return False
    form = {
        "type": "object",
        "properties": {"allow": {"type": "boolean", "title": title, "default": False}},
        "required": ["allow"],
    }
    return await ctx.elicit(question, message, form) == {"allow": True}
