"""Renewals against a real provider with rotation and replay detection: once, by whoever asks, and never lost."""

import asyncio
import errno
import os
import random
import signal
import sys
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
import psutil
import pytest
from aiohttp import web as http

from clawft.auth import renewal as renewal_module
from clawft.auth.endpoint import TokenRefused
from clawft.auth.renewal import Renewal, digest_of, renew_here
from clawft.auth.tokens import AuthServer, Login, OAuthClient, TokenSet
from clawft.auth.vault import Vault
from clawft.auth.web import NotReached
from clawft.errors import LoginFailed
from tests.auth.logins import expire, logged_in, weft, weft_says
from tests.requirements import requirement
from tests.servers.idp import idp
from tests.servers.rogue_issuer import rogue_issuer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PROCESSES, CALLERS = 20, 5
PATIENCE_S = 60.0
RENEWER = Path(__file__).with_name("renewer.py")


@requirement("OAUTH-11", "F6-A09")
async def test_twenty_processes_with_five_callers_each_renew_once(vault: Vault) -> None:
    provider = idp()
    await logged_in(provider, vault)
    expire(vault)
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            str(RENEWER),
            str(vault.folder),
            "mine",
            str(CALLERS),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for _ in range(PROCESSES)
    ]
    async with asyncio.timeout(PATIENCE_S * 2):
        for process in processes:
            assert process.stdout is not None
            assert await process.stdout.readline() == b"READY\n"
        told = await asyncio.gather(*(process.communicate(b"go\n") for process in processes))
    tokens = [line for out, _ in told for line in out.split()]
    assert len(tokens) == PROCESSES * CALLERS
    assert len(set(tokens)) == 1
    assert provider.given("refresh_token") == 1
    assert provider.refused == []
    await Renewal(vault).renew("mine", vault.read("mine")[0])  # nobody was logged out
    assert provider.given("refresh_token") == 2


@requirement("OAUTH-11", "F6-A09")
async def test_the_rotated_token_is_on_disk_before_the_new_one_is_used(vault: Vault) -> None:
    provider = idp()
    before = await logged_in(provider, vault)
    after = await Renewal(vault).renew("mine", before)
    assert vault.read("mine")[0] == after
    assert after.tokens.refresh_token != before.tokens.refresh_token
    assert after.tokens.access_token != before.tokens.access_token


@requirement("OAUTH-11")
async def test_a_login_the_server_has_ended_says_how_to_begin_again(vault: Vault) -> None:
    """The provider sees an old refresh token again and takes everything away, as it should."""
    provider = idp()
    before = await logged_in(provider, vault)
    await Renewal(vault).renew("mine", before)
    vault.write("mine", before)
    with pytest.raises(TokenRefused) as refused:
        await Renewal(vault).renew("mine", before)
    assert refused.value.error == "invalid_grant"
    assert refused.value.hint == "weft auth login mine"
    assert str(before.tokens.refresh_token) not in str(refused.value)
    assert vault.read("mine")[0].refused


@requirement("OAUTH-11")
async def test_a_new_login_takes_the_place_of_one_the_server_has_ended(vault: Vault) -> None:
    provider = idp()
    before = await logged_in(provider, vault)
    elsewhere = msgspec.structs.replace(before, account="bob")
    vault.write("mine", elsewhere)
    vault.write("mine", before)
    await Renewal(vault).renew("mine", before)
    vault.write("mine", before)
    with pytest.raises(TokenRefused):
        await Renewal(vault).renew("mine", before)
    new = msgspec.structs.replace(before, client=OAuthClient("registered anew"))
    vault.write("mine", new)
    assert vault.read("mine") == [new, elsewhere]


