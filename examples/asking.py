"""A tool that asks the person before it acts. The same code serves both eras of the protocol.

A client of the handshake era gets a request back and answers it. A client of 2026-07-28 gets `input_required`, asks its
person, and calls again with the answer: then `order` runs from its first line. So ask first, act afterwards.
"""

from typing import Annotated

from clawft import Gateway, ToolContext, tool

FORM = {
    "type": "object",
    "properties": {
        "size": {"type": "string", "enum": ["small", "large"], "title": "Size"},
        "gift": {"type": "boolean", "title": "Wrap it as a gift", "default": False},
    },
    "required": ["size"],
}


@tool(destructive=False)
async def order(tea: Annotated[str, "which tea"], ctx: ToolContext) -> str:
    """Order tea; the person says which size."""
    wish = await ctx.elicit("size", f"One {tea}. Which size?", FORM)
    if wish is None:
        return "nothing was ordered"
    wrapped = ", wrapped" if wish.get("gift") else ""
    return f"ordered: one {wish['size']} {tea}{wrapped}"


if __name__ == "__main__":
    Gateway(order).run()
