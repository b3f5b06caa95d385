"""The oauth2 family through the real `weft mcp-server`, against a real provider; and what nobody may see of it."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from aiohttp import web

from clawft.auth.token_hosts import place_in
from clawft.auth.tokens import Login, TokenSet
from clawft.auth.vault import Vault
from clawft.builtin.oauth2 import MANIFEST, check_secret, tools_with
from clawft.errors import PermissionDenied
from clawft.provider.function import definition_of
from clawft.provider.manifest import Permissions
from tests.auth.logins import expire
from tests.requirements import requirement
from tests.servers.idp import CLIENT_SECRET, MACHINE_SECRET, Idp, idp, log_in
from tests.servers.pipe import Pipe, mcp_server, text_of
from tests.servers.rogue_issuer import rogue_issuer
from tests.servers.web import Asked, serve

SCOPES = ["openid", "offline_access", "api.read"]
CONSENT = "&prompt=consent"
REDIRECT = "http://127.0.0.1:7777/callback"
SOON_S = 30.0

slow = [pytest.mark.slow, pytest.mark.timeout(300)]

Json = dict[str, Any]


class Agent:
    """Somebody at the other end of the pipe, who may see everything that comes out of it."""

    def __init__(self, pipe: Pipe, provider: Idp, home: Path) -> None:
        self.pipe, self.provider, self.home = pipe, provider, home
        self.seen: list[str] = []

    async def call(self, tool: str, **arguments: Any) -> Json:
        answer = await self.pipe.ask("tools/call", {"name": tool, "arguments": arguments})
        self.seen.append(json.dumps(answer))
        return answer["result"]

    async def authorize(self, **more: Any) -> Json:
        given = {"client_id": "native", "client_secret": "", "scopes": SCOPES, **self.provider.endpoints, **more}
        result = await self.call("oauth2__authorize", **given)
        assert not result.get("isError"), result
        return result["structuredContent"]

    async def code_for(self, url: str, redirect: str = REDIRECT) -> dict[str, str]:
        came = await log_in(url + CONSENT, stop=redirect)
        return {name: values[0] for name, values in parse_qs(urlsplit(came).query).items()}


@asynccontextmanager
async def agent(folder: Path, lifetime: int = 3600) -> AsyncGenerator[Agent]:
    (folder / "home").mkdir()
    (folder / "home" / "config.toml").write_text(
        '[security.url_policy]\nallow_hosts = ["127.0.0.1"]\n[audit]\nvalues = true\n'
    )
    provider = idp(lifetime)
    async with mcp_server(folder) as pipe:
        await pipe.open()
        yield Agent(pipe, provider, folder / "home")


@requirement("PLUG-03")
def test_the_manifest_is_that_of_the_requirements() -> None:
    assert (MANIFEST.id, MANIFEST.name, MANIFEST.version) == ("com.clawft.plugin-oauth2", "OAuth2 Helper", "0.1.0")
    assert MANIFEST.permissions == Permissions(filesystem=("~/.clawft/tokens/",), network=("*",))


@requirement("test_oauth2_authorize_tool_schema")
def test_what_authorize_takes() -> None:
    tools = {definition_of(function).name: definition_of(function) for function, _ in tools_with(None)}
    schema = tools["authorize"].input_schema
    assert schema["required"] == ["client_id", "client_secret", "scopes"]
    assert schema["properties"]["provider"]["enum"] == ["generic", "github", "google", "microsoft"]
    assert schema["properties"]["provider"]["default"] == "generic"
    assert {"redirect_uri", "auth_url", "token_url"} <= schema["properties"].keys()
    assert tools.keys() == {"authorize", "callback", "refresh", "device", "status"}


@pytest.mark.slow
@requirement("F6-A02", "F6-A07", "F6-A08", "OAUTH-04")
async def test_authorization_code_from_the_first_step_to_the_last(tmp_path: Path) -> None:
    async with agent(tmp_path) as me:
        begun = await me.authorize(redirect_uri=REDIRECT)
        assert begun.keys() == {"authorize_url", "state"}
        came = await me.code_for(begun["authorize_url"])
        granted = (await me.call("oauth2__callback", **came))["structuredContent"]
        assert granted.keys() == {"provider", "token_type", "expires_at", "scopes"}
        assert (granted["provider"], granted["token_type"]) == ("generic", "Bearer")
        again = await me.call("oauth2__callback", **came)
        assert (again["isError"], "used before" in again["content"][0]["text"]) == (True, True)
        assert me.provider.refused == []  # the code was not even shown to the provider a second time
        assert me.provider.given("authorization_code") == 1
        assert list((me.home / "agents").rglob("*pkce*")) == []


@pytest.mark.slow
@requirement("OAUTH-16")
async def test_two_answers_with_one_state_at_once_are_one(tmp_path: Path) -> None:
    async with agent(tmp_path) as me:
        begun = await me.authorize(redirect_uri=REDIRECT)
        came = await me.code_for(begun["authorize_url"])
        ids = range(1, 6)
        params = {"name": "oauth2__callback", "arguments": came}
        for id in ids:
            message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
            await me.pipe.send(json.dumps(message).encode() + b"\n")
        answers: list[Json] = []
        while len(answers) < len(ids):
            message = await me.pipe.read()
            if "result" in message:
                answers.append(message["result"])
        assert sum(not answer.get("isError") for answer in answers) == 1
        assert me.provider.given("authorization_code") == 1
        assert me.provider.refused == []


@pytest.mark.slow
@requirement("OAUTH-22", "OAUTH-18", "F6-A05")
async def test_without_a_redirect_of_its_own_a_login_finishes_by_itself(tmp_path: Path) -> None:
    async with agent(tmp_path) as me:
        begun = await me.authorize()
        await log_in(begun["authorize_url"] + CONSENT)
        known = await until_known(me)
        assert (known["account"], known["state"], known["renewable"]) == ("ada", "good", True)
        renewed = (await me.call("oauth2__refresh", provider="generic"))["structuredContent"]
        assert renewed.keys() == {"provider", "expires_at", "scopes"}
        assert me.provider.given("refresh_token") == 1


@pytest.mark.slow
async def test_a_login_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    async with agent(tmp_path) as me:
        vault = Vault(me.home / "tokens")
        for name in ("bent", "good"):
            vault.write(name, Login(TokenSet("t")))
        vault.path("bent").write_text("{")
        known = (await me.call("oauth2__status"))["structuredContent"]["result"]
        assert [(each["provider"], each["state"]) for each in known] == [("bent", "unreadable"), ("good", "good")]


@pytest.mark.slow
@requirement("LINK-15")
async def test_what_is_secret_in_the_address_of_a_server_is_not_told(tmp_path: Path) -> None:
    async with agent(tmp_path) as me:
        place = "https://mcp.example/mcp?k=key-in-an-address-77f0"
        Vault(me.home / "tokens").servers.write("mine", Login(TokenSet("t"), resource=place, hosts=(place,)))
        (known,) = (await me.call("oauth2__status"))["structuredContent"]["result"]
        assert (known["resource"], known["hosts"]) == ("https://mcp.example/mcp?k=…", ["https://mcp.example/mcp?k=…"])


async def until_known(me: Agent) -> Json:
    async with asyncio.timeout(SOON_S):
        while True:
            logins = (await me.call("oauth2__status"))["structuredContent"]["result"]
            if logins:
                return logins[0]
            await asyncio.sleep(0.1)


@pytest.mark.slow
@requirement("F6-A03")
async def test_client_credentials(tmp_path: Path) -> None:
    async with agent(tmp_path) as me:
        granted = await me.authorize(
            client_id="machine", client_secret=MACHINE_SECRET, scopes=["api.read"], flow="client_credentials"
        )
        assert (granted["provider"], granted["scopes"]) == ("generic", ["api.read"])
        assert Vault(me.home / "tokens").read("generic")[0].tokens.refresh_token is None
        wrong = await me.call(
            "oauth2__authorize",
            client_id="machine",
            client_secret="wrong",
            scopes=["api.read"],
            flow="client_credentials",
            **me.provider.endpoints,
        )
        assert (wrong["isError"], "invalid_client" in wrong["content"][0]["text"]) == (True, True)


@pytest.mark.slow
@requirement("OAUTH-12")
async def test_device_code(tmp_path: Path) -> None:
    async with agent(tmp_path) as me:
        told = (await me.call("oauth2__device", client_id="native", scopes=SCOPES, issuer=me.provider.issuer))[
            "structuredContent"
        ]
        assert told["user_code"] in told["verification_uri_complete"]
        await log_in(told["verification_uri_complete"])
        assert (await until_known(me))["account"] == "ada"


@pytest.mark.slow
@requirement("OAUTH-21")
@pytest.mark.parametrize("page", ["verification_uri", "verification_uri_complete"])
async def test_no_code_is_typed_at_an_honest_page_for_somebody_else(tmp_path: Path, page: str) -> None:
    """Whoever has begun a login of their own there would get what the person allows."""
    code = {"device_code": "d", "user_code": "ABCD", "verification_uri": "http://127.0.0.1/device"}
    async with agent(tmp_path) as me, rogue_issuer({"/device": code | {page: "https://login.example/"}}) as rogue:
        answer = await me.call("oauth2__device", client_id="native", scopes=[], issuer=rogue.site)
        assert (answer["isError"], "would get the login" in answer["content"][0]["text"]) == (True, True), answer
        assert rogue.asked_at("/token") == []


@pytest.mark.slow
@requirement("F6-A05", "OAUTH-20", "F6-A09")
async def test_an_expired_token_is_renewed_before_the_request(tmp_path: Path) -> None:
    from aiohttp import web as http

    async def respond(asked: Asked) -> http.StreamResponse:
        return http.json_response({"ok": True})

    async with agent(tmp_path) as me, serve(respond, "/things") as api:
        begun = await me.authorize()
        await log_in(begun["authorize_url"] + CONSENT)
        await until_known(me)
        vault = Vault(me.home / "tokens")
        old = expire(vault, "generic")
        asked = {"provider": "generic", "method": "GET", "url": api.url}
        refused = (await me.call("rest__request", **asked))["content"][0]["text"]
        assert f"weft auth allow generic {place_in(api.url)}" in refused  # another port is another program
        login = vault.read("generic")[0]
        vault.write("generic", msgspec.structs.replace(login, hosts=(*login.hosts, place_in(api.url))))
        said = await me.call("rest__request", **asked)
        assert json.loads(said["content"][0]["text"]) == {"ok": True}
        sent = api.asked[0].headers["Authorization"]
        assert sent == f"Bearer {vault.read('generic')[0].tokens.access_token}"
        assert old.tokens.access_token not in sent
        assert me.provider.given("refresh_token") == 1


@pytest.mark.slow
@requirement("F6-A10", "OAUTH-01", "OAUTH-04", "OAUTH-15")
async def test_no_secret_is_ever_seen(tmp_path: Path) -> None:
    """Every reply, the whole audit with values on, stderr, and every file but those of the token store."""
    async with agent(tmp_path) as me:
        begun = await me.authorize(client_id="secretive", client_secret=CLIENT_SECRET, redirect_uri=REDIRECT)
        verifier = _verifier(me.home)
        came = await me.code_for(begun["authorize_url"])
        await me.call("oauth2__callback", **came)
        first = Vault(me.home / "tokens").read("generic")[0].tokens
        await me.call("oauth2__refresh", provider="generic")
        await me.call("oauth2__status")
        await me.call("rest__request", provider="generic", method="GET", url=f"{me.provider.issuer}/nothing")
        await me.call("rest__request", provider="generic", method="GET", url="https://evil.example")
        await me.call("oauth2__authorize", client_id="secretive", client_secret=CLIENT_SECRET, scopes=[], auth_url="x")
        second = Vault(me.home / "tokens").read("generic")[0].tokens
        await me.pipe.end()
        secrets = {CLIENT_SECRET, verifier, first.access_token, second.access_token}
        secrets |= {str(first.refresh_token), str(second.refresh_token)}
        assert len(secrets) == 6
        shown = "\n".join([*me.seen, me.pipe.stderr(), *_everything_else(me.home)])
        assert (me.home / "audit" / "audit.jsonl").stat().st_size > 0
        assert [secret for secret in secrets if secret in shown] == []


def _verifier(home: Path) -> str:
    [waiting] = [path for path in (home / "agents").rglob("*") if path.is_file() and "pkce" in path.name]
    return json.loads(waiting.read_text().partition("\n")[2])["verifier"]


def _everything_else(home: Path) -> list[str]:
    files = [path for path in home.rglob("*") if path.is_file() and "tokens" not in path.relative_to(home).parts]
    return [path.read_text(errors="replace") for path in files]


@requirement("OAUTH-01")
@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_a_server_that_repeats_the_clients_secret_tells_no_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    secret = "canary-of-a-client-3b1f"
    monkeypatch.setenv("OAUTH_REPEATED", secret)

    def repeat(asked: object) -> web.Response:
        told = {"error": f"no {secret}", "error_description": f"you are {secret}, are you?"}
        return web.json_response(told, status=400)

    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text('[security.url_policy]\nallow_hosts = ["127.0.0.1"]\n')
    async with rogue_issuer({"/token": repeat}) as issuer, mcp_server(tmp_path) as pipe:
        issuer.tell("token_endpoint_auth_methods_supported", [method])
        await pipe.open()
        given = {"client_id": "me", "client_secret": "secret://env/OAUTH_REPEATED", "scopes": ["a"]}
        arguments = {**given, "issuer": issuer.site, "flow": "client_credentials"}
        answer = await pipe.ask("tools/call", {"name": "oauth2__authorize", "arguments": arguments})
    assert "no token: no …: you are …, are you?" in text_of(answer)
    assert secret not in json.dumps(answer)


@pytest.mark.slow
@requirement("OAUTH-13")
async def test_a_secret_that_is_not_there_is_told_before_anybody_logs_in(tmp_path: Path) -> None:
    async with agent(tmp_path) as me:
        more = {"client_secret": "secret://env/NO_SUCH_CLIENT_SECRET", "scopes": SCOPES}
        said = await me.call("oauth2__authorize", client_id="native", **me.provider.endpoints, **more)
        assert said["isError"]
        assert "secret://env/NO_SUCH_CLIENT_SECRET is not there" in said["content"][0]["text"]


@requirement("OAUTH-01", "OAUTH-13")
@pytest.mark.parametrize(
    "given",
    [
        "",
        "in clear",
        "secret://env/ACME_CLIENT_SECRET",
        "secret://env/OAUTH_ACME",
        "secret://keyring/oauth2/acme",
        "secret://env/ACME_SECRET",
        "secret://file/home/me/client_secret.json",
    ],
)
def test_an_agent_may_name_a_secret_that_is_meant_for_a_client(given: str) -> None:
    assert check_secret(given) == given


@requirement("OAUTH-01", "GUARD-05")
@pytest.mark.parametrize(
    "given",
    [
        "secret://command/touch {mark}",
        "secret://file{mark}",
        "secret://env/GITHUB_TOKEN",
        "secret://env/AWS_SECRET_ACCESS_KEY",
        "secret://file/home/me/client_secrets/../.ssh/id_ed25519",
        "secret://file/${{secret://env/GITHUB_TOKEN}}/client_secret",
        "secret://keyring/github",
        "secret://keyring/clawft/key",
        "x${{secret://env/GITHUB_TOKEN}}",
        "${{secret://env/X_CLIENT_SECRET}}${{secret://env/GITHUB_TOKEN}}",
        "secret://env/X_CLIENT_SECRET ${{secret://env/GITHUB_TOKEN}}",
    ],
)
def test_and_no_other_secret_of_the_user(tmp_path: Path, given: str) -> None:
    """It would go to whatever address the agent names."""
    with pytest.raises(PermissionDenied, match="not named as one of an OAuth client"):
        check_secret(given.format(mark=tmp_path / "mark"))


@pytest.mark.slow
@requirement("OAUTH-01", "GUARD-05")
async def test_no_program_runs_because_an_agent_calls_it_a_secret(tmp_path: Path) -> None:
    async with agent(tmp_path) as me:
        given = f"secret://command/touch {tmp_path / 'mark'}"
        more = {"client_id": "machine", "flow": "client_credentials", "scopes": ["api.read"], **me.provider.endpoints}
        answer = await me.call("oauth2__authorize", client_secret=given, **more)
        assert "weft auth login NAME --client-secret REF" in answer["content"][0]["text"]
        code = await me.call(
            "oauth2__device", client_secret=given, client_id="x", scopes=[], token_url="https://a.example"
        )
        assert "permission denied" in code["content"][0]["text"]
    assert not (tmp_path / "mark").exists()


@pytest.mark.slow
@requirement("OAUTH-14", "GUARD-04")
async def test_the_url_policy_judges_the_provider_but_not_the_redirect(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    async with mcp_server(tmp_path) as pipe:
        await pipe.open()

        async def authorize(**arguments: Any) -> Json:
            given: Json = {"client_id": "x", "client_secret": "", "scopes": [], **arguments}
            return await pipe.ask("tools/call", {"name": "oauth2__authorize", "arguments": given})

        inside = await authorize(auth_url="https://10.0.0.1/auth", token_url="https://10.0.0.1/token")
        assert "private address" in text_of(inside)
        mixed = await authorize(provider="google", token_url="https://evil.example/token", redirect_uri=REDIRECT)
        assert "people would log in at https://accounts.google.com/" in text_of(mixed)
        fine = await authorize(provider="google", redirect_uri=REDIRECT)
        assert text_of(fine).startswith('{"authorize_url":"https://accounts.google.com/')
