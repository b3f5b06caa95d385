"""Who takes part, and in what. A further contender is a further row; a further leg too."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from bench.family import UPSTREAM
from bench.messages import HANDSHAKE, STATELESS, Dialect, Echo, Listing, Question

HERE = Path(__file__).parent
SERVERS = HERE / "servers"
PACKAGE = HERE / "package"
OTHERS = HERE.parent / ".venv-bench"
"""Where `make bench` installs the gateways of others, each in an environment of its own."""

PORT, CONFIG, SERVER = "{port}", "{config}", "{server}"
"""Filled in when the contender starts: a port, the mcpServers file, and the whole command of the one upstream."""

Front = Literal["stdio", "http"]
TOOL = "echo"
MEGABYTE = 1 << 20
CUT_BYTES = 65_536
"""Where our result guard cuts a text."""


class Fleet(Struct, frozen=True):
    """The upstream servers behind a gateway."""

    servers: int = 1
    tools: int = 1
    more: int = 0
    image: bool = False

    @property
    def names(self) -> list[str]:
        return [f"s{at:02d}" for at in range(self.servers)]

    def command(self, marks: Path) -> list[str]:
        told = [sys.executable, UPSTREAM, "--tools", str(self.tools), "--more", str(self.more), "--marks", str(marks)]
        return [*told, "--image"] if self.image else told

    def config(self, marks: Path, said: Mapping[str, object]) -> Mapping[str, object]:
        """`said` of every server, beside how it is started."""
        program, *words = self.command(marks)
        return {"mcpServers": {name: {"command": program, "args": words, **said} for name in self.names}}


class Contender(Struct, frozen=True):
    name: str
    title: str
    argv: Mapping[Front, tuple[str, ...]]
    tool: str = TOOL
    tool_of_many: str = TOOL
    """Its name for the tool of `{server}` if it has several."""
    environment: Mapping[str, str] = {}
    said: Mapping[str, object] = {}
    """More about every server, for its file."""
    before: tuple[str, ...] = ()
    """A command to be run in its place before it starts."""

    def command(self, front: Front, port: int = 0, config: Path = Path(), server: Sequence[str] = ()) -> list[str]:
        filled = [word.replace(PORT, str(port)).replace(CONFIG, str(config)) for word in self.argv[front]]
        return [word for each in filled for word in (server if each == SERVER else (each,))]

    def preparation(self, config: Path) -> list[str]:
        return [word.replace(CONFIG, str(config)) for word in self.before]

    def tools(self, fleet: Fleet) -> list[str]:
        if fleet.servers == 1:
            return [self.tool]
        return [self.tool_of_many.replace(SERVER, name) for name in fleet.names]

    def missing(self, front: Front) -> str:
        """Why it cannot take part; empty if it can."""
        program = self.argv[front][0]
        return "" if program == SERVER or Path(program).is_file() else f"not installed ({program}): run `make bench`"


class Leg(Struct, frozen=True):
    """One table of the report: contenders that are asked the same over the same kind of wire."""

    name: str
    title: str
    front: Front
    dialect: Dialect
    contenders: tuple[str, ...]
    yardstick: str
    """Ratios are told against this one."""
    windows: tuple[int, ...] = (1, 64)
    fleet: Fleet = Fleet()
    asks: Literal["echo", "list"] = "echo"
    enough: int | None = None
    """A text cut after so many bytes is a right answer as well."""
    most: Mapping[str, int] = {}
    """Contenders that get fewer calls in flight, because they cannot take more within the time of a run."""

    @property
    def expected_tools(self) -> int:
        return self.fleet.servers * self.fleet.tools

    def question(self, contender: Contender) -> Question:
        if self.asks == "list":
            return Listing(self.dialect, self.expected_tools)
        return Echo(self.dialect, contender.tools(self.fleet), self.fleet.more, self.enough)


def _sdk(name: str, title: str, kind: str, *options: str) -> Contender:
    program = (sys.executable, str(SERVERS / "sdk.py"), kind)
    return Contender(name, title, {"stdio": program, "http": (*program, "--port", PORT, *options)})


_WEFT = (sys.executable, "-m", "clawft")
_RELAYED = ("--no-builtin", "--mcp-config", CONFIG)
_FLOOR = (sys.executable, UPSTREAM)
_FLOOR_HTTP = (sys.executable, str(SERVERS / "floor_http.py"), PORT)
_FASTMCP = (str(OTHERS / "fastmcp/bin/fastmcp"), "run", CONFIG, "--no-banner", "--skip-env", "--log-level", "WARNING")
_MCP_PROXY = (str(OTHERS / "mcp-proxy/bin/mcp-proxy"), "--log-level", "WARNING", "--port", PORT, "--", SERVER)

CONTENDERS = {
    contender.name: contender
    for contender in (
        Contender("floor", "minimal echo server", {"stdio": _FLOOR, "http": _FLOOR_HTTP}),
        Contender(
            "weft",
            "weft, all guards on",
            {"stdio": (*_WEFT, "mcp-server"), "http": (*_WEFT, "gateway", "--no-auth", "--port", PORT)},
            tool="bench__echo",
            environment={"PYTHONPATH": str(PACKAGE)},
        ),
        _sdk("sdk", "SDK MCPServer", "high"),
        _sdk("sdk-low", "SDK lowlevel Server", "low"),
        _sdk("sdk-sse", "SDK MCPServer, SSE", "high", "--sse"),
        Contender("direct", "upstream alone", {"stdio": (SERVER,)}),
        Contender("bytes", "byte relay on uvloop", {"stdio": (sys.executable, str(SERVERS / "relay.py"), SERVER)}),
        Contender("ready", "server with 1,000 tools", {"stdio": (*_FLOOR, "--tools", "1000")}),
        Contender(
            "gateway",
            "weft gateway",
            {
                "stdio": (*_WEFT, "mcp-server", *_RELAYED),
                "http": (*_WEFT, "gateway", "--no-auth", "--port", PORT, *_RELAYED),
            },
            tool="s00__echo",
            tool_of_many=f"{SERVER}__echo",
        ),
        Contender(
            "wary",
            "weft, server untrusted",
            {"stdio": (*_WEFT, "mcp-server", *_RELAYED)},
            tool="s00__echo",
            said={"trust": "untrusted"},
            before=(*_WEFT, "approvals", "grant", "s00", "*", *_RELAYED),
        ),
        Contender(
            "fastmcp",
            "FastMCP proxy",
            {"stdio": _FASTMCP, "http": (*_FASTMCP, "--transport", "http", "--port", PORT)},
            tool_of_many=f"{SERVER}_echo",
            environment={"FASTMCP_CHECK_FOR_UPDATES": "off"},
        ),
        Contender("mcp-proxy", "mcp-proxy (PyPI)", {"http": _MCP_PROXY}),
    )
}
OURS = "weft"

_RELAYS = ("direct", "bytes", "gateway", "wary", "fastmcp")
_STARTING = ("direct", "bytes", "gateway", "fastmcp")
_LARGE = ("bytes", "gateway", "fastmcp")

LEGS = {
    leg.name: leg
    for leg in (
        Leg("stdio", "stdio, handshake era", "stdio", HANDSHAKE, ("floor", "weft", "sdk", "sdk-low"), "sdk"),
        Leg("http", "HTTP, handshake era", "http", HANDSHAKE, ("floor", "weft", "sdk", "sdk-low", "sdk-sse"), "sdk"),
        Leg("stateless", "HTTP, stateless era", "http", STATELESS, ("floor", "weft", "sdk", "sdk-low"), "sdk"),
        Leg("relay", "gateways over stdio, 1 upstream", "stdio", HANDSHAKE, _RELAYS, "fastmcp"),
        Leg(
            "relay-http",
            "gateways over HTTP, 1 upstream",
            "http",
            HANDSHAKE,
            ("gateway", "fastmcp", "mcp-proxy"),
            "fastmcp",
        ),
        Leg(
            "relay-20",
            "gateways over stdio, 20 upstreams (FastMCP: one at a time)",
            "stdio",
            HANDSHAKE,
            ("gateway", "fastmcp"),
            "fastmcp",
            windows=(64,),
            fleet=Fleet(servers=20),
            most={"fastmcp": 1},  # it starts all 20 anew for each call: 64 at once are 1,280 processes
        ),
        Leg(
            "large",
            "1 MB result that passes whole (an image block)",
            "stdio",
            HANDSHAKE,
            _LARGE,
            "fastmcp",
            windows=(1,),
            fleet=Fleet(more=MEGABYTE, image=True),
        ),
        Leg(
            "large-text",
            "1 MB of text (our guard cuts it at 64 KiB and keeps the rest)",
            "stdio",
            HANDSHAKE,
            _LARGE,
            "fastmcp",
            windows=(1,),
            fleet=Fleet(more=MEGABYTE),
            enough=CUT_BYTES - 1_024,  # the note about the cut needs some room
        ),
        Leg(
            "list",
            "tools/list, 1,000 tools over 20 upstreams",
            "stdio",
            HANDSHAKE,
            ("ready", "gateway"),
            "ready",
            windows=(1,),
            fleet=Fleet(servers=20, tools=50),
            asks="list",
        ),
    )
}


class Starts(Struct, frozen=True):
    """A cold start over stdio: as in which leg, and who takes part."""

    title: str
    leg: str
    contenders: tuple[str, ...]
    yardstick: str


STARTS = {
    "start": Starts("cold start over stdio", "stdio", ("floor", "weft", "sdk", "sdk-low"), "sdk"),
    "relay-start": Starts("cold start of a gateway, 1 upstream, nothing cached", "relay", _STARTING, "fastmcp"),
}
CROWD = Leg(
    "crowd", "100 upstreams, warm cache", "stdio", HANDSHAKE, ("gateway",), "gateway", fleet=Fleet(servers=100, tools=5)
)

IMPORTS = {
    "bare interpreter": ("-c", "pass"),
    "import clawft": ("-c", "import clawft"),
    "weft --version": ("-m", "clawft", "--version"),
    "import the SDK's server": ("-c", "from mcp.server.mcpserver import MCPServer"),
}
