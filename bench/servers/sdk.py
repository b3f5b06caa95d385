"""The echo tool on the official SDK.

usage: sdk.py high|low [--port N] [--sse]
high is its MCPServer, low its lowlevel Server; with --port it serves Streamable HTTP at /mcp, answering in JSON unless
--sse asks for its default, an event stream per answer.
"""

import argparse
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.server.mcpserver import MCPServer

HOST = "127.0.0.1"
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
DESCRIPTION = "Return the text that was sent."


def high() -> "MCPServer":
    from mcp.server.mcpserver import MCPServer  # each kind pays for its own imports only

    server = MCPServer("sdk-high", log_level="WARNING")

    @server.tool(description=DESCRIPTION, structured_output=False)  # text only, as ours answers: the cheaper form
    async def echo(text: str) -> str:
        return text

    return server


def low() -> "Server":
    import mcp_types as types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

    tools = [types.Tool(name="echo", description=DESCRIPTION, input_schema=SCHEMA)]

    async def listed(
        context: ServerRequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def called(context: ServerRequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = (params.arguments or {})["text"]
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    return Server("sdk-low", on_list_tools=listed, on_call_tool=called)


async def on_pipes(server: "Server") -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def on_port(server: "MCPServer | Server", port: int, *, sse: bool) -> None:
    import uvicorn

    app = server.streamable_http_app(json_response=not sse)
    uvicorn.run(app, host=HOST, port=port, log_level="warning")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("high", "low"))
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--sse", action="store_true")
    asked = parser.parse_args()
    if asked.port:
        on_port(high() if asked.kind == "high" else low(), asked.port, sse=asked.sse)
    elif asked.kind == "high":
        high().run("stdio")
    else:
        anyio.run(on_pipes, low())


if __name__ == "__main__":
    main()
