"""Logins that a person takes part in, in a browser or with a code: all of this process, through one listener."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from clawft.auth.device import DeviceCode, ask_for_code, check_code, poll
from clawft.auth.endpoint import ask_for_token, credentials_fields
from clawft.auth.flow import LIFETIME_S, AuthorizationResponse, AuthorizeResult, LoginFlow, begin, finish, login_of
from clawft.auth.login_slots import LoginSlots, evicted
from clawft.auth.redirect_listener import RedirectListener
from clawft.auth.renewal import Renewal
from clawft.auth.tokens import Login, TokenSet
from clawft.auth.vault import Vault
from clawft.auth.web import MakeWeb
from clawft.errors import ClawftError, LoginFailed
from clawft.store.base import KeyValueStore

MAX_CODES = 64
"""Device logins at a time: for each of them a server is asked again and again."""

log = logging.getLogger("clawft.auth")


class InteractiveLogins:
    def __init__(self, make_web: MakeWeb) -> None:
        self.make_web = make_web
        self.receiver = RedirectListener()
        self._renewals: dict[Path, Renewal] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._codes = LoginSlots(_full)
        """Device logins that wait for their code to be typed."""

    def renewal(self, vault: Vault) -> Renewal:
        """One for each folder, so that callers of this process share what is under way."""
        return self._renewals.setdefault(vault.folder, Renewal(vault))

    # ── through a browser ────────────────────────────────────────────────────────────────────────────────────────────

    async def begin_in_browser(
        self, store: KeyValueStore, vault: Vault, make_flow: Callable[[str], LoginFlow]
    ) -> tuple[AuthorizeResult, asyncio.Task[Login]]:
        """With our own listener as the redirect: the task finishes the login when the browser comes back."""
        address = await self.receiver.open()
        try:
            begun = await begin(store, make_flow(address))
            expected = self.receiver.expect(begun.state, str(vault.folder))
        except BaseException:
            self.receiver.take_back()
            raise
        return begun, asyncio.get_running_loop().create_task(self._when(expected, store, vault))

    async def _when(self, expected: asyncio.Future[AuthorizationResponse], store: KeyValueStore, vault: Vault) -> Login:
        async with asyncio.timeout(LIFETIME_S):
            returned = await expected
        return await self.finish(store, vault, returned)

    async def finish(self, store: KeyValueStore, vault: Vault, returned: AuthorizationResponse) -> Login:
        """Exchange and store, in this order, and only then tell anybody."""
        name, login = await finish(store, self.make_web, returned)
        await vault.save(name, login)
        return login

    # ── without one ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def client_credentials(self, vault: Vault, flow: LoginFlow) -> Login:
        fields = credentials_fields(flow.scopes, flow.resource)
        token, _ = await ask_for_token(self.make_web(flow.near), flow.server, flow.client, fields, flow.name)
        login = login_of(flow, token, "client_credentials")
        await vault.save(flow.name, login)
        return login

    async def begin_device(
        self, vault: Vault, flow: LoginFlow, *, own_page: bool = False
    ) -> tuple[DeviceCode, asyncio.Task[Login]]:
        """The code for the person, and the task that waits until it was typed.

        `own_page`: where it is typed must belong to whoever gets the login.
        """
        slot = self._codes.take(str(vault.folder), MAX_CODES)
        try:
            web = self.make_web(flow.near)
            code = await ask_for_code(web, flow.server, flow.client, flow.scopes, flow.resource)
            if own_page:
                check_code(code, flow.server)
            if slot.evicted:
                raise evicted()
        except BaseException:
            slot.leave()
            raise
        unfinished = login_of(flow, TokenSet("", provider_name=flow.name), "device_code")

        async def wait() -> Login:
            try:
                login = await poll(web, code, unfinished)
            except asyncio.CancelledError:
                if slot.evicted:
                    raise evicted() from None
                raise
            await vault.save(flow.name, login)
            return login

        typed = asyncio.get_running_loop().create_task(wait())
        typed.add_done_callback(lambda _: slot.leave())
        slot.give_up = typed.cancel
        return code, typed

    def finish_in_background(self, login: asyncio.Task[Login], name: str) -> None:
        """Let a login finish by itself, as whoever began it has been answered; log it if it fails."""

        async def watch() -> None:
            try:
                await login
            except (ClawftError, TimeoutError) as failed:
                log.warning("the login of %s failed: %s", name, failed)

        task = asyncio.get_running_loop().create_task(watch())
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def _full() -> LoginFailed:
    return LoginFailed(f"{MAX_CODES} device codes are already waiting to be entered", hint="type some of them")
