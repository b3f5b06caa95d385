"""Authorization servers and protected servers that turn on us once a login is under way, or long made."""

import asyncio
import base64
import json
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import aiohttp
import psutil
import pytest
from aiohttp import web

from clawft.auth.tokens import AuthServer, Login, OAuthClient, TokenSet
from clawft.auth.vault import Vault
from tests.auth.logins import WEFT_SECONDS, allow, expire, weft, weft_says
from tests.requirements import requirement
from tests.servers.pipe import Json, Pipe, mcp_server, request
from tests.servers.rogue_issuer import Asked, Rogue, rogue_issuer

pytestmark = [pytest.mark.slow, requirement("LINK-26")]

CANARY = "canary-of-a-login-9d41"
KEY = "key-in-an-address-77f0"
RESOURCE, ISSUER = "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def vault(home: Path) -> Vault:
    return Vault(home / "tokens")


def configured(home: Path, rogue: Rogue) -> None:
    (home / "mcp_servers").mkdir(parents=True)
    told = f'name = "rogue"\nurl = "{rogue.server}"\ntrust = "trusted"\n'
    (home / "mcp_servers" / "rogue.toml").write_text(told)


async def logging_in(home: Path) -> tuple[int | None, str]:
    """`weft auth login rogue`, with somebody at the browser who agrees if it comes to that."""
    process = await weft(home, "auth", "login", "rogue", "--no-browser")
    assert process.stdout is not None
    async with asyncio.timeout(WEFT_SECONDS):
        told = ""
        while not (line := (await process.stdout.readline()).decode()).startswith("log in here"):
            if not line:
                return await process.wait(), told
            told += line
        asked = parse_qs(urlsplit(line.strip().rpartition(" ")[2]).query)
        answer = {"code": CANARY, "state": asked["state"][0]}
        async with aiohttp.ClientSession() as browser, browser.get(asked["redirect_uri"][0], params=answer) as page:
            assert page.status == 200
        said, _ = await process.communicate()
    return process.returncode, told + line + said.decode()


@pytest.mark.parametrize(
    "secret",
    [
        "secret://command/touch {mark}",
        "secret://file{mark}.known",
        "secret://env/CLAWFT_HOME",
        "x${{secret://env/CLAWFT_HOME}}",
    ],
)
async def test_a_secret_we_are_registered_with_is_taken_to_the_letter(tmp_path: Path, home: Path, secret: str) -> None:
    """A reference in it would run a program of the user's, or send a secret of theirs to whoever wrote it."""
    (tmp_path / "mark.known").write_text(CANARY)
    given = secret.format(mark=tmp_path / "mark")
    answers = {
        "/register": {"client_id": "me", "client_secret": given, "token_endpoint_auth_method": "client_secret_post"}
    }
    async with rogue_issuer(answers) as rogue:
        configured(home, rogue)
        code, said = await logging_in(home)
        assert code == 0, said
        assert [asked.form["client_secret"] for asked in rogue.asked_at("/token")] == [given]
        assert (await weft_says(home, "auth", "logout", "rogue"))[0] == 0
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("kind", ["mac", "DPoP", "N_A", "Basic"])
async def test_a_token_of_a_kind_we_do_not_know_is_never_used(home: Path, vault: Vault, kind: str) -> None:
    async with rogue_issuer({"/token": {"access_token": CANARY, "token_type": kind}}) as rogue:
        configured(home, rogue)
        code, said = await logging_in(home)
        assert (code, f"for a Bearer header: {kind}" in said, CANARY in said) == (1, True, False)
        assert vault.servers.read("rogue") == []


def keep(vault: Vault, rogue: Rogue, issuer: Rogue | None = None) -> None:
    """A login that is good, as far as we know; from the server itself, or from an issuer elsewhere."""
    site = (issuer or rogue).site
    token = TokenSet(CANARY, refresh_token="again", expires_at=int(time.time()) + 3_600, provider_name="rogue")
    server = AuthServer(issuer=site, token_endpoint=f"{site}/token")
    vault.servers.write("rogue", Login(token, server, OAuthClient("me"), resource=rogue.server, hosts=(rogue.server,)))


async def test_a_server_that_refuses_every_token_is_given_one_more(home: Path, vault: Vault) -> None:
    async with rogue_issuer({}) as rogue:
        configured(home, rogue)
        keep(vault, rogue)
        code, said = await weft_says(home, "tools", "call", "rogue__poke")
        assert (code, "weft auth login rogue" in said) == (1, True), said
        assert len(rogue.asked_at("/token")) == 1


