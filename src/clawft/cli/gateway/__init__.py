"""`weft gateway`: serve over HTTP. What it takes stands here.

| what | where |
|---|---|
| listen, and say so | `serve` |
| the lines that connect a client | `connect` |
| why a place cannot be listened on | `listen_address` |
"""

from __future__ import annotations

from clawft.cli.parser import Parser, Verb, common_options, wrong_value

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8765
MAX_PORT = 65_535


def _options(parser: Parser) -> None:
    parser.add_argument(
        "--host", metavar="ADDRESS", type=host, default=DEFAULT_HOST, help=f"where to listen (default: {DEFAULT_HOST})"
    )
    parser.add_argument(
        "--port", metavar="N", type=port, default=DEFAULT_PORT, help=f"0 for any free port (default: {DEFAULT_PORT})"
    )
    parser.add_argument("--no-auth", action="store_true", help="require no token; on loopback only")
    parser.add_argument("--json", action="store_true", help="print the address and token as one line of JSON")
    common_options(parser)


def host(text: str) -> str:
    """Without the brackets that an IPv6 address has in a URL. An empty one would be every address of this machine."""
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if not bare:
        raise wrong_value(f"an address is missing; {DEFAULT_HOST} is this machine alone")
    return bare


def port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= MAX_PORT):
        raise wrong_value(f"a port is 0 to {MAX_PORT}, not {text!r}")
    return int(text)


VERBS = {"": Verb("Serve MCP over HTTP", _options, "clawft.cli.gateway.serve")}
