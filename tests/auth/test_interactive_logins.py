"""Logins that are begun and never finished: so many, and nothing is left of those that could not begin."""

import asyncio
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from clawft.auth import interactive_logins as desks
from clawft.auth.flow import LoginFlow
from clawft.auth.tokens import AuthServer, Login, OAuthClient
from clawft.auth.vault import Vault
from clawft.errors import LoginFailed
from clawft.store.memory import MemoryStore
from tests.auth.logins import interactive_logins
from tests.requirements import requirement
from tests.servers.rogue_issuer import Asked, Rogue, rogue_issuer

pytestmark = requirement("OAUTH-22")

DEVICE = {"device_code": "d", "user_code": "ABCD", "verification_uri": "https://login.example/device"}


def pending(asked: Asked) -> web.Response:
    return web.json_response({"error": "authorization_pending"}, status=400)


def flow_to(rogue: Rogue) -> LoginFlow:
    server = AuthServer(token_endpoint=f"{rogue.site}/token", device_authorization_endpoint=f"{rogue.site}/device")
    return LoginFlow("mine", server, OAuthClient("me"), "", near=rogue.site)


async def test_codes_that_nobody_types_have_a_bound(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each of them a server is asked every few seconds."""
    monkeypatch.setattr(desks, "MAX_CODES", 3)
    here = interactive_logins()
    async with rogue_issuer({"/device": DEVICE, "/token": pending}) as rogue:
        asked = [here.begin_device(vault, flow_to(rogue)) for _ in range(5)]
        begun = await asyncio.gather(*asked, return_exceptions=True)
        waiting = [each[1] for each in begun if not isinstance(each, BaseException)]
        refused = [str(each) for each in begun if isinstance(each, LoginFailed)]
        assert (len(waiting), len(refused)) == (3, 2)
        assert "3 device codes are already waiting to be entered" in refused[0]
        await ended(waiting.pop())
        waiting.append((await here.begin_device(vault, flow_to(rogue)))[1])
        for task in waiting:
            await ended(task)


async def test_one_person_does_not_take_the_codes_of_all_others(
    tmp_path: Path, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desks, "MAX_CODES", 4)
    here, other = interactive_logins(), Vault(tmp_path / "other")
    async with rogue_issuer({"/device": DEVICE, "/token": pending}) as rogue:
        greedy = [(await here.begin_device(vault, flow_to(rogue)))[1] for _ in range(4)]
        modest = [(await here.begin_device(other, flow_to(rogue)))[1] for _ in range(2)]
        with pytest.raises(LoginFailed, match="4 device codes are"):  # as many as the other has
            await here.begin_device(other, flow_to(rogue))
        for task in greedy[:2]:
            with pytest.raises(LoginFailed, match="gave way to logins of others"):
                await task
        assert not any(task.done() for task in (*greedy[2:], *modest))
        for task in (*greedy[2:], *modest):
            await ended(task)


async def ended(task: asyncio.Task[Login]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_a_device_login_that_cannot_begin_takes_no_place(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desks, "MAX_CODES", 1)
    here = interactive_logins()
    async with rogue_issuer({}) as rogue:
        for _ in range(3):
            with pytest.raises(LoginFailed, match="gives no code"):
                await here.begin_device(vault, flow_to(rogue))


async def test_a_login_that_cannot_begin_leaves_no_listener(vault: Vault) -> None:
    here, addresses = interactive_logins(), list[str]()

    def nowhere(address: str) -> LoginFlow:
        addresses.append(address)
        return LoginFlow("mine", AuthServer(), OAuthClient("me"), address)

    with pytest.raises(LoginFailed, match="names no authorization endpoint"):
        await here.begin_in_browser(MemoryStore(), vault, nowhere)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", urlsplit(addresses[0]).port)