@requirement("OAUTH-20")
async def test_a_good_token_is_used_while_the_provider_is_out_of_reach(vault: Vault) -> None:
    now = int(time.time())
    server = AuthServer(token_endpoint="http://127.0.0.1:9/token")
    due = Login(TokenSet("t", refresh_token="r", expires_at=now + 30), server, OAuthClient("x"), obtained_at=now - 3600)
    vault.write("mine", due)
    assert await Renewal(vault).fresh("mine", due) is due
    over = expire(vault)
    with pytest.raises(LoginFailed, match=r"127\.0\.0\.1:9"):
        await Renewal(vault).fresh("mine", over)


# ── kill -9 ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Between:
    """A token endpoint that passes everything on to the provider, and can stop before or after it has answered."""

    def __init__(self) -> None:
        self.url = ""
        self.hold = ""
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()

    async def pause(self, here: str) -> None:
        if self.hold == here:
            self.reached.set()
            await self.go_on.wait()


@asynccontextmanager
async def between(target: str) -> AsyncGenerator[Between]:
    held = Between()

    async def take(request: http.Request) -> http.Response:
        body = await request.read()
        await held.pause("before")
        async with (
            aiohttp.ClientSession() as client,
            client.post(target, data=body, headers={"Content-Type": request.content_type}) as answer,
        ):
            content, status = await answer.read(), answer.status
        await held.pause("after")
        return http.Response(body=content, status=status, content_type="application/json")

    app = http.Application()
    app.router.add_post("/token", take)
    runner = http.AppRunner(app, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    try:
        await http.TCPSite(runner, "127.0.0.1", 0).start()
        held.url = f"http://127.0.0.1:{runner.addresses[0][1]}/token"
        yield held
    finally:
        held.go_on.set()
        await runner.cleanup()


@requirement("OAUTH-11")
@pytest.mark.parametrize("where", ["before", "after"])
async def test_killed_around_the_providers_answer_the_login_survives(vault: Vault, home: Path, where: str) -> None:
    """`after` is the moment that loses logins: the provider has rotated, and nobody has the new token yet."""
    provider = idp()
    async with between(f"{provider.issuer}/token") as held:
        await logged_in(provider, vault)
        old = expire(vault, token_endpoint=held.url)
        held.hold = where
        victim = await weft(home, "auth", "refresh", "mine")
        async with asyncio.timeout(PATIENCE_S):
            await held.reached.wait()
        _nobody_shows(str(old.tokens.refresh_token), old.tokens.access_token)
        victim.send_signal(signal.SIGKILL)
        await victim.wait()
        held.hold = ""
        held.go_on.set()
        assert await weft_says(home, "auth", "refresh", "mine") == (0, "renewed: mine\n")
        assert provider.refused == []
        assert vault.read("mine")[0].tokens.refresh_token != old.tokens.refresh_token


@requirement("OAUTH-11")
async def test_an_answer_that_comes_when_nobody_waits_any_more_is_kept(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider has rotated, and says so late: asked with the old token again, it would end the whole login."""
    provider = idp()
    async with between(f"{provider.issuer}/token") as held:
        await logged_in(provider, vault)
        old = expire(vault, token_endpoint=held.url)
        held.hold = "after"
        renewal = Renewal(vault)
        monkeypatch.setattr(renewal_module, "CALL_SECONDS", 0.5)
        for _ in range(2):
            with pytest.raises(NotReached, match=r"mine: renewing the login takes more than 0\.5 s .*it continues"):
                await renewal.renew("mine", old)
        monkeypatch.undo()
        held.hold = ""
        held.go_on.set()
        fresh = await Renewal(vault).fresh("mine", old)
        assert fresh.tokens.refresh_token != old.tokens.refresh_token
        assert (await Renewal(vault).renew("mine", fresh)).tokens.access_token != fresh.tokens.access_token
        assert provider.refused == []
        assert [task for task in renewal.running if not task.done()] == []


def _nobody_shows(*secrets: str) -> None:
    """No process on this machine has any of them on its command line."""
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or ())
        assert not any(secret in line for secret in secrets)


@requirement("OAUTH-11")
async def test_killed_at_any_moment_of_a_renewal_the_login_survives(vault: Vault, home: Path) -> None:
    """From the first instruction to the last: the dice say when. Its helper is left alone, as the system leaves it."""
    dice = random.Random(7)
    provider = idp()
    await logged_in(provider, vault)
    for _ in range(12):
        expire(vault)
        victim = await weft(home, "auth", "refresh", "mine")
        try:
            async with asyncio.timeout(dice.uniform(0.0, 1.2)):
                await victim.wait()
        except TimeoutError:
            victim.send_signal(signal.SIGKILL)
            await victim.wait()
    assert await weft_says(home, "auth", "refresh", "mine") == (0, "renewed: mine\n")
    assert provider.refused == []


@requirement("OAUTH-11")
async def test_a_helper_killed_before_the_provider_heard_of_it_loses_nothing(vault: Vault, home: Path) -> None:
    provider = idp()
    async with between(f"{provider.issuer}/token") as held:
        await logged_in(provider, vault)
        expire(vault, token_endpoint=held.url)
        held.hold = "before"
        victim = await weft(home, "auth", "refresh", "mine")
        async with asyncio.timeout(PATIENCE_S):
            await held.reached.wait()
        helpers = [p for p in psutil.Process(victim.pid).children() if "clawft.auth.renewal_process" in p.cmdline()]
        os.kill(helpers[0].pid, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE_S):
            said, _ = await victim.communicate()
        assert (victim.returncode, b"weft auth login mine" in said) == (1, True)
        expire(vault, token_endpoint=f"{provider.issuer}/token")
        held.hold = ""
        assert await weft_says(home, "auth", "refresh", "mine") == (0, "renewed: mine\n")


@requirement("OAUTH-11", "QUAL-12")
async def test_a_provider_that_says_nothing_takes_no_place_of_others(vault: Vault) -> None:
    """There are few threads for all files of all servers; a silent one would hold one of them for a long time."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    async with between("") as silent:
        silent.hold = "before"
        token = TokenSet("t", refresh_token="r", expires_at=1)
        due = Login(token, AuthServer(token_endpoint=silent.url), OAuthClient("x"))
        vault.write("mine", due)
        renewing = asyncio.create_task(Renewal(vault).renew("mine", due))
        await asyncio.wait_for(silent.reached.wait(), PATIENCE_S)
        assert await asyncio.wait_for(vault.load("mine"), 5) == [due]
        renewing.cancel()


@requirement("OAUTH-11")
async def test_a_disk_without_room_costs_no_login(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: a disk that is full when the new token comes, while the server has ended the old one."""
    answer = {"access_token": "new", "refresh_token": "next", "token_type": "Bearer"}
    async with rogue_issuer({"/token": answer}) as rogue:
        server = AuthServer(issuer=rogue.site, token_endpoint=f"{rogue.site}/token")
        login = Login(TokenSet("old", refresh_token="first", provider_name="mine"), server, OAuthClient("me"))
        vault.write("mine", login)
        with monkeypatch.context() as full:
            full.setattr("clawft.auth.vault.write_all", no_space)
            with pytest.raises(NotReached, match="no room for a renewed login: No space"):
                await renew_here(vault, "mine", digest_of(login))
        assert rogue.asked_at("/token") == []
        await renew_here(vault, "mine", digest_of(login))
        assert vault.read("mine")[0].tokens.refresh_token == "next"
    assert sorted(path.name for path in vault.folder.iterdir()) == [".write.lock", "mine.json"]


@requirement("OAUTH-11")
async def test_a_good_token_is_used_while_the_disk_takes_nothing(vault: Vault) -> None:
    server = AuthServer(issuer="https://x.example", token_endpoint="https://x.example/token")
    token = TokenSet("good", refresh_token="first", expires_at=int(time.time()) + 30, provider_name="mine")
    login = Login(token, server, OAuthClient("me"))
    vault.write("mine", login)
    vault.lock("mine").mkdir()
    assert login.is_due(time.time())
    assert await Renewal(vault).fresh("mine", login) == login


def no_space(descriptor: int, data: bytes) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
