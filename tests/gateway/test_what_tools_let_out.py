"""Whatever a function lets out, its call gets one answer, over every door, and the next call too."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from clawft.gateway.core import Gateway
from clawft.model import Call, Prompt, Reply
from clawft.provider.function import FunctionProvider, tool
from clawft.store.memory import MemoryStore
from clawft.wire.meta import TASKS
from tests.gateway.asgi_client import http
from tests.gateway.support import Demo, echo, modern, pipe, serving, texts
from tests.requirements import requirement

CANCELLED = "CancelledError: something it waited for was cancelled"
ABLE: dict[str, Any] = {"extensions": {TASKS: {}}}


class Leave(BaseException):
    pass


@tool
async def inner() -> str:
    """Await a task of its own that was cancelled."""
    task = asyncio.create_task(asyncio.sleep(60))
    task.cancel()
    await task
    return "not reached"


@tool
async def gathered() -> str:
    """Await several tasks of its own that were cancelled."""
    both = asyncio.gather(asyncio.sleep(60), asyncio.sleep(60))
    both.cancel()
    await both
    return "not reached"


@tool
def plain() -> str:
    """Let it out of a thread."""
    raise asyncio.CancelledError


@tool
async def closes() -> str:
    """Leave as generators do."""
    raise GeneratorExit


@tool
def leaves() -> str:
    """Leave by what no `except Exception` sees."""
    raise Leave("I go")


@tool
async def leaves_loop() -> str:
    """Leave by that without a thread."""
    raise Leave("I go")


@tool
def exhausted() -> str:
    """Take one more than there is."""
    return next(iter(()))


LET_OUT = pytest.mark.parametrize(
    ("function", "told"),
    [
        (inner, f"inner: {CANCELLED}"),
        (gathered, f"gathered: {CANCELLED}"),
        (plain, f"plain: {CANCELLED}"),
        (closes, "closes: GeneratorExit"),
        (leaves, "leaves: Leave: I go"),
        (leaves_loop, "leaves_loop: Leave: I go"),
        (exhausted, "exhausted: RuntimeError: raised StopIteration"),
    ],
)


def server(function: Any) -> Gateway:
    provider = FunctionProvider("own", [function], workspace=Path(), store=MemoryStore())
    return serving(provider, Demo().add("echo", echo))


@requirement("WIRE-05", "SHELL-08")
@LET_OUT
async def test_on_a_pipe(function: Any, told: str) -> None:
    async with pipe(server(function)) as caller:
        await caller.initialize()
        answer = await caller.call(f"own__{function.__name__}")
        assert (answer["result"]["isError"], texts(answer)) == (True, [told])
        assert texts(await caller.call("demo__echo")) == ["{}"]
        assert caller.messages == []


@requirement("WIRE-05", "SHELL-08")
@LET_OUT
async def test_over_http(function: Any, told: str) -> None:
    async with http(server(function)) as client:
        answer = await client.stateless("tools/call", modern(name=f"own__{function.__name__}")).whole()
        assert (answer.status, texts(answer.json)) == (200, [told])


@requirement("RES-12")
async def test_in_a_task() -> None:
    later = tool(name="later", task="optional")(inner)
    async with pipe(server(later)) as caller:
        task = (await caller.call("own__later", modern(ABLE)))["result"]["taskId"]
        async with asyncio.timeout(5):
            while (now := (await caller.ask("tasks/get", modern(ABLE, taskId=task)))["result"])["status"] == "working":
                pass
        assert now["status"] == "completed"
        assert now["result"]["content"][0]["text"] == f"later: {CANCELLED}"


@requirement("WIRE-05", "SHELL-08")
@pytest.mark.parametrize("ended", [asyncio.CancelledError(), GeneratorExit(), Leave("I go")])
async def test_out_of_other_providers_and_their_prompts(ended: BaseException) -> None:
    class Broken(Demo):
        def list_prompts(self) -> list[Prompt]:
            return [Prompt("x")]

        async def get_prompt(self, call: Call) -> dict[str, Any]:
            raise ended

    async def fails(call: Call) -> Reply:
        raise ended

    async with pipe(serving(Broken().add("fails", fails).add("echo", echo))) as caller:
        await caller.initialize()
        assert type(ended).__name__ in texts(await caller.call("demo__fails"))[0]
        answer = await caller.ask("prompts/get", {"name": "demo__x"})
        assert answer["error"] == {"code": -32603, "message": "internal error"}
        assert texts(await caller.call("demo__echo")) == ["{}"]


@requirement("WIRE-05")
async def test_a_tool_that_cancels_the_task_it_runs_in_is_told_so_and_the_next_call_is_not_touched() -> None:
    async def cancels(call: Call) -> Reply:
        me = asyncio.current_task()
        assert me is not None
        me.cancel()
        await asyncio.Event().wait()
        return Reply.text("not reached")

    async with pipe(serving(Demo().add("cancels", cancels).add("echo", echo))) as caller:
        await caller.initialize()
        first = caller.send("tools/call", {"name": "demo__cancels"})
        second = caller.send("tools/call", {"name": "demo__echo"})
        interrupted = "interrupted: the task of this call was cancelled"
        assert (await caller.answer(first))["error"] == {"code": -32603, "message": interrupted}
        assert texts(await caller.answer(second)) == ["{}"]
        assert len(caller.served.running) == 0