RESULTS: Json = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "r"}},
    "tools/list": {"tools": [{"name": "poke", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "poked"}]},
}


def serving(asked: Asked) -> web.Response:
    message = json.loads(asked.body or b"{}")
    if "id" not in message:
        return web.Response(status=202)
    result = RESULTS.get(message["method"])
    told = {"result": result} if result else {"error": {"code": -32601, "message": "no such method"}}
    return web.json_response({"jsonrpc": "2.0", "id": message["id"], **told})


def failing(asked: Asked) -> web.Response:
    return web.Response(status=500, text=f"the token was {asked.token}")


def wanting_more(asked: Asked) -> web.Response:
    told = f'Bearer error="insufficient_scope", scope="{asked.token} more"'
    return web.Response(status=403, headers={"WWW-Authenticate": told})


def complaining(asked: Asked) -> web.Response:
    error: Json = {"code": -32000, "message": f"{asked.token}?", "data": {"token": asked.token}}
    return web.json_response({"jsonrpc": "2.0", "id": json.loads(asked.body).get("id"), "error": error})


def in_a_call(answer: Callable[[Asked], web.Response]) -> Callable[[Asked], web.Response]:
    return lambda asked: answer(asked) if b'"tools/call"' in asked.body else serving(asked)


AT_ONCE = {each.__name__: each for each in (failing, wanting_more, complaining)}
REPEATS = AT_ONCE | {f"{name} in a call": in_a_call(each) for name, each in AT_ONCE.items()}


@pytest.mark.parametrize("case", REPEATS)
async def test_a_token_that_a_server_repeats_is_not_said_again(home: Path, vault: Vault, case: str) -> None:
    async with rogue_issuer({"/mcp": REPEATS[case]}) as rogue:
        configured(home, rogue)
        keep(vault, rogue)
        heard = [await weft_says(home, *words.split()) for words in ("tools call rogue__poke", "servers status rogue")]
        assert any(asked.token == CANARY for asked in rogue.asked_at("/mcp"))
    assert CANARY not in json.dumps(heard)
    files = [path for path in home.rglob("*") if path.is_file() and "tokens" not in path.parts]
    assert [path for path in files if CANARY in path.read_text(errors="replace")] == []


@requirement("OAUTH-01")
@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
async def test_a_client_secret_that_an_issuer_repeats_is_not_said_again(home: Path, vault: Vault, method: str) -> None:
    """It is sent by the process that renews, and what that says comes to whoever called."""
    given = iter([{"access_token": "good", "token_type": "Bearer", "refresh_token": "again"}])

    def repeating(asked: Asked) -> web.Response:
        if told := next(given, None):
            return web.json_response(told)
        pair = asked.token.removeprefix("Basic ")
        heard = f"{asked.form.get('client_secret')} {pair} {base64.b64decode(pair)!r}"
        return web.json_response({"error": "invalid_client", "error_description": heard}, status=400)

    def registering(asked: Asked) -> web.Response:
        return web.json_response({"client_id": "me", "client_secret": CANARY, "token_endpoint_auth_method": method})

    async with rogue_issuer({"/token": repeating, "/register": registering}) as rogue:
        configured(home, rogue)
        code, said = await logging_in(home)
        assert code == 0, said
        heard = [await weft_says(home, *words.split()) for words in ("auth refresh rogue", "tools call rogue__poke")]
    assert all("invalid_client" in said for _, said in heard), heard
    pair = base64.b64encode(f"me:{CANARY}".encode()).decode()
    assert (CANARY in str(heard), pair in str(heard)) == (False, False), heard


@requirement("OAUTH-22")
async def test_a_token_that_an_issuer_gives_as_a_right_or_a_name_is_not_shown(home: Path) -> None:
    """Nor is what is secret in the address of the server."""
    claims = base64.urlsafe_b64encode(json.dumps({"sub": CANARY}).encode()).decode().rstrip("=")
    answers = {"/token": {"access_token": CANARY, "scope": f"read {CANARY}", "id_token": f"e30.{claims}.x"}}
    async with rogue_issuer(answers) as rogue:
        rogue.server += f"?k={KEY}"
        configured(home, rogue)
        code, said = await logging_in(home)
        assert (code, CANARY in said, KEY in said) == (0, False, False), said
        heard = [await weft_says(home, "auth", "status", *form) for form in ((), ("--json",))]
        heard.append(await weft_says(home, "servers", "test", "rogue"))
    assert (CANARY in str(heard), KEY in str(heard)) == (False, False), heard
    assert all(f"{rogue.site}/mcp?k=…" in said for _, said in heard), heard


