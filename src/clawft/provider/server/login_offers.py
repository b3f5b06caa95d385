"""Offers logins: a server that wants one gets an address to log in at, as long as it is wanted.

Only a weft that keeps running makes offers: the browser has to reach its listener. The address is part of the server's
state, is handed to agents that can show it, and lies in a file for `weft servers status`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from clawft.auth.challenge import read_challenge
from clawft.auth.flow import LIFETIME_S, begin
from clawft.auth.redirect_listener import RedirectListener
from clawft.auth.vault import check_name
from clawft.errors import ClawftError
from clawft.provider.server.logins import ServerLogins
from clawft.store.memory import MemoryStore
from clawft.store.private_files import private_dir, read_plain, write_private
from clawft.upstream.state import ServerState
from clawft.upstream.upstream import Upstream

MAX_OFFER_BYTES = 64 * 1024

log = logging.getLogger("clawft.auth")


class LoginOffer(Struct, frozen=True):
    url: str
    until: float
    pid: int


_offer = msgspec.json.Decoder(LoginOffer)


class LoginOffers:
    def __init__(self, folder: Path, logins: ServerLogins, logged_in: Callable[[str], None]) -> None:
        """`logged_in` is called with the name of a server that can now be connected."""
        self._folder = folder
        self._logins = logins
        self._logged_in = logged_in
        self._receiver = RedirectListener()
        self._open: dict[str, asyncio.Task[None]] = {}

    def state_changed(self, upstream: Upstream) -> None:
        """End the offer when the server is connected, and make one when it needs a login."""
        name = upstream.spec.name
        if upstream.state not in (ServerState.NEEDS_AUTH, ServerState.CONNECTED):
            return
        earlier = self._open.pop(name, None)
        if earlier is not None:
            earlier.cancel()
        if upstream.state is ServerState.NEEDS_AUTH and upstream.spec.url and upstream.spec.exchange is None:
            self._open[name] = asyncio.get_running_loop().create_task(self._serve(upstream, earlier))

    async def _serve(self, upstream: Upstream, earlier: asyncio.Task[None] | None) -> None:
        name = upstream.spec.name
        file = self._folder / f"{check_name(name)}.json"
        if earlier is not None:
            await asyncio.gather(earlier, return_exceptions=True)  # which removes its file
        try:
            async with asyncio.timeout(LIFETIME_S):
                await self._wait_for_person(upstream, file)
        except (ClawftError, TimeoutError) as failed:
            log.info("no login to %s is on offer: %s", name, failed)
        else:
            self._logged_in(name)
        finally:
            upstream.login_url = ""
            file.unlink(missing_ok=True)

    async def _wait_for_person(self, upstream: Upstream, file: Path) -> None:
        store = MemoryStore()
        login = self._logins.of(upstream.spec, store)
        address = await self._receiver.open()
        try:
            begun = await begin(store, await login.prepare(read_challenge(upstream.condition.challenge), address))
            expected = self._receiver.expect(begun.state)
        except BaseException:
            self._receiver.take_back()
            raise
        offer = LoginOffer(begun.authorize_url, time.time() + LIFETIME_S, os.getpid())
        private_dir(self._folder)
        write_private(file, msgspec.json.encode(offer))
        upstream.login_url = begun.authorize_url
        await login.finish(await expected)

    async def close(self) -> None:
        tasks = tuple(self._open.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._receiver.close()


def offered(folder: Path, name: str) -> str:
    """The address at which a running weft awaits the login for this server; empty if none does."""
    try:
        offer = _offer.decode(read_plain(folder / f"{check_name(name)}.json", MAX_OFFER_BYTES))
        os.kill(offer.pid, 0)
    except (OSError, OverflowError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return offer.url if time.time() < offer.until else ""
