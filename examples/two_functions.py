"""Two Python functions as MCP tools over stdio: `python examples/two_functions.py` is the whole server."""

from clawft import Gateway, tool


@tool(read_only=True)
async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


@tool(read_only=True)
def shout(text: str) -> str:
    """Say it louder."""
    return text.upper() + "!"


if __name__ == "__main__":
    Gateway(add, shout).run()