@requirement("OAUTH-11")
async def test_an_issuer_that_is_away_for_a_moment_logs_nobody_out(tmp_path: Path, home: Path, vault: Vault) -> None:
    """The token has expired meanwhile. Nobody has to log in again, and no call makes another request of it."""
    statuses = iter([503, 429])

    def recovering(asked: Asked) -> web.Response:
        status = next(statuses, 200)
        return web.json_response(
            {"access_token": "renewed", "token_type": "Bearer"} if status == 200 else {}, status=status
        )

    def for_the_renewed(asked: Asked) -> web.Response:
        return serving(asked) if asked.token == "renewed" else web.Response(status=401)

    async with rogue_issuer({"/mcp": for_the_renewed, "/token": recovering}) as rogue:
        configured(home, rogue)
        keep(vault, rogue)
        expire(vault.servers, "rogue")
        async with mcp_server(tmp_path) as pipe:
            await pipe.open()
            calls = [request(number, "tools/call", {"name": "rogue__poke", "arguments": {}}) for number in range(9)]
            await pipe.send(*calls)
            async with asyncio.timeout(WEFT_SECONDS):
                while "result" not in (answer := await call(pipe)) or answer["result"].get("isError"):
                    pass
            assert answer["result"]["content"][0]["text"] == "poked"
        assert len(rogue.asked_at("/token")) == 3
        assert rogue.asked_at("/register") == []


@requirement("OAUTH-11")
@pytest.mark.parametrize("status", [404, 503])
async def test_a_server_that_does_not_say_where_to_log_in_logs_nobody_out(
    home: Path, vault: Vault, status: int
) -> None:
    """The token is renewed where it came from, which may be another place than the server."""

    def for_the_renewed(asked: Asked) -> web.Response:
        return serving(asked) if asked.token == "good" else web.Response(status=401)

    def silent(asked: Asked) -> web.Response:
        return web.Response(status=status)

    async with rogue_issuer({"/mcp": for_the_renewed, RESOURCE: silent}) as rogue, rogue_issuer({}) as issuer:
        configured(home, rogue)
        keep(vault, rogue, issuer)
        code, said = await weft_says(home, "tools", "call", "rogue__poke")
        assert (code, said.strip()) == (0, "poked")
        assert (len(issuer.asked_at("/token")), rogue.asked_at("/token")) == (1, [])


async def call(pipe: Pipe) -> Json:
    return await pipe.ask("tools/call", {"name": "rogue__poke", "arguments": {}})


async def test_a_login_that_cannot_be_offered_leaves_no_listener(tmp_path: Path, home: Path) -> None:
    async with rogue_issuer({"/.well-known/oauth-authorization-server": {"issuer": "https://other.example"}}) as rogue:
        configured(home, rogue)
        async with mcp_server(tmp_path) as pipe:
            await pipe.open()
            async with asyncio.timeout(WEFT_SECONDS):
                while not rogue.asked_at("/.well-known/oauth-authorization-server") or listeners(pipe):  # noqa: ASYNC110 - asking is how one finds out
                    await asyncio.sleep(0.05)


def listeners(pipe: Pipe) -> list[object]:
    found = psutil.Process(pipe.pid).net_connections("tcp")
    return [each for each in found if each.status == psutil.CONN_LISTEN]


DEVICE: Json = {"device_code": "d", "user_code": "ABCD", "verification_uri": "https://login.example/device"}


def pending(asked: Asked) -> web.Response:
    return web.json_response({"error": "authorization_pending"}, status=400)


@requirement("OAUTH-22")
@pytest.mark.parametrize("interval", [1e9, 1e308, int("9" * 400)], ids=["long", "longer", "for ever"])
async def test_nobody_waits_longer_than_a_code_is_good(home: Path, interval: float) -> None:
    answers = {"/device": {**DEVICE, "interval": interval, "expires_in": 2}, "/token": pending}
    async with rogue_issuer(answers) as rogue:
        code, said = await weft_says(
            home, "auth", "login", "mine", "--issuer", rogue.site, "--client-id", "me", "--device"
        )
    assert (code, "the code has expired" in said) == (1, True), said


@requirement("OAUTH-22")
@pytest.mark.parametrize(
    "place", ["javascript:alert(1)", "file:///etc/passwd", "http://login.example/", "https://10.0.0.5/"]
)
async def test_a_person_is_sent_to_no_place_but_on_the_web(home: Path, place: str) -> None:
    answers = {"/device": {**DEVICE, "verification_uri_complete": place}}
    async with rogue_issuer(answers) as rogue:
        words = ("auth", "login", "mine", "--issuer", rogue.site, "--client-id", "me", "--device")
        code, said = await weft_says(home, *words)
    assert (code, f"open {DEVICE['verification_uri']}\n" in said, place in said) == (0, True, False), said


