"""What the guard tests share: a call, a way down that answers, and a sink for audit lines."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from clawft.guard.pipeline import Guard, Pipeline
from clawft.model import Call, Caller, Finish, Next, Origin, Reply, Tool

TOOL = Tool("echo", b'{"name":"echo","inputSchema":{"type":"object"}}')


def call(arguments: bytes = b"{}", *, caller: Caller | None = None, tool: Tool = TOOL, server: str = "") -> Call:
    origin = Origin(f"mcp:{server}", server=server, trusted=False) if server else Origin("demo")
    return Call(caller or Caller(), "demo__echo", tool, origin, arguments, asked="demo__echo")


def way(guards: Sequence[Guard], end: Callable[[Finish], Next]) -> Next:
    """The way down for the tool, through these."""
    pipeline = Pipeline(guards)
    return pipeline.chain(pipeline.applying(TOOL, Origin("demo")), end)


def answers(reply: Reply) -> Next:
    async def run(call: Call) -> Reply:
        return reply

    return run


def raises(error: BaseException) -> Next:
    async def run(call: Call) -> Reply:
        raise error

    return run


def result_of(reply: Reply) -> dict[str, Any]:
    return json.loads(reply.result)


class Lines:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.batches: list[list[dict[str, Any]]] = []

    def append(self, entries: Sequence[bytes], seconds: float) -> None:
        self.batches.append([json.loads(entry) for entry in entries])

    @property
    def all(self) -> list[dict[str, Any]]:
        return [line for batch in self.batches for line in batch]
