"""`weft gateway`: serve over HTTP, and print the lines that connect a client to it."""

from __future__ import annotations

import sys

import msgspec

from clawft.app import App, gateway_token, token_file
from clawft.cli.gateway.connect import connect_lines, from_here
from clawft.cli.gateway.listen_address import address_text, cannot_listen
from clawft.cli.parser import Options, WrongUsage
from clawft.cli.screen import paint
from clawft.cli.setup import warn_if_wide, with_app
from clawft.policy.address import is_loopback


def run(options: Options) -> int:
    if options.no_auth and not is_loopback(options.host):
        raise WrongUsage(
            f"--no-auth on {options.host} would open every tool to the network",
            hint="leave out --no-auth, or listen on 127.0.0.1",
        )
    return with_app(options, lambda app: _listen(app, options), servers=False)


async def _listen(app: App, options: Options) -> int:
    token = None if options.no_auth else gateway_token(app.settings.home)
    listening = False
    warn_if_wide(app.settings.workspace)

    def announce(url: str) -> None:
        nonlocal listening
        listening = True
        _announce(url, token, app, options)

    try:
        return await app.serve_http(options.host, options.port, token, announce)
    except OSError as failure:
        if listening:  # a disk that is full, where the lines are to be written
            raise
        raise cannot_listen(failure, address_text(options.host, options.port)) from failure


def _announce(url: str, token: str | None, app: App, options: Options) -> None:
    url, everywhere = from_here(url)
    file = token_file(app.settings.home)
    lines = connect_lines(url, token, None if options.json or sys.stdout.isatty() else file)
    if options.json:
        said = msgspec.json.encode({"url": url, "token": token, "connect": lines}).decode()
    else:
        clients = "".join(f"{paint(client, 'dim')}\n  {line}\n\n" for client, line in lines.items())
        others = "Other machines reach it too, by a name or address of this one.\n" if everywhere else ""
        kept = "" if token is None else f" The token is stored in {file}."
        said = f"weft gateway is ready at {paint(url, 'bold')}\n\n{clients}{others}Ctrl-C stops it.{kept}"
    try:
        print(said, flush=True)
    except BrokenPipeError:
        pass  # nobody reads it; serving is what we were asked for
