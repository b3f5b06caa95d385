"""The tools of the tasks extension: one answers at once, the others become tasks for a caller that can follow one."""

import asyncio

from clawft.errors import ExecutionFailed
from clawft.provider.context import ToolContext
from clawft.provider.function import tool
from tests.conformance.questions import BOOLEAN, STRING, field, form, schema

JOB_S = 0.2
"""Long enough to be seen working, short enough not to be waited for."""


@tool(name="greet")
async def greet(name: str) -> str:
    """Greet, always at once."""
    return f"Hello, {name}!"


@tool(name="slow_compute", task="optional")
async def slow_compute(seconds: float, label: str = "") -> str:
    """Take this many seconds."""
    await asyncio.sleep(seconds)
    return f"Computed {label or 'nothing'} in {seconds:g} s"


@tool(name="failing_job", task="required")
async def failing_job() -> str:
    """Run as a task and fail: the task completes with an error result."""
    await asyncio.sleep(JOB_S)
    raise ExecutionFailed("the job failed, as it always does")


@tool(name="protocol_error_job", task="required")
async def protocol_error_job() -> str:
    """Run as a task and break below the tool: the task fails. The provider raises in its place."""
    raise ExecutionFailed("the provider should have raised before")


@tool(name="confirm_delete", task="optional")
async def confirm_delete(filename: str, ctx: ToolContext) -> str:
    """Ask before deleting (nothing is deleted)."""
    answer = await ctx.elicit("confirm", f"Delete {filename}?", schema({"confirm": BOOLEAN}))
    return f"Deleted {filename}" if answer and answer.get("confirm") is True else f"Kept {filename}"


@tool(name="multi_input", task="optional")
async def multi_input(ctx: ToolContext) -> str:
    """Ask two things at the same time."""
    answers = await ctx.ask(
        {
            "first": form("First name?", {"name": STRING}),
            "second": form("Second name?", {"name": STRING}),
        }
    )
    return f"Answered: {', '.join(sorted(answers))}"


@tool(name="test_tool_with_task")
async def tool_with_task(ctx: ToolContext) -> str:
    """Ask for a name, then go on as a task whose result names it."""
    name = await field(ctx, "user_name", "What is your name?", "name")
    ctx.detach()
    await asyncio.sleep(JOB_S)
    return f"Task done for {name}"


TOOLS = (
    greet,
    slow_compute,
    failing_job,
    protocol_error_job,
    confirm_delete,
    multi_input,
    tool_with_task,
)
