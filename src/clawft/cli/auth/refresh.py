"""`weft auth refresh`: a login is renewed now."""

from __future__ import annotations

import asyncio

from clawft.auth.renewal import Renewal
from clawft.cli.auth.logins import find
from clawft.cli.main import begin_loop
from clawft.cli.parser import Options


def run(options: Options) -> int:
    where, logins = find(options.name)

    async def renew() -> None:
        for login in logins:
            await Renewal(where).renew(options.name, login)

    begin_loop(asyncio.run, renew())
    print(f"renewed: {options.name}")
    return 0
