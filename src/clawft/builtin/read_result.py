"""The tool that reads the rest of a result which the result guard has cut."""

from collections.abc import Callable
from typing import Annotated, Any

from clawft.errors import ExecutionFailed
from clawft.provider.context import ToolContext
from clawft.provider.function import tool
from clawft.store.cut_results import CutResults

MAX_PIECE = 60_000
"""Bytes of one piece: below the limit for results, so that no piece is cut itself."""


def read_result_tool(cut_results: CutResults) -> Callable[..., Any]:
    @tool(name="read_result", title="Read on", read_only=True, idempotent=True, open_world=False)
    async def read_result(
        handle: Annotated[str, "the handle named in the [truncated] note"],
        ctx: ToolContext,
        offset: Annotated[int, "where to read on, in bytes"] = 0,
        limit: Annotated[int, "how many bytes at most"] = MAX_PIECE,
    ) -> str:
        """Read the rest of a result that was too long to be sent whole."""
        part = cut_results.read(handle, ctx.caller.principal, offset, min(max(limit, 1), MAX_PIECE))
        if part is None:
            raise ExecutionFailed(f"nothing is kept under {handle!r}", hint="call the tool again, asking for less")
        if part.next_offset is None:
            return part.text
        return f"{part.text}\n[more] {part.total - part.next_offset} bytes left: offset {part.next_offset}"

    return read_result
