"""`weft auth login NAME`: through the browser and back to a listener of ours, or by a code typed elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from clawft.auth.tokens import Login
from clawft.cli.auth.hosts import read_hosts
from clawft.cli.auth.server import server_of
from clawft.cli.main import begin_loop
from clawft.cli.parser import Options, WrongUsage
from clawft.cli.screen import one_line
from clawft.config.places import ask_to_reconnect, home_folder
from clawft.store.concealed_secrets import conceal
from clawft.upstream.spec import UpstreamSpec


def run(told: Options) -> int:
    if told.client_secret and not told.client_secret.startswith("secret://"):
        raise WrongUsage(
            "--client-secret takes a reference: everyone on this machine can see a command line",
            hint="put it into a variable and use --client-secret secret://env/NAME",
        )
    told.host = read_hosts(told.host, f"weft auth login {told.name} --host")
    server = server_of(told)
    made = begin_loop(asyncio.run, _way(told, server))
    if server is not None:
        ask_to_reconnect(home_folder(), server.name)
    print(f"logged in: {told.name}{f' as {one_line(conceal(made.account))}' if made.account else ''}")
    return 0


def _way(told: Options, server: UpstreamSpec | None) -> Coroutine[Any, Any, Login]:
    """One of the two; what brings the other is not loaded."""
    if server is None:
        from clawft.cli.auth.service_login import to_service  # brings what asks a service for its places

        return to_service(told)
    from clawft.cli.auth.server_login import to_server  # brings the client side

    return to_server(told, server)
