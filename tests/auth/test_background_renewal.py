"""While a token is still good, nobody waits for its renewal: it runs beside the calls."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from clawft.auth.endpoint import TokenRefused
from clawft.auth.renewal import Renewal
from clawft.auth.tokens import AuthServer, Login, OAuthClient, TokenSet
from clawft.auth.vault import Vault
from tests.requirements import requirement
from tests.servers.rogue_issuer import Asked, Rogue, rogue_issuer

pytestmark = [pytest.mark.timeout(60), requirement("OAUTH-20", "OAUTH-11")]

AT_ONCE_S = 5.0
"""A renewal that is held takes longer by far."""
SOON_S = 30.0
GIVEN = {"access_token": "new", "refresh_token": "next", "token_type": "Bearer", "expires_in": 3_600}


class Held:
    """A token endpoint that answers when it is let go."""

    def __init__(self, rogue: Rogue) -> None:
        self.rogue = rogue
        self.reached = asyncio.Event()
        self.let_go = asyncio.Event()

    async def pause(self) -> None:
        self.reached.set()
        await self.let_go.wait()


@asynccontextmanager
async def held_issuer() -> AsyncGenerator[Held]:
    async with rogue_issuer({"/token": GIVEN}) as rogue:
        held = Held(rogue)
        rogue.before["/token"] = held.pause
        try:
            yield held
        finally:
            held.let_go.set()


def login_at(rogue: Rogue, vault: Vault, seconds_left: float) -> Login:
    now = int(time.time())
    server = AuthServer(issuer=rogue.site, token_endpoint=f"{rogue.site}/token")
    token = TokenSet("old", refresh_token="first", expires_at=now + int(seconds_left), provider_name="mine")
    login = Login(token, server, OAuthClient("me"), obtained_at=now - 3_600)
    vault.write("mine", login)
    return login


async def until_renewed(renewal: Renewal, login: Login) -> Login:
    async with asyncio.timeout(SOON_S):
        while (newest := await renewal.fresh("mine", login)) == login:  # noqa: ASYNC110 - as calls do
            await asyncio.sleep(0.01)
    return newest


async def test_calls_go_on_with_the_good_token_and_one_renewal_runs_beside_them(vault: Vault) -> None:
    async with held_issuer() as held:
        due = login_at(held.rogue, vault, 30)
        renewal = Renewal(vault)
        for _ in range(3):
            async with asyncio.timeout(AT_ONCE_S):
                assert await asyncio.gather(*(renewal.fresh("mine", due) for _ in range(20))) == [due] * 20
            await asyncio.wait_for(held.reached.wait(), SOON_S)
        held.let_go.set()
        assert (await until_renewed(renewal, due)).tokens.access_token == "new"
        assert vault.read("mine")[0].tokens.refresh_token == "next"
        assert len(held.rogue.asked_at("/token")) == 1


async def test_once_the_token_has_ended_calls_wait_for_the_renewal_that_runs(vault: Vault) -> None:
    async with held_issuer() as held:
        due = login_at(held.rogue, vault, 30)
        renewal = Renewal(vault)
        await renewal.fresh("mine", due)
        await asyncio.wait_for(held.reached.wait(), SOON_S)
        over = login_at(held.rogue, vault, -1)
        waiting = asyncio.create_task(renewal.fresh("mine", over))
        assert await asyncio.wait([waiting], timeout=0.2) == (set(), {waiting})
        held.let_go.set()
        assert (await asyncio.wait_for(waiting, SOON_S)).tokens.access_token == "new"
        assert len(held.rogue.asked_at("/token")) == 1


async def test_what_another_process_renewed_is_taken_without_asking_again(vault: Vault) -> None:
    async with rogue_issuer({"/token": GIVEN}) as rogue:
        due = login_at(rogue, vault, 30)
        await until_renewed(Renewal(vault), due)
        assert (await until_renewed(Renewal(vault), due)).tokens.access_token == "new"
        assert len(rogue.asked_at("/token")) == 1


async def test_a_login_that_was_ended_is_told_to_the_calls_that_come_after_and_asked_for_once(vault: Vault) -> None:
    async with rogue_issuer({"/token": refused}) as rogue:
        due = login_at(rogue, vault, 30)
        renewal = Renewal(vault)
        with pytest.raises(TokenRefused, match="invalid_grant") as told:
            await until_renewed(renewal, due)
        assert told.value.hint == "weft auth login mine"
        for _ in range(5):
            with pytest.raises(TokenRefused, match="invalid_grant"):
                await renewal.fresh("mine", due)
        assert len(rogue.asked_at("/token")) == 1


def refused(asked: Asked) -> web.Response:
    return web.json_response({"error": "invalid_grant"}, status=400)


async def test_an_issuer_that_is_away_is_asked_again_after_a_pause(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawft.auth.background_renewal.PAUSE_SECONDS", 1_000.0)
    async with rogue_issuer({"/token": lambda asked: web.Response(status=503)}) as rogue:
        due = login_at(rogue, vault, 30)
        renewal = Renewal(vault)
        assert await renewal.fresh("mine", due) == due
        await asyncio.wait(renewal.running, timeout=SOON_S)
        asked = len(rogue.asked_at("/token"))
        assert asked
        assert await asyncio.gather(*(renewal.fresh("mine", due) for _ in range(20))) == [due] * 20
        assert renewal.running == []

        rogue.replace("/token", GIVEN)
        monkeypatch.setattr("clawft.auth.background_renewal.PAUSE_SECONDS", 0.0)
        assert (await until_renewed(renewal, due)).tokens.access_token == "new"
        assert len(rogue.asked_at("/token")) == asked + 1


async def test_no_task_is_left_behind_and_the_login_is_renewed_all_the_same(vault: Vault) -> None:
    """As with `kill -9`: what is under way is finished by its helper, which holds the lock."""
    async with held_issuer() as held:
        due = login_at(held.rogue, vault, 30)
        renewal = Renewal(vault)
        await renewal.fresh("mine", due)
        await asyncio.wait_for(held.reached.wait(), SOON_S)
        assert renewal.running
        await renewal.close()
        assert renewal.running == []
        held.let_go.set()
        assert (await until_renewed(Renewal(vault), due)).tokens.access_token == "new"
        assert len(held.rogue.asked_at("/token")) == 1
