"""The tools of the build family: they list and run what the workspace declared, and nothing else."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta

from clawft.builtin.build.family import MANIFEST, MAX_TIMEOUT_S, BuildOutput, BuildSettings, ListedTask
from clawft.errors import ExecutionFailed
from clawft.provider.context import ToolContext
from clawft.provider.function import tool

__all__ = ["MANIFEST", "tools_with"]

Timeout = Annotated[int, Meta(ge=1, le=MAX_TIMEOUT_S, description="deadline in seconds instead of the task's own")]


@tool(name="list", alias="build_list", title="List tasks", read_only=True, idempotent=True, open_world=False)
async def list_tasks(ctx: ToolContext) -> list[ListedTask]:
    """The tasks this workspace declares in .clawft/tasks.toml, for build__run and build__test."""
    from clawft.builtin.build.tasks import read_tasks  # not before the first call

    tasks = await asyncio.to_thread(read_tasks, ctx.workspace)
    return [ListedTask(name, task.kind, task.runner, task.description) for name, task in tasks.items()]


def _run_tool(settings: BuildSettings) -> Callable[..., Any]:
    @tool(alias="build_run", title="Run a task", task="optional")
    async def run(
        task: Annotated[str, "name of a declared task"], ctx: ToolContext, timeout_s: Timeout | None = None
    ) -> BuildOutput:
        """Run a task this workspace declares. A task that fails is a result with success false and what was found.

        Runs code of the folder, so only where the user trusts it. At the deadline every process of the run is ended.
        """
        from clawft.builtin.build.task import run_task  # parsers and processes: not before the first call
        from clawft.builtin.build.tasks import find_task, read_tasks

        tasks = await asyncio.to_thread(read_tasks, ctx.workspace)
        return await run_task("run", task, find_task(tasks, task, "run"), timeout_s, ctx, settings)

    return run


def _test_tool(settings: BuildSettings) -> Callable[..., Any]:
    @tool(name="test", alias="build_test", title="Run tests", destructive=False, task="optional")
    async def run_tests(
        ctx: ToolContext,
        task: Annotated[str | None, "name of a declared test task; optional if there is one only"] = None,
        timeout_s: Timeout | None = None,
    ) -> BuildOutput:
        """Run tests this workspace declares. Every test with its ending, failed ones first, with output.

        Runs code of the folder, so only where the user trusts it. At the deadline every process of the run is ended.
        """
        from clawft.builtin.build.task import run_task  # not before the first call
        from clawft.builtin.build.tasks import find_task, read_tasks

        tasks = await asyncio.to_thread(read_tasks, ctx.workspace)
        tests = {name: each for name, each in tasks.items() if each.kind == "test"}
        name = next(iter(tests)) if task is None and len(tests) == 1 else task
        if name is None:
            known = ", ".join(tests) or _HOW
            raise ExecutionFailed(f"test: {len(tests)} test tasks are declared, say which", hint=known)
        return await run_task("test", name, find_task(tests, name, "test"), timeout_s, ctx, settings)

    return run_tests


def tools_with(settings: BuildSettings | None) -> list[tuple[Callable[..., Any], bool]]:
    held = settings or BuildSettings()
    return [(function, True) for function in (list_tasks, _run_tool(held), _test_tool(held))]


_HOW = 'a test task has kind = "test" in .clawft/tasks.toml'
