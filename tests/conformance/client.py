"""A client for the official suite, built on our own session and link: `python tests/conformance/client.py URL`.

The suite says in the environment which scenario it plays and which revision it speaks.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from clawft.auth.flow import AuthorizationResponse, read_returned
from clawft.auth.register import Identity
from clawft.auth.renewal import Renewal
from clawft.auth.server_login import ServerLogin
from clawft.auth.tokens import OAuthClient
from clawft.auth.vault import Vault, kept_secret
from clawft.auth.web import Web
from clawft.errors import METHOD_NOT_FOUND, JsonRpcFailure, LinkError
from clawft.link.http_out.link import HttpLink
from clawft.model import Era
from clawft.upstream.session.session import Session
from clawft.wire.jsonrpc.messages import Notification, Request

CAPABILITIES: Mapping[str, Any] = {"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}
SUM = {"a": 5, "b": 3}
LOGIN = "auth/"
DOCUMENT = "https://conformance-test.local/client-metadata.json"


class Answers:
    """What a person and a model would say: yes, with the defaults of the form."""

    def on_notification(self, notification: Notification, stream: int | None) -> None:
        pass

    async def answer_request(self, request: Request, stream: int | None) -> Mapping[str, Any]:
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

    def on_lost(self, error: LinkError) -> None:
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


async def call_everything_twice(session: Session) -> None:
    """A login may have to be made anew between two calls."""
    for _ in range(2):
        await call_everything(session)


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


class Headless:
    """A browser without a window: the suite's provider agrees at once, and says so where it redirects to."""

    async def redirect_uri(self) -> str:
        return "http://localhost:3000/callback"

    async def visit(self, url: str, state: str) -> AuthorizationResponse:
        async with aiohttp.ClientSession() as client, client.get(url, allow_redirects=False) as response:
            return read_returned(urlsplit(response.headers.get("Location", "")).query)


def login_to(url: str, folder: Path) -> ServerLogin:
    told = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    vault = Vault(folder)
    given = None
    if "client_id" in told:
        secret = kept_secret(vault, told.get("client_secret", ""))
        given = OAuthClient(told["client_id"], secret, "client_secret_basic" if secret else "none")
    identity = Identity(given, DOCUMENT)
    return ServerLogin(
        "suite",
        url,
        Renewal(vault),
        lambda near: Web(nobody_refuses, near),
        identity=identity,
        browser=Headless(),
    )


def nobody_refuses(url: str, addresses: Sequence[str]) -> None:
    """The suite lives on loopback."""


async def main(arguments: Sequence[str]) -> int:
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    play = call_everything_twice if scenario.startswith(LOGIN) else SCENARIOS.get(scenario, look)
    old = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION") == "2025-11-25"
    with tempfile.TemporaryDirectory() as folder:
        link = HttpLink(arguments[-1], credentials=login_to(arguments[-1], Path(folder)))
        await converse(Session(link, Answers(), CAPABILITIES), play, Era.HANDSHAKE if old else None)
    return 0


async def converse(session: Session, play: Callable[[Session], Awaitable[None]], known: Era | None) -> None:
    try:
        await session.connect(known)
        await play(session)
    finally:
        await session.close()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv)))
