"""`weft gateway`: serve over HTTP, and print the lines that connect a client to it."""

from __future__ import annotations

import errno
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clawft.cli.house import with_app
from clawft.cli.parser import Options, Parser, Verb, WrongUsage, common_options
from clawft.cli.screen import paint
from clawft.errors import ClawftError, quoted

if TYPE_CHECKING:  # help needs none of it
    from clawft.app import App

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8765
MAX_PORT = 65_535
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - read, not bound
"""Where all addresses of this machine are listened on, and one of them that a client here can use."""


class CannotListen(ClawftError):
    blame = "the machine"


def _options(parser: Parser) -> None:
    parser.add_argument(
        "--host", metavar="ADDRESS", type=host, default=DEFAULT_HOST, help=f"where to listen (default: {DEFAULT_HOST})"
    )
    parser.add_argument(
        "--port", metavar="N", type=port, default=DEFAULT_PORT, help=f"0: any free one (default: {DEFAULT_PORT})"
    )
    parser.add_argument("--no-auth", action="store_true", help="ask for no token; on loopback only")
    parser.add_argument("--json", action="store_true", help="print the address and token as one line of JSON")
    common_options(parser)


def host(text: str) -> str:
    """Without the brackets that an IPv6 address has in a URL. An empty one would be every address of this machine."""
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if not bare:
        from argparse import ArgumentTypeError  # only to complain

        raise ArgumentTypeError(f"an address is missing; {DEFAULT_HOST} is this machine alone")
    return bare


def port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= MAX_PORT):
        from argparse import ArgumentTypeError  # only to complain

        raise ArgumentTypeError(f"a port is 0 to {MAX_PORT}, not {text!r}")
    return int(text)


def _serve(options: Options) -> int:
    from clawft.policy.address import is_loopback  # only where one serves

    if options.no_auth and not is_loopback(options.host):
        raise WrongUsage(
            f"--no-auth on {options.host} would open every tool to the network",
            hint="leave out --no-auth, or listen on 127.0.0.1",
        )
    return with_app(options, lambda app: _listen(app, options), servers=False)


async def _listen(app: App, options: Options) -> int:
    from clawft.app import gateway_token  # loaded by now

    token = None if options.no_auth else gateway_token(app.settings.home)
    listening = False

    def announce(url: str) -> None:
        nonlocal listening
        listening = True
        _announce(url, token, app, options)

    try:
        return await app.serve_http(options.host, options.port, token, announce)
    except OSError as failure:
        if listening:  # a disk that is full, where the lines are to be written
            raise
        raise cannot_listen(failure, place(options.host, options.port)) from failure


def place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def cannot_listen(failure: OSError, where: str) -> CannotListen:
    match failure.errno:
        case errno.EADDRINUSE:
            return CannotListen(f"{where} is in use", hint="weft gateway --port 0 takes a free one, --port N another")
        case errno.EACCES | errno.EPERM:
            return CannotListen(f"{where} needs more rights", hint="choose a port above 1023, like --port 8765")
        case _:  # a name that does not resolve, an address of another machine, a family that is switched off
            reason = failure.strerror or str(failure)
            hint = "--host 127.0.0.1, or 0.0.0.0 for all addresses of this machine"
            return CannotListen(f"{where} cannot be listened on: {reason}", hint=hint)


def _announce(url: str, token: str | None, app: App, options: Options) -> None:
    from clawft.app import token_file  # loaded by now

    url, everywhere = from_here(url)
    file = token_file(app.settings.home)
    lines = connect_lines(url, token, None if options.json or sys.stdout.isatty() else file)
    if options.json:
        said = msgspec.json.encode({"url": url, "token": token, "connect": lines}).decode()
    else:
        clients = "".join(f"{paint(client, 'dim')}\n  {line}\n\n" for client, line in lines.items())
        others = "Other machines reach it too, by a name or address of this one.\n" if everywhere else ""
        kept = "" if token is None else f" The token is kept in {file}."
        said = f"weft gateway is ready at {paint(url, 'bold')}\n\n{clients}{others}Ctrl-C stops it.{kept}"
    try:
        print(said, flush=True)
    except BrokenPipeError:
        pass  # nobody reads it; serving is what we were asked for


def from_here(url: str) -> tuple[str, bool]:
    """The address for clients on this machine, and whether others reach it as well: nobody connects to 0.0.0.0."""
    for everywhere, here in EVERYWHERE.items():
        if url.startswith(f"http://{everywhere}:"):
            return url.replace(everywhere, here, 1), True
    return url, False


def connect_lines(url: str, token: str | None, file: Path | None = None) -> Mapping[str, str]:
    """What to type for each client, ready to paste into a shell, or into the file that is named.

    `file`: what has the token, and is named in its place, because a log is read by others as well.
    """
    read = f"$(cat {quoted(file)})" if file else ""
    header = f' --header "Authorization: Bearer {read or token}"' if token else ""
    cursor = _with_bearer(url, token and (f"<the token of {file}>" if file else token))
    server = {"name": "weft", "type": "http", **_with_bearer(url, token and (_HERE if file else token))}
    added = msgspec.json.encode(server).decode().replace(_HERE, f"'\"{read}\"'")
    inspector = f"npx @modelcontextprotocol/inspector --cli {url} --transport http --method tools/list"
    return {
        "Claude Code": f"claude mcp add --transport http weft {url}{header}",
        "VS Code": f"code --add-mcp '{added}'",
        "Cursor, in .cursor/mcp.json": msgspec.json.encode({"mcpServers": {"weft": cursor}}).decode(),
        "Inspector": f"{inspector}{header}",
    }


_HERE = "TOKEN-OF-THE-FILE"


def _with_bearer(url: str, token: str | None) -> dict[str, Any]:
    return {"url": url, **({"headers": {"Authorization": f"Bearer {token}"}} if token else {})}


VERBS = {"": Verb("Serve MCP over HTTP", _options, _serve)}
