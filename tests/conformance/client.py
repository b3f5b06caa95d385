"""A client for the official suite, built on our own session and link: `python tests/conformance/client.py URL`.

The suite says in the environment which scenario it plays and which revision it speaks.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from clawft.errors import METHOD_NOT_FOUND, JsonRpcFailure, LinkError
from clawft.link.http_out import HttpLink
from clawft.model import Era
from clawft.upstream.session import Session
from clawft.wire.jsonrpc import Notification, Request

CAPABILITIES: Mapping[str, Any] = {"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}
SUM = {"a": 5, "b": 3}


class Answers:
    """What a person and a model would say: yes, with the defaults of the form."""

    def noticed(self, notification: Notification, stream: int | None) -> None:
        pass

    async def asked(self, request: Request, stream: int | None) -> Mapping[str, Any]:
        params = json.loads(request.params or b"{}")
        match request.method:
            case "elicitation/create":
                return {"action": "accept", "content": filled_in(params.get("requestedSchema", {}))}
            case "sampling/createMessage":
                content = {"type": "text", "text": "a model's answer"}
                return {"role": "assistant", "content": content, "model": "none", "stopReason": "endTurn"}
            case "roots/list":
                return {"roots": [{"uri": "file:///workspace", "name": "workspace"}]}
            case _:
                raise JsonRpcFailure(METHOD_NOT_FOUND, f"{request.method} is not served here")

    def lost(self, error: LinkError) -> None:
        print(f"lost: {error}", file=sys.stderr)


def filled_in(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults; for what is required without one, something of its type."""
    values = {name: each["default"] for name, each in schema.get("properties", {}).items() if "default" in each}
    made = {"string": "x", "integer": 1, "number": 1.0, "boolean": True}
    missing = [name for name in schema.get("required", ()) if name not in values]
    return {**{name: made.get(schema["properties"][name].get("type"), "x") for name in missing}, **values}


async def names(session: Session) -> list[str]:
    return [json.loads(tool)["name"] for tool in await session.list_tools()]


async def look(session: Session) -> None:
    await names(session)


async def add(session: Session) -> None:
    await names(session)
    await session.call_tool("add_numbers", SUM)


def calling(*tools: str) -> Callable[[Session], Awaitable[None]]:
    async def play(session: Session) -> None:
        await names(session)
        for tool in tools:
            await session.call_tool(tool)

    return play


async def call_everything(session: Session) -> None:
    for tool in map(json.loads, await session.list_tools()):
        properties = tool.get("inputSchema", {}).get("properties", {})
        await session.call_tool(tool["name"], filled_in({"properties": properties, "required": list(properties)}))


async def call_as_told(session: Session) -> None:
    await names(session)
    for told in json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]:
        await session.call_tool(told["name"], told["arguments"])


async def echo_schema(session: Session) -> None:
    tools = {json.loads(tool)["name"]: json.loads(tool) for tool in await session.list_tools()}
    await session.call_tool("json_schema_echo", {"schema": tools["json_schema_2020_12_tool"]["inputSchema"]})


STATES = ("test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type")
SCENARIOS: Mapping[str, Callable[[Session], Awaitable[None]]] = {
    "initialize": look,
    "tools_call": add,
    "http-standard-headers": add,
    "request-metadata": add,
    "json-schema-ref-no-deref": look,
    "elicitation-sep1034-client-defaults": calling("test_client_elicitation_defaults"),
    "sse-retry": calling("test_reconnection"),
    "http-custom-headers": call_as_told,
    "http-invalid-tool-headers": call_everything,
    "json-schema-2020-12-preservation": echo_schema,
    "sep-2322-client-request-state": calling(*STATES),
}


async def main(arguments: Sequence[str]) -> int:
    play = SCENARIOS.get(os.environ.get("MCP_CONFORMANCE_SCENARIO", ""), look)
    old = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION") == "2025-11-25"
    session = Session(HttpLink(arguments[-1]), Answers(), CAPABILITIES)
    try:
        await session.connect(Era.HANDSHAKE if old else None)
        await play(session)
    finally:
        await session.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv)))
