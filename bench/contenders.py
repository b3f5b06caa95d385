"""Who takes part, and in what. A further contender is a further row; a further leg too."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from bench.messages import HANDSHAKE, STATELESS, Dialect

HERE = Path(__file__).parent
SERVERS = HERE / "servers"
PACKAGE = HERE / "package"
PORT = "{port}"
"""Filled in when the contender starts."""

Front = Literal["stdio", "http"]


class Contender(Struct, frozen=True):
    name: str
    title: str
    tool: str
    argv: Mapping[Front, tuple[str, ...]]
    environment: Mapping[str, str] = {}

    def command(self, front: Front, port: int = 0) -> list[str]:
        return [word.replace(PORT, str(port)) for word in self.argv[front]]


class Leg(Struct, frozen=True):
    """One table of the report: contenders that are asked the same over the same kind of wire."""

    name: str
    title: str
    front: Front
    dialect: Dialect
    contenders: tuple[str, ...]


def _sdk(name: str, title: str, kind: str, *options: str) -> Contender:
    program = (sys.executable, str(SERVERS / "sdk.py"), kind)
    return Contender(name, title, "echo", {"stdio": program, "http": (*program, "--port", PORT, *options)})


_WEFT = (sys.executable, "-m", "clawft")
_FLOOR = (sys.executable, str(SERVERS / "floor.py"))
_FLOOR_HTTP = (sys.executable, str(SERVERS / "floor_http.py"), PORT)

CONTENDERS = {
    contender.name: contender
    for contender in (
        Contender("floor", "minimal echo server", "echo", {"stdio": _FLOOR, "http": _FLOOR_HTTP}),
        Contender(
            "weft",
            "weft, all guards on",
            "bench__echo",
            {"stdio": (*_WEFT, "mcp-server"), "http": (*_WEFT, "gateway", "--no-auth", "--port", PORT)},
            {"PYTHONPATH": str(PACKAGE)},
        ),
        _sdk("sdk", "SDK MCPServer", "high"),
        _sdk("sdk-low", "SDK lowlevel Server", "low"),
        _sdk("sdk-sse", "SDK MCPServer, SSE", "high", "--sse"),
    )
}
OURS = "weft"
YARDSTICK = "sdk"
"""Ratios are told against this one. Over HTTP it answers in JSON, which is cheaper than its default."""

LEGS = {
    leg.name: leg
    for leg in (
        Leg("stdio", "stdio, handshake era", "stdio", HANDSHAKE, ("floor", "weft", "sdk", "sdk-low")),
        Leg("http", "HTTP, handshake era", "http", HANDSHAKE, ("floor", "weft", "sdk", "sdk-low", "sdk-sse")),
        Leg("stateless", "HTTP, stateless era", "http", STATELESS, ("floor", "weft", "sdk", "sdk-low")),
    )
}
STARTERS = ("floor", "weft", "sdk", "sdk-low")
"""Who takes part in the cold start, over stdio."""

IMPORTS = {
    "bare interpreter": ("-c", "pass"),
    "import clawft": ("-c", "import clawft"),
    "weft --version": ("-m", "clawft", "--version"),
    "import the SDK's server": ("-c", "from mcp.server.mcpserver import MCPServer"),
}