@requirement("OAUTH-22")
@pytest.mark.parametrize("user_code", ["A\nopen https://elsewhere.example", "A\x1b[2J", "A" * 1_000])
async def test_a_code_that_nobody_could_type_is_refused(home: Path, user_code: str) -> None:
    async with rogue_issuer({"/device": {**DEVICE, "user_code": user_code}}) as rogue:
        words = ("auth", "login", "mine", "--issuer", rogue.site, "--client-id", "me", "--device")
        code, said = await weft_says(home, *words)
    assert (code, "an invalid user code" in said, "elsewhere" in said) == (1, True, False), said


async def test_a_login_at_a_page_of_somebody_else_is_refused(home: Path) -> None:
    """The page would be honest, and the code that is given there would go to the server that named it."""

    def mixed(asked: Asked) -> web.Response:
        return web.json_response(rogue.metadata() | {"authorization_endpoint": elsewhere(rogue) + "/authorize"})

    async with rogue_issuer({ISSUER: mixed}) as rogue:
        configured(home, rogue)
        allow(home, elsewhere(rogue))
        code, said = await weft_says(home, "auth", "login", "rogue", "--no-browser")
    assert (code, f"{rogue.site}/token would get the login" in said) == (1, True), said
    assert rogue.asked_at("/register") == []


async def test_who_logs_in_elsewhere_is_told_for_whom(home: Path) -> None:
    """A server may name any authorization server, and gets what that gives."""

    def points_elsewhere(asked: Asked) -> web.Response:
        return web.json_response({"resource": rogue.server, "authorization_servers": [elsewhere(rogue)]})

    def its_metadata(asked: Asked) -> web.Response:
        return web.json_response(json.loads(json.dumps(rogue.metadata()).replace(rogue.site, elsewhere(rogue))))

    async with rogue_issuer({RESOURCE: points_elsewhere, ISSUER: its_metadata}) as rogue:
        configured(home, rogue)
        allow(home, elsewhere(rogue))
        code, said = await logging_in(home)
    assert (code, "what you allow at localhost is for 127.0.0.1" in said) == (0, True), said


def elsewhere(rogue: Rogue) -> str:
    return rogue.site.replace("127.0.0.1", "localhost")


# ── what else listens on this machine ────────────────────────────────────────────────────────────────────────────────

Turn = Callable[[Rogue, Rogue], None]
"""Has the first send us to the second."""


def by_its_401(rogue: Rogue, victim: Rogue) -> None:
    challenge = {"WWW-Authenticate": f'Bearer resource_metadata="{victim.site}{RESOURCE}"'}
    rogue.replace("/mcp", lambda asked: web.Response(status=401, headers=challenge))


def by_its_issuer(rogue: Rogue, victim: Rogue) -> None:
    rogue.replace(RESOURCE, {"resource": rogue.server, "authorization_servers": [victim.site]})


def by_an_endpoint(name: str) -> Turn:
    def turn(rogue: Rogue, victim: Rogue) -> None:
        rogue.tell(name, f"{victim.site}/{name}")

    return turn


@requirement("GUARD-06")
@pytest.mark.parametrize("spelled", ["127.0.0.1", "localhost", "127.0.0.2"])
@pytest.mark.parametrize(
    "turn", [by_its_401, by_its_issuer, *map(by_an_endpoint, ["registration_endpoint", "token_endpoint"])]
)
async def test_a_server_on_this_machine_sends_us_to_no_other_port_of_it(home: Path, turn: Turn, spelled: str) -> None:
    async with rogue_issuer({}) as rogue, rogue_issuer({}) as victim:
        victim.site = victim.site.replace("127.0.0.1", spelled)  # who listens at 127.0.0.2 is nobody, and not asked
        turn(rogue, victim)
        configured(home, rogue)
        await weft_says(home, "servers", "test", "rogue")
        code, said = await logging_in(home)
    assert victim.asked == []
    assert (code, f'allow_hosts = ["{urlsplit(victim.site).netloc}"]' in said) == (1, True), said


@requirement("GUARD-06")
async def test_who_says_so_may_have_them_on_two_ports(home: Path) -> None:
    """As in development: the server here, and its issuer there."""
    async with rogue_issuer({}) as rogue, rogue_issuer({}) as issuer:
        by_its_issuer(rogue, issuer)
        configured(home, rogue)
        allow(home, issuer.site)
        code, said = await logging_in(home)
    assert code == 0, said
    assert issuer.asked_at("/token")
