"""A server of the official SDK before 2.0 over Streamable HTTP, as most servers of today are.

usage: sdk1.py PORT STATELESS JSON      (the last two 0 or 1)
"""

import sys
from importlib import import_module
from typing import Any

port, stateless, plain = map(int, sys.argv[1:])
fastmcp: Any = import_module("mcp.server.fastmcp")  # of another environment, so that nobody can check its types here
server = fastmcp.FastMCP("old", host="127.0.0.1", port=port, stateless_http=bool(stateless), json_response=bool(plain))


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


server.run("streamable-http")
