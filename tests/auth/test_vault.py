"""The token store: private from the first moment, whole or not at all, never outside its folder."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from clawft.auth.tokens import AuthServer, Login, OAuthClient, TokenSet
from clawft.auth.vault import MAX_LOGIN_BYTES, MAX_LOGINS, Vault, kept_secret
from clawft.errors import ExecutionFailed, InvalidArguments, LoginFailed
from clawft.store.secrets import resolve
from tests.requirements import requirement

TOKEN = TokenSet("access", refresh_token="refresh", expires_at=1, scopes=("a",), provider_name="google")


def mode(path: Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@requirement("test_store_load_token_roundtrip")
async def test_what_is_stored_comes_back(vault: Vault, home: Path) -> None:
    await vault.store_token(TOKEN)
    assert await vault.load_token("google") == TOKEN
    assert (home / "tokens" / "google.json").is_file()
    assert await vault.load_token("github") is None


@requirement("test_token_file_permissions_unix", "F6-A04")
async def test_nobody_else_may_read_it_whatever_the_umask(vault: Vault, home: Path) -> None:
    before = os.umask(0)
    try:
        await vault.store_token(TOKEN)
        reference = kept_secret(vault, "a secret")
    finally:
        os.umask(before)
    assert mode(home / "tokens") == 0o700
    for path in (home / "tokens").rglob("*"):
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path
    assert resolve(reference) == "a secret"


@requirement("OAUTH-05")
async def test_the_file_is_private_before_it_holds_anything(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: read the file between its making and its protection."""
    seen: list[int] = []
    write = os.write

    def watched(descriptor: int, data: bytes) -> int:
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", watched)
    await vault.store_token(TOKEN)
    assert set(seen) == {0o600}


@requirement("OAUTH-05", "test_delete_token")
@pytest.mark.parametrize("forgets", [True, False])
async def test_what_a_killed_writer_left_does_not_stay(vault: Vault, home: Path, forgets: bool) -> None:
    """It may hold a token that nobody would look for any more."""
    await vault.store_token(TOKEN)
    left = home / "tokens" / ".tmp-0123"
    left.write_bytes(b"refresh")
    await (vault.delete("google") if forgets else vault.store_token(TOKEN))
    assert not left.exists()


@requirement("test_delete_token")
async def test_deleting_twice_is_no_error(vault: Vault) -> None:
    await vault.store_token(TOKEN)
    await vault.delete_token("google")
    await vault.delete_token("google")
    assert await vault.load_token("google") is None


@requirement("test_provider_name_sanitized", "F6-A11")
@pytest.mark.parametrize("name", ["../evil", "a/b", "a\\b", "a\0b", "..", ".", "", "a b", "é", ".hidden", "x" * 129])
async def test_a_name_that_leads_elsewhere_is_refused(vault: Vault, name: str, home: Path) -> None:
    with pytest.raises(InvalidArguments, match="cannot be the name"):
        await vault.load(name)
    with pytest.raises(InvalidArguments):
        await vault.save(name, Login(TOKEN))
    assert not home.exists()


@requirement("OAUTH-06")
async def test_logins_differ_by_issuer_client_account_and_resource(vault: Vault) -> None:
    base = Login(TOKEN, AuthServer(issuer="https://a"), OAuthClient("one"), account="ada", resource="https://r")
    others = [
        Login(TOKEN, AuthServer(issuer="https://b"), OAuthClient("one"), account="ada", resource="https://r"),
        Login(TOKEN, AuthServer(issuer="https://a"), OAuthClient("two"), account="ada", resource="https://r"),
        Login(TOKEN, AuthServer(issuer="https://a"), OAuthClient("one"), account="bob", resource="https://r"),
        Login(TOKEN, AuthServer(issuer="https://a"), OAuthClient("one"), account="ada", resource="https://s"),
    ]
    for login in (base, *others, base):
        await vault.save("x", login)
    kept = await vault.load("x")
    assert len(kept) == 5
    assert kept[0] == base


@requirement("OAUTH-06")
async def test_the_oldest_login_makes_room(vault: Vault) -> None:
    for number in range(MAX_LOGINS + 3):
        await vault.save("x", Login(TOKEN, account=str(number)))
    kept = await vault.load("x")
    assert len(kept) == MAX_LOGINS
    assert kept[0].account == str(MAX_LOGINS + 2)


@requirement("OAUTH-05")
async def test_concurrent_writers_lose_nothing(vault: Vault) -> None:
    await asyncio.gather(*(Vault(vault.folder).save("x", Login(TOKEN, account=str(n))) for n in range(20)))
    assert {login.account for login in await vault.load("x")} == {str(n) for n in range(20)}


@requirement("OAUTH-06")
async def test_a_damaged_file_is_named_with_the_way_out(vault: Vault) -> None:
    await vault.store_token(TOKEN)
    vault.path("google").write_text("{")
    with pytest.raises(ExecutionFailed, match="damaged") as failed:
        await vault.load("google")
    assert "weft auth logout google" in failed.value.hint


@requirement("LINK-26")
async def test_a_server_and_a_provider_may_share_a_name(vault: Vault) -> None:
    await vault.save("github", Login(TOKEN, account="provider"))
    await vault.servers.save("github", Login(TOKEN, account="server"))
    assert (await vault.load("github"))[0].account == "provider"
    assert (await vault.servers.load("github"))[0].account == "server"
    assert vault.names() == ["github"]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not say which file a descriptor is")
@requirement("OAUTH-11")
def test_a_login_is_on_the_platter_in_the_right_order(
    vault: Vault, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that ends at any moment finds the old login or the new one, and the folder they are in."""
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        done.append("the content" if path.is_file() else f"the folder {path.relative_to(home.parent)}")
        fsync(descriptor)

    def renamed(source: Path, target: Path) -> None:
        done.append(f"rename to {target.name}")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    vault.servers.write("linear", Login(TOKEN))
    folders = ["the folder .", "the folder home", "the folder home/tokens"]
    written = ["the content", "rename to linear.json", "the folder home/tokens/servers"]
    assert done == [*folders, *written]
    done.clear()
    vault.servers.write("linear", Login(TOKEN, obtained_at=2))
    assert done == written


@requirement("OAUTH-05")
def test_a_login_too_large_to_be_kept_costs_no_other(vault: Vault) -> None:
    """Twenty of them made the file longer than we read, and so unreadable."""
    honest = Login(TOKEN, AuthServer(issuer="https://honest.example"), OAuthClient("x"))
    vault.write("generic", honest)
    huge = Login(TOKEN, AuthServer(issuer="https://greedy.example", token_endpoint="x" * MAX_LOGIN_BYTES))
    with pytest.raises(LoginFailed, match=f"takes more than {MAX_LOGIN_BYTES} bytes"):
        vault.write("generic", huge)
    large = AuthServer(token_endpoint="x" * (MAX_LOGIN_BYTES - 1_000))
    for number in range(MAX_LOGINS - 1):
        vault.write("generic", Login(TOKEN, large, OAuthClient(f"client {number}")))
    assert vault.read("generic")[-1] == honest
