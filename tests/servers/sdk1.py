"""A server of the official SDK before 2.0 over Streamable HTTP, as most servers of today are.

usage: sdk1.py PORT STATELESS JSON      (each 0 or 1)
"""

import sys

from mcp.server.fastmcp import FastMCP  # pyright: ignore  # its environment is another

port, stateless, plain = map(int, sys.argv[1:])
server = FastMCP("old", host="127.0.0.1", port=port, stateless_http=bool(stateless), json_response=bool(plain))  # pyright: ignore


@server.tool()  # pyright: ignore
def add(a: int, b: int) -> int:
    return a + b


server.run("streamable-http")  # pyright: ignore
