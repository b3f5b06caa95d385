"""`weft auth` from outside: logging in to a service, looking, renewing, allowing, logging out, and doing it wrong."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from aiohttp import web

from clawft.auth.tokens import AuthServer, Login, OAuthClient, TokenSet
from clawft.auth.vault import Vault
from tests.auth.logins import WEFT_SECONDS, weft, weft_says
from tests.requirements import requirement
from tests.servers.idp import MACHINE_SECRET, idp, log_in
from tests.servers.pipe import Json
from tests.servers.rogue_issuer import Asked, Rogue, rogue_issuer

pytestmark = [requirement("OAUTH-22"), pytest.mark.slow]

CANARY = "canary-0d91"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def keep(home: Path) -> None:
    token = TokenSet(CANARY, refresh_token=CANARY, expires_at=int(time.time()) + 3600, scopes=("a",))
    Vault(home / "tokens").write(
        "mine", Login(token, AuthServer(issuer="https://a.example"), OAuthClient("x"), account="ada")
    )


async def with_a_person(home: Path, *words: str) -> str:
    """The command, with somebody who opens the first address it shows; its last line."""
    process = await weft(home, *words)
    assert process.stdout is not None
    async with asyncio.timeout(WEFT_SECONDS):
        line = (await process.stdout.readline()).decode()
        begun, address = line.startswith("log in here: "), line.strip().rpartition(" ")[2]
        await log_in(address + ("&prompt=consent" if begun else ""))
        said, _ = await process.communicate()
    assert process.returncode == 0, line + said.decode()
    return said.decode().splitlines()[-1]


async def test_a_service_from_login_to_logout(home: Path) -> None:
    provider = idp()
    known = ["--issuer", provider.issuer, "--client-id", "native"]
    scopes = [word for scope in ("openid", "offline_access", "api.read") for word in ("--scope", scope)]
    line = await with_a_person(home, "auth", "login", "mine", *known, *scopes, "--no-browser")
    assert line == "logged in: mine as ada"
    assert await with_a_person(home, "auth", "login", "mine", "--device") == "logged in: mine as ada"
    _, said = await weft_says(home, "auth", "status", "mine", "--json")
    [login] = json.loads(said)["logins"]
    assert (login["state"], login["account"], login["issuer"]) == ("good", "ada", provider.issuer)
    assert await weft_says(home, "auth", "refresh", "mine") == (0, "renewed: mine\n")
    assert await weft_says(home, "auth", "logout", "mine") == (0, "logged out: mine\n")
    assert Vault(home / "tokens").read("mine") == []


async def test_a_program_logs_in_with_a_secret_that_is_nowhere_to_be_seen(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT_SECRET", MACHINE_SECRET)
    provider = idp()
    words = ["--issuer", provider.issuer, "--client-id", "machine", "--scope", "api.read", "--client-credentials"]
    told = await weft_says(home, "auth", "login", "bot", *words, "--client-secret", "secret://env/BOT_SECRET")
    assert told == (0, "logged in: bot\n")
    kept = (home / "tokens" / "bot.json").read_text()
    assert MACHINE_SECRET not in kept
    assert await weft_says(home, "auth", "refresh", "bot") == (0, "renewed: bot\n")


async def test_a_secret_that_is_gone_does_not_keep_anybody_logged_in(home: Path) -> None:
    """It proves who we are to the server, and that is not told then; here the login ends all the same."""
    server = AuthServer(issuer="https://a.example", revocation_endpoint="https://a.example/revoke")
    client = OAuthClient("x", "secret://env/GONE_SECRET", "client_secret_post")
    for account in ("ada", "bob"):
        Vault(home / "tokens").write("mine", Login(TokenSet(CANARY), server, client, account=account))
    code, said = await weft_says(home, "auth", "logout", "mine")
    assert (code, said.count("deleted here, but was not revoked at the service"), "logged out: mine" in said) == (
        0,
        2,
        True,
    ), said
    assert Vault(home / "tokens").read("mine") == []


async def log_in_to(rogue: Rogue, home: Path, name: str) -> None:
    """`weft auth login NAME` for its server, with somebody who comes back at once."""
    (home / "mcp_servers").mkdir(parents=True, exist_ok=True)
    (home / "mcp_servers" / f"{name}.toml").write_text(f'url = "{rogue.server}"\n')
    process = await weft(home, "auth", "login", name, "--no-browser")
    assert process.stdout is not None
    async with asyncio.timeout(WEFT_SECONDS), aiohttp.ClientSession() as browser:
        asked = parse_qs(urlsplit((await process.stdout.readline()).decode().strip()).query)
        back = {"code": "c", "state": asked["state"][0]}
        await (await browser.get(asked["redirect_uri"][0], params=back)).read()
        said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()


async def test_a_logout_leaves_no_secret_of_a_client_that_was_registered_for_it(home: Path) -> None:
    """Another login with the same secret keeps it, and it is still there to tell the issuer."""
    async with rogue_issuer({"/register": {"client_id": "me", "client_secret": CANARY}, "/revoke": {}}) as rogue:
        rogue.tell("revocation_endpoint", f"{rogue.site}/revoke")
        for name in ("one", "two"):
            await log_in_to(rogue, home, name)
        secrets = home / "tokens" / "servers" / "secrets"
        for name, left in (("one", 1), ("two", 0)):
            assert await weft_says(home, "auth", "logout", name) == (0, f"logged out: {name}\n")
            assert len(list(secrets.iterdir())) == left
        assert len(rogue.asked_at("/revoke")) == 2


def first(failing: web.Response, then: Json) -> Callable[[Asked], web.Response]:
    """Answers once so, and then so."""
    failures = [failing]
    return lambda asked: failures.pop() if failures else web.json_response(then)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_poll_that_fails_is_not_the_end_of_a_device_login(home: Path, status: int) -> None:
    code = {"device_code": "d", "user_code": "ABCD", "verification_uri": "https://login.example/device", "interval": 1}
    token = first(web.Response(status=status), {"access_token": CANARY, "token_type": "Bearer"})
    async with rogue_issuer({"/device": code, "/token": token}) as rogue:
        words = ("--issuer", rogue.site, "--client-id", "me", "--device")
        exit_code, said = await weft_says(home, "auth", "login", "mine", *words)
        assert (exit_code, said.splitlines()[-1]) == (0, "logged in: mine"), said
        assert f"answered with status {status}" in said
        assert len(rogue.asked_at("/token")) == 2


@requirement("OAUTH-12")
@pytest.mark.parametrize("how", ["--device", "--client-credentials"])
async def test_where_no_browser_is_used_nobody_has_to_offer_pkce(home: Path, how: str) -> None:
    """And none is sent there later, with what is kept of the login."""
    code = {"device_code": "d", "user_code": "ABCD", "verification_uri": "https://login.example/device"}
    async with rogue_issuer({"/device": code}) as rogue:
        rogue.tell("code_challenge_methods_supported", [])
        known = ("--issuer", rogue.site, "--client-id", "me")
        exit_code, said = await weft_says(home, "auth", "login", "mine", *known, how)
        assert (exit_code, said.splitlines()[-1]) == (0, "logged in: mine"), said
        for words, why in ((known, "does not offer PKCE"), ((), "names no authorization endpoint")):
            exit_code, said = await weft_says(home, "auth", "login", "mine", *words, "--no-browser")
            assert (exit_code, why in said) == (1, True), said


async def test_a_secret_in_clear_is_refused(home: Path) -> None:
    code, said = await weft_says(home, "auth", "login", "x", "--client-id", "i", "--client-secret", CANARY)
    assert (code, "secret://env/NAME" in said, CANARY in said) == (2, True, False)


async def test_nothing_shows_a_token(home: Path) -> None:
    keep(home)
    for words in (["status"], ["status", "--json"], ["status", "mine"], ["refresh", "mine"]):
        _, said = await weft_says(home, "auth", *words)
        assert "mine" in said
        assert CANARY not in said


@pytest.mark.parametrize("content", [b"{", b'{"logins": ["\xff"]}', b"[" * 100_000])
async def test_a_login_that_cannot_be_read_is_told_and_hides_no_other(home: Path, content: bytes) -> None:
    keep(home)
    (home / "tokens" / "bent.json").write_bytes(content)
    (home / "tokens" / "folder.json").mkdir()
    code, said = await weft_says(home, "auth", "status", "--json")
    logins, _, told = said.partition("\n}\n")
    states = {login["name"]: login["state"] for login in json.loads(logins + "}")["logins"]}
    assert (code, states) == (1, {"bent": "unreadable", "folder": "unreadable", "mine": "good"})
    assert "bent.json is damaged (weft auth logout bent, then log in again)" in told
    assert (await weft_says(home, "auth", "status", "mine"))[0] == 0


@pytest.mark.parametrize(("refused", "state"), [(False, "renews"), (True, "expired")])
async def test_one_that_its_server_has_ended_is_not_said_to_renew(home: Path, refused: bool, state: str) -> None:
    over = TokenSet(CANARY, refresh_token=CANARY, expires_at=1)
    server = AuthServer(token_endpoint="http://127.0.0.1:9/token")
    Vault(home / "tokens").write("mine", Login(over, server, OAuthClient("x"), refused=refused))
    _, said = await weft_says(home, "auth", "status", "--json")
    assert json.loads(said)["logins"][0]["state"] == state


async def test_further_hosts_are_the_users_word(home: Path) -> None:
    keep(home)
    assert (await weft_says(home, "auth", "allow", "mine", "API.example.com"))[0] == 0
    assert Vault(home / "tokens").read("mine")[0].hosts == ("api.example.com",)
    told = await weft_says(home, "auth", "allow", "mine", "https://other.example/v1", "*.example.org", "127.0.0.1:9")
    assert told == (0, "allowed: the token of mine may go to other.example, *.example.org, 127.0.0.1:9\n")
    assert Vault(home / "tokens").read("mine")[0].hosts[1:] == ("other.example", "*.example.org", "127.0.0.1:9")


@pytest.mark.parametrize(
    ("host", "hint"),
    [
        ("api.x:8443", "weft auth allow mine api.x"),
        ("localhost", "weft auth allow mine localhost:8080"),
        ("*.api.x:8443", "weft auth allow mine '*.api.x'"),
        ("a b", "weft auth allow mine api.example.com"),
        ("", "weft auth allow mine api.example.com"),
        ("*", "weft auth allow mine '*.example.com'"),
        ("*.com", "weft auth allow mine '*.example.com'"),
    ],
)
async def test_what_is_no_host_is_refused_with_the_right_spelling(home: Path, host: str, hint: str) -> None:
    keep(home)
    code, said = await weft_says(home, "auth", "allow", "mine", "api.example.org", host)
    assert (code, hint in said) == (2, True), said
    assert Vault(home / "tokens").read("mine")[0].hosts == ()
    at_login = ["--issuer", "http://127.0.0.1:1/", "--client-id", "x", "--host", host]
    code, said = await weft_says(home, "auth", "login", "yours", *at_login)
    assert (code, hint.removeprefix("weft auth allow mine ") in said) == (2, True), said


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["refresh", "mne"], "did you mean mine?"),
        (["logout", "nothing-like-it"], "weft auth status, or weft auth login nothing-like-it"),
        (["status", "nothing-like-it"], "weft auth login nothing-like-it"),
        (["login", "nobody"], "weft servers add nobody URL"),
        (["login", "x", "--client-id", "i", "--issuer", "http://["], "'http://[' is not an address"),
        (["login", "x", "--client-id", "i", "--issuer", "https://[]@/x"], "'https://[]@/x' is not an address"),
        (["login", "../x", "--client-id", "i", "--token-url", "https://a.example"], "letters, digits"),
    ],
)
async def test_a_wrong_name_says_what_to_do(home: Path, words: list[str], hint: str) -> None:
    keep(home)
    code, said = await weft_says(home, "auth", *words)
    assert code == 1
    assert hint in said


async def test_an_address_is_no_name_of_a_login(home: Path) -> None:
    code, said = await weft_says(home, "auth", "login", "https://mcp.example.com/mcp")
    assert code == 2
    assert "https://mcp.example.com/mcp is an address, and a login needs a name" in said
    assert "weft servers add NAME https://mcp.example.com/mcp, then weft auth login NAME" in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["tool"], "tool is a program that weft starts; there is no login for it"),
        (["google"], "weft auth login google --client-id ID"),
        (["mine", "--issuer", "https://a.example"], "weft auth login mine --issuer https://a.example --client-id ID"),
        (["nobody"], "nobody is neither a configured server nor a known service"),
    ],
)
async def test_a_login_that_lacks_something_is_told_what(home: Path, words: list[str], told: str) -> None:
    (home / "mcp_servers").mkdir(parents=True, mode=0o700)
    (home / "mcp_servers" / "tool.toml").write_text('command = "/bin/sh"\n')
    code, said = await weft_says(home, "auth", "login", *words)
    assert code == 1
    assert told in said
