"""How calls are carried out: disabled, scripted and real; servers before built-ins."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawft.delegate.executor import (
    DisabledExecutor,
    ExecutionContext,
    ExecutionMode,
    LiveExecutor,
    McpExecutor,
    MockAnswer,
    MockExecutor,
    ToolCallSpec,
    ToolExecutor,
)
from clawft.errors import LinkClosed
from clawft.gateway.core import Gateway
from clawft.model import Caller, SilentTalk
from clawft.provider.function import FunctionProvider, tool
from clawft.store.memory import MemoryStore
from tests.delegate.support import CONTEXT, echo, fail, gateway
from tests.requirements import requirement


@tool(name="echo")
async def louder(text: str = "") -> str:
    """The `echo` of another house."""
    return f"server: {text}"


@tool
async def lost() -> str:
    """A server that is gone."""
    raise LinkClosed("the server closed the connection")


def both() -> Gateway:
    """A built-in `demo` and a server `far`, each with a tool `echo`."""
    made = Gateway()
    made.register(FunctionProvider("demo", [echo, fail], workspace=Path.cwd(), store=MemoryStore()))
    far = FunctionProvider("mcp:far", [louder, lost], workspace=Path.cwd(), store=MemoryStore())
    made.register(far, server="far")
    return made


async def result(executor: ToolExecutor, name: str, **given: str) -> tuple[str, str]:
    done = await executor.execute(ToolCallSpec(name, dict(given)), "1", CONTEXT)
    return done.kind, done.text


@requirement("AGENT-01", "S4-EX-01", "AGENT-03")
async def test_the_right_server_is_called_by_every_spelling() -> None:
    mcp = McpExecutor(both())
    assert mcp.name == "mcp"
    for name in ("far__echo", "mcp:far__echo", "mcp__far__echo", "mcp:far:echo"):
        assert await result(mcp, name, text="hi") == ("success", "server: hi")
    assert (await result(mcp, "demo__echo"))[0] == "not_found"


@requirement("AGENT-03", "S4-EX-01", "S4-EX-02")
async def test_servers_come_before_built_ins_and_nobody_is_told() -> None:
    executor = LiveExecutor(both())
    assert await result(executor, "echo", text="hi") == ("success", "server: hi")
    assert await result(executor, "demo__echo", text="hi") == ("success", "echo: hi")
    assert await result(executor, "nobody") == ("not_found", "tool not found: nobody")


@requirement("AGENT-01", "AGENT-04", "S4-EX-03", "NFR-004")
@pytest.mark.parametrize(("name", "said"), [("demo__fail", "it broke"), ("far__lost", "closed the connection")])
async def test_a_failed_call_is_an_error_result(name: str, said: str) -> None:
    kind, text = await result(LiveExecutor(both()), name)
    assert kind == "error"
    assert said in text


@requirement("AGENT-02")
async def test_disabled_answers_every_call_as_disabled() -> None:
    assert await result(DisabledExecutor(), "demo__echo") == (
        "error",
        "demo__echo: tool calls are disabled in this run",
    )
    assert [mode.value for mode in ExecutionMode] == ["disabled", "mock", "live"]


@requirement("AGENT-02")
async def test_mock_answers_from_the_script() -> None:
    mock = MockExecutor(
        [MockAnswer("x", "one", input={"n": "1"}), MockAnswer("x", "any"), MockAnswer("y", "bad", error=True)]
    )
    assert await result(mock, "x", n="1") == ("success", "one")
    assert await result(mock, "server__x", n="2") == ("success", "any")
    assert await result(mock, "y") == ("error", "bad")
    assert (await result(mock, "z"))[0] == "not_found"


@requirement("DELEG-14", "NFR-003")
async def test_calls_pass_the_guards_of_their_own_caller() -> None:
    made = gateway()
    hidden = Caller(grant=Caller().grant.__class__(deny=("demo__echo",)))
    done = await LiveExecutor(made).execute(ToolCallSpec("demo__echo"), "1", ExecutionContext(hidden, SilentTalk()))
    assert done.kind == "not_found"
