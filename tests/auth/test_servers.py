"""Logins to protected MCP servers, from outside: the real `weft`, the official SDK's server, a real provider."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from clawft.auth.vault import Vault
from tests.auth.logins import WEFT_SECONDS, allow, expire, weft, weft_says
from tests.requirements import requirement
from tests.servers.idp import Idp, idp, log_in
from tests.servers.pipe import Json, Pipe, mcp_server, text_of
from tests.servers.protected import Protected, protected

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), requirement("LINK-26")]

SOON_S = 30.0


def guarded(home: Path) -> tuple[Idp, Protected]:
    """A provider, and a server it protects, configured as `locked`."""
    provider = idp()
    server = protected(provider.issuer)
    folder = home / "mcp_servers"
    folder.mkdir(parents=True)
    (folder / "locked.toml").write_text(f'name = "locked"\nurl = "{server.url}"\ntrust = "trusted"\n')
    allow(home, provider.issuer)
    return provider, server


async def log_in_to_locked(home: Path) -> str:
    """`weft auth login locked`, with somebody at the browser."""
    process = await weft(home, "auth", "login", "locked", "--no-browser")
    assert process.stdout is not None
    async with asyncio.timeout(WEFT_SECONDS):
        line = (await process.stdout.readline()).decode()
        assert line.startswith("log in here: "), line + (await process.stdout.read()).decode()
        await log_in(line.removeprefix("log in here: ").strip() + "&prompt=consent")
        said, _ = await process.communicate()
    assert process.returncode == 0, said
    return said.decode()


async def test_a_server_that_wants_a_login_says_so_and_how(home: Path) -> None:
    guarded(home)
    code, said = await weft_says(home, "servers", "status", "locked", "--json")
    row = json.loads(said)
    assert (code, row["state"]) == (1, "needs-auth")
    assert row["next"] == "weft auth login locked"


async def test_after_the_login_its_tools_work(home: Path, vault: Vault) -> None:
    provider, server = guarded(home)
    assert await log_in_to_locked(home) == "logged in: locked\n"
    code, said = await weft_says(home, "tools", "call", "locked__hello")
    assert (code, "hello from behind the lock" in said) == (0, True)
    login = vault.servers.read("locked")[0]
    assert (login.resource, login.server.issuer) == (server.url, provider.issuer)
    assert login.tokens.access_token not in said


async def test_a_restart_with_an_expired_token_needs_no_person_and_leaks_nothing(home: Path, vault: Vault) -> None:
    """Where the official SDK fails twice: it logs in anew, and posts the refresh token to the server itself."""
    provider, server = guarded(home)
    await log_in_to_locked(home)
    expire(vault.servers, "locked")
    code, said = await weft_says(home, "tools", "call", "locked__hello")
    assert (code, "hello from behind the lock" in said) == (0, True)
    assert provider.given("authorization_code") == 1
    assert provider.given("refresh_token") == 1
    assert [line for line in server.lines if line.startswith("ASKED")] == []


async def test_a_token_the_server_refuses_is_renewed_once_and_then_used(home: Path, vault: Vault) -> None:
    """Our clock says it is good; the server does not think so."""
    provider, _ = guarded(home)
    await log_in_to_locked(home)
    login = vault.servers.read("locked")[0]
    spoiled = msgspec.structs.replace(login.tokens, access_token="spoiled")
    vault.servers.write("locked", msgspec.structs.replace(login, tokens=spoiled))
    code, _ = await weft_says(home, "tools", "call", "locked__hello")
    assert code == 0
    assert provider.given("refresh_token") == 1
    assert provider.given("authorization_code") == 1


async def test_a_login_reaches_every_weft_that_runs_already(home: Path, tmp_path: Path) -> None:
    guarded(home)
    async with mcp_server(tmp_path) as one, mcp_server(tmp_path) as two:
        for pipe in (one, two):
            await pipe.open()
            assert "locked__hello" not in await names(pipe)
        await log_in_to_locked(home)
        for pipe in (one, two):
            await until_listed(pipe)
            assert text_of(await hello(pipe)) == "hello from behind the lock"


async def test_a_login_to_a_server_that_only_a_running_weft_knows(home: Path, tmp_path: Path) -> None:
    """It came on the command line of that weft, as editors bring theirs."""
    _, server = guarded(home)
    (home / "mcp_servers" / "locked.toml").unlink()
    async with mcp_server(
        tmp_path, "--mcp-config", json.dumps({"mcpServers": {"locked": {"url": server.url}}})
    ) as pipe:
        await pipe.open()
        async with asyncio.timeout(SOON_S):
            while not any((home / "running").glob("*.sock")):  # noqa: ASYNC110 - a file has no event
                await asyncio.sleep(0.1)
        assert await log_in_to_locked(home) == "logged in: locked\n"
        await until_listed(pipe)


async def names(pipe: Pipe) -> list[str]:
    return [tool["name"] for tool in (await pipe.ask("tools/list"))["result"]["tools"]]


async def test_a_running_weft_offers_an_address_to_log_in_at(home: Path, tmp_path: Path) -> None:
    """In the status of every other weft, until somebody uses it; then the server is there without anything further."""
    guarded(home)
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()
        row: Json = {}
        async with asyncio.timeout(SOON_S * 2):
            while not row.get("login"):
                row = json.loads((await weft_says(home, "servers", "status", "locked", "--json"))[1])
        assert row["state"] == "needs-auth"
        assert f"log in here: {row['login']}" in row["error"]
        await log_in(row["login"] + "&prompt=consent")
        await until_listed(pipe)
        assert list((home / "logins").iterdir()) == []


async def test_an_agent_that_can_show_an_address_is_given_it(home: Path, tmp_path: Path, vault: Vault) -> None:
    """Its tools are known from before; the login has been ended since."""
    guarded(home)
    async with mcp_server(tmp_path) as pipe:
        await pipe.open(elicitation={"url": {}})
        await log_in_to_locked(home)
        await until_listed(pipe)
        await weft_says(home, "auth", "logout", "locked")
        async with asyncio.timeout(SOON_S):
            answer = await hello(pipe)
            while answer.get("error", {}).get("code") != -32042:
                answer = await hello(pipe)
        [wanted] = answer["error"]["data"]["elicitations"]
        await log_in(wanted["url"] + "&prompt=consent")
        async with asyncio.timeout(SOON_S):
            answer = await hello(pipe)
            while "error" in answer or answer["result"].get("isError"):
                answer = await hello(pipe)
        assert text_of(answer) == "hello from behind the lock"


async def hello(pipe: Pipe) -> Json:
    return await pipe.ask("tools/call", {"name": "locked__hello", "arguments": {}})


async def until_listed(pipe: Pipe) -> None:
    async with asyncio.timeout(SOON_S):
        while "locked__hello" not in await names(pipe):  # noqa: ASYNC110 - asking is how one finds out
            await asyncio.sleep(0.2)


async def test_logging_out_ends_it_here_and_there(home: Path, vault: Vault) -> None:
    guarded(home)
    await log_in_to_locked(home)
    assert await weft_says(home, "auth", "logout", "locked") == (0, "logged out: locked\n")
    assert vault.servers.read("locked") == []
    _, said = await weft_says(home, "servers", "status", "locked", "--json")
    assert json.loads(said)["state"] == "needs-auth"
