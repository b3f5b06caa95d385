"""Two people with tokens of one issuer on one gateway: each has a list of their own, and nobody else gets in.

The gateway is the real command, the issuer a real provider.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace

import aiohttp
import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from clawft.auth.bearer import Person, Verifier
from clawft.auth.vault import Vault
from clawft.auth.web import Web
from clawft.gateway.http import people, rate_limits, sessions
from clawft.gateway.http.access import AccessRefusal
from clawft.gateway.http.people import REMEMBER_SECONDS, People
from clawft.model import Caller, Grant
from clawft.policy.grant import GrantRule, grant_for, visible
from tests.auth.logins import logged_in
from tests.gateway.team import Json, Team, next_notice, team
from tests.requirements import requirement
from tests.servers.idp import MACHINE_SECRET
from tests.servers.raw_http import ask, connect, message, modern, open_session
from tests.servers.weft import ROOT

TINY = ROOT / "tests" / "servers" / "tiny.py"


@pytest.mark.slow
@requirement("GUARD-06", "GUARD-07")
async def test_each_person_sees_and_calls_their_own_tools_only(tmp_path: Path) -> None:
    async with team(tmp_path) as people:
        ada, bob = await people.names("ada"), await people.names("bob")
        assert ada == {
            "memory__store",
            "memory__recall",
            "memory__list",
            "memory__forget",
            "memory__search",
            "file__read",
        }
        assert "shell__exec" in bob
        assert ada & bob == {"memory__list"}
        for _ in range(2):  # from the cache as well
            assert (await people.names("ada"), await people.names("bob")) == (ada, bob)

        hidden = await people.call("bob", "memory__store", key="k", value="v")
        unknown = await people.call("bob", "memory__nothing", key="k", value="v")
        spelled = json.dumps(hidden["error"]).replace("memory__store", "X")
        assert spelled == json.dumps(unknown["error"]).replace("memory__nothing", "X")

        await people.call("ada", "memory__store", key="secret", value="of ada")
        theirs = await people.call("bob", "memory__list")
        assert theirs["result"]["structuredContent"] == {"result": []}
        assert (await people.call("ada", "memory__list"))["result"]["structuredContent"] == {"result": ["secret"]}

        people.served.stop()
        audit = (tmp_path / "home" / "audit" / "audit.jsonl").read_text()
        said = "\n".join(people.served.lines)
        assert f"{people.provider.issuer}#ada" in audit
        for token in people.tokens.values():
            assert token not in audit + said


GRANTED = """
[gateway.auth]
issuer = "{issuer}"
grants = [
  {{ subject = "ada", allow = ["memory__*"] }},
  {{ subject = "bob", allow = ["tiny__*", "memory__*"] }},
]
"""


@pytest.mark.slow
@requirement("GUARD-07", "SHELL-17")
async def test_only_whoever_may_see_a_new_server_hears_that_there_is_one(tmp_path: Path) -> None:
    async with (
        team(tmp_path, rules=GRANTED) as people,
        people.listening("ada") as ada,
        people.listening("bob") as bob,
    ):
        folder = tmp_path / "home" / "mcp_servers"
        folder.mkdir()
        (folder / "tiny.toml").write_text(f'command = "{sys.executable}"\nargs = ["{TINY}"]\ntrust = "trusted"\n')
        heard = {await next_notice(bob) for _ in range(3)}
        assert heard == {f"notifications/{topic}/list_changed" for topic in ("tools", "prompts", "resources")}
        assert "tiny__echo" in await people.names("bob")
        (folder / "tiny.toml").unlink()
        await next_notice(bob)
        people.served.stop()
        assert await next_notice(ada) == "", "nothing but the end"


@pytest.mark.slow
@requirement("GUARD-06")
async def test_who_is_turned_away_is_told_where_to_log_in(tmp_path: Path) -> None:
    async with team(tmp_path) as people:
        place = people.served.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
        async with aiohttp.ClientSession() as client, client.post(people.served.url) as answer:
            assert answer.status == 401
            assert f'resource_metadata="{place}"' in answer.headers["WWW-Authenticate"]
            assert 'scope="api.read"' in answer.headers["WWW-Authenticate"]
        async with aiohttp.ClientSession() as client, client.get(place) as answer:
            told = await answer.json()
        assert (told["resource"], told["authorization_servers"]) == (people.served.url, [people.provider.issuer])

        good = people.tokens["ada"]
        claims = jwt.decode(good, options={"verify_signature": False})
        stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        head, body, signature = good.split(".")
        kid = jwt.get_unverified_header(good)["kid"]
        forged = {
            "another key": jwt.encode(claims, stranger, "RS256", headers={"kid": kid}),
            "no key of theirs": jwt.encode(claims, stranger, "RS256", headers={"kid": "mine"}),
            "no signature": jwt.encode(claims, "", "none"),
            "a shared secret": jwt.encode(claims, "x" * 32, "HS256", headers={"kid": kid}),
            "cut off": f"{head}.{body}.",
            "changed": f"{head}.{msgspec.json.encode(claims).hex()}.{signature}",
            "garbage": "a.b.c",
        }
        for what, token in forged.items():
            status, headers, _ = await people.post(token, "tools/list")
            assert (what, status) == (what, 401)
            assert "invalid_token" in headers["WWW-Authenticate"]


@pytest.mark.slow
@requirement("GUARD-06")
async def test_a_token_for_somebody_else_or_without_the_scope_is_refused(tmp_path: Path) -> None:
    async with team(tmp_path) as people:
        elsewhere = await logged_in(people.provider, Vault(tmp_path / "x"), resource="http://127.0.0.1:1/other")
        status, headers, told = await people.post(elsewhere.tokens.access_token, "tools/list")
        assert (status, told["text"]) == (401, "the token is meant for somebody else")
        assert 'error="invalid_token"' in headers["WWW-Authenticate"]

        async with aiohttp.ClientSession() as client:
            fields = {"grant_type": "client_credentials", "resource": people.served.url, "scope": "api.write"}
            proof = {"Authorization": aiohttp.encode_basic_auth("machine", MACHINE_SECRET)}
            async with client.post(f"{people.provider.issuer}/token", data=fields, headers=proof) as answer:
                machine = (await answer.json())["access_token"]
        status, headers, _ = await people.post(machine, "tools/list")
        assert status == 403
        assert 'error="insufficient_scope"' in headers["WWW-Authenticate"]


@pytest.mark.slow
@requirement("GUARD-06")
async def test_the_person_at_the_machine_still_comes_in_with_the_token_of_the_file(tmp_path: Path) -> None:
    async with team(tmp_path) as people:
        own = (tmp_path / "home" / "gateway.token").read_text()
        _, _, told = await people.post(own, "tools/list")
        names = {tool["name"] for tool in told["result"]["tools"]}
        assert "git__status" in names
        assert "file__write" not in names


# ── what servers have beside their tools ─────────────────────────────────────────────────────────────────────────────

OF_A_SERVER = """
[gateway.auth]
issuer = "{issuer}"
grants = [
  {{ group = "dev", allow = ["notes__echo", "weft__*"] }},
  {{ group = "ops", allow = ["weft__*"] }},
]
"""
HONEST = str(Path(__file__).parents[1] / "servers" / "honest.py")
NOTES = json.dumps({"mcpServers": {"notes": {"command": sys.executable, "args": [HONEST], "trust": True}}})
START_S = 30.0
PAGE: Json = {"ref": {"type": "ref/resource", "uri": "honest://page/{n}"}, "argument": {"name": "n", "value": "4"}}


async def is_there(people: Team) -> None:
    async with asyncio.timeout(START_S):
        while "notes__echo" not in await people.names("ada"):
            pass


async def answer_text(people: Team, person: str, method: str, params: Json | None = None) -> str:
    """The answer as text, without what was asked for and without what it costs to remember."""
    answer = (await people.post(people.tokens[person], method, params))[2]
    return json.dumps(answer.get("result", answer.get("error")))


@pytest.mark.slow
@requirement("GUARD-06", "GUARD-07", "RES-01")
async def test_who_has_no_tool_of_a_server_has_nothing_else_of_it(tmp_path: Path) -> None:
    async with team(tmp_path, "--mcp-config", NOTES, rules=OF_A_SERVER) as people:
        await is_there(people)
        asked: list[tuple[str, Json]] = [
            ("resources/list", {}),
            ("resources/templates/list", {}),
            ("prompts/list", {}),
            ("completion/complete", PAGE),
            ("tools/call", {"name": "weft__list_resources", "arguments": {}}),
        ]
        for method, params in asked:
            theirs = await answer_text(people, "bob", method, params)
            assert not [word for word in ("honest", "notes", "greet", "4!") if word in theirs], (method, theirs)
        assert "honest://note" in await answer_text(people, "ada", "resources/list")
        assert "honest://page" in await answer_text(people, "ada", "resources/templates/list")
        assert "4!" in await answer_text(people, "ada", "completion/complete", PAGE)
        assert "honest://note" in await answer_text(people, "ada", *asked[-1])


@pytest.mark.slow
@requirement("GUARD-06", "GUARD-07", "RES-01")
async def test_a_hidden_resource_cannot_be_told_from_one_that_is_not_there(tmp_path: Path) -> None:
    async with team(tmp_path, "--mcp-config", NOTES, rules=OF_A_SERVER) as people:
        await is_there(people)
        ways: list[tuple[str, Callable[[str], Json]]] = [
            ("resources/read", lambda uri: {"uri": uri}),
            ("resources/read", lambda uri: {"uri": f"weft-of://notes/{uri.replace(':', '%3A').replace('/', '%2F')}"}),
            ("tools/call", lambda uri: {"name": "weft__read_resource", "arguments": {"uri": uri}}),
            ("tools/call", lambda uri: {"name": "weft__read_resource", "arguments": {"uri": uri, "server": "notes"}}),
        ]
        for method, params in ways:
            hidden = await answer_text(people, "bob", method, params("honest://note"))
            nothing = await answer_text(people, "bob", method, params("honest://gone"))
            assert hidden == nothing.replace("gone", "note"), method
            assert hidden != await answer_text(people, "ada", method, params("honest://note"))


# ── nobody takes the gateway from the others ─────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@requirement("QUAL-12", "GUARD-06")
async def test_one_person_s_open_streams_keep_nobody_else_out(tmp_path: Path) -> None:
    async with team(tmp_path) as people, AsyncExitStack() as stack:
        port = people.served.port
        bearer = {"Authorization": f"Bearer {people.tokens['ada']}"}
        listen = modern(port, 1, "subscriptions/listen", {"notifications": {"toolsListChanged": True}}, bearer)
        lines = [await stack.enter_async_context(connect(port)) for _ in range(rate_limits.MAX_IN_FLIGHT)]
        for line in lines:
            await line.send(listen)
            assert (await line.answer_head())[0] == 200
        status, headers, told = await people.post(people.tokens["ada"], "tools/list")
        assert (status, headers["Retry-After"], "in flight" in told["text"]) == (429, "1", True)
        assert (await people.post(people.tokens["bob"], "tools/list"))[0] == 200

        lines[0].leave()
        async with asyncio.timeout(START_S):
            while (await people.post(people.tokens["ada"], "tools/list"))[0] != 200:
                pass


@pytest.mark.slow
@requirement("QUAL-12", "SHELL-19")
async def test_one_person_s_sessions_push_out_nobody_else_s(tmp_path: Path) -> None:
    async with team(tmp_path) as people:
        port = people.served.port
        ada, bob = ({"Authorization": f"Bearer {people.tokens[who]}"} for who in ("ada", "bob"))
        theirs = await open_session(port, headers=bob)
        first = await open_session(port, headers=ada)
        for _ in range(sessions.MAX_OF_ONE):
            await open_session(port, headers=ada)
        assert (await ask(port, first.post(message(1, "ping")))).status == 404
        assert (await ask(port, theirs.post(message(1, "ping")))).status == 200


def anywhere(url: str, addresses: object) -> None:
    """No place is refused."""


class Believing(Verifier):
    """Takes every token for the name of whoever brings it."""

    def __init__(self) -> None:
        super().__init__("https://x.example", "aud", Web(anywhere, "https://x.example"))
        self.asked = 0

    async def verify(self, token: str) -> Person:
        self.asked += 1
        return Person(token, "", frozenset(), frozenset(), int(time.time()) + 3_600)


async def come(known: People, token: str) -> Caller:
    found = known.caller({b"authorization": b"Bearer " + token.encode()})
    caller = found if isinstance(found, Caller | AccessRefusal) else await found
    assert isinstance(caller, Caller)
    return caller


@requirement("GUARD-06")
async def test_a_token_is_verified_again_however_the_clock_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = Believing()
    known = People(verifier, Caller(), ())
    first = await come(known, "ada")
    assert (await come(known, "ada"), verifier.asked) == (first, 1)
    later = SimpleNamespace(
        time=lambda: time.time() - 31_536_000, monotonic=lambda: time.monotonic() + REMEMBER_SECONDS
    )
    monkeypatch.setattr(people, "time", later)
    assert (await come(known, "ada"), verifier.asked) == (first, 2)


@requirement("GUARD-06", "DELEG-14")
async def test_nobody_is_called_like_another_persons_delegate() -> None:
    known = People(Believing(), Caller(), ())
    names = ["ada", "ada/claude", "ada%2Fclaude", "ada%252Fclaude", "ada#", "Ada"]
    principals = [(await come(known, name)).principal for name in names]
    assert len(set(principals)) == len(names)
    assert f"{principals[0]}/claude" not in principals


# ── the rules ────────────────────────────────────────────────────────────────────────────────────────────────────────

ALL = Grant()


@requirement("GUARD-06")
def test_no_rule_means_no_tool() -> None:
    grant = grant_for([GrantRule(group="dev", allow=("*",))], "eve", (), (), within=ALL)
    assert not visible(("file__read",), grant)


@requirement("GUARD-06")
def test_rules_add_up_and_a_denial_wins() -> None:
    rules = [
        GrantRule(allow=("file__*",)),
        GrantRule(scope="write", allow=("shell__*",)),
        GrantRule(subject="eve", deny=("file__write",)),
    ]
    grant = grant_for(rules, "eve", (), {"write"}, within=ALL)
    assert visible(("file__read",), grant)
    assert visible(("shell__exec",), grant)
    assert not visible(("file__write",), grant)
    assert not visible(("git__status",), grant)


@requirement("GUARD-06")
def test_all_that_a_rule_names_must_be_true() -> None:
    rules = [GrantRule(subject="ada", group="dev", allow=("*",))]
    assert visible(("x",), grant_for(rules, "ada", {"dev"}, (), within=ALL))
    assert not visible(("x",), grant_for(rules, "ada", {"ops"}, (), within=ALL))
    assert not visible(("x",), grant_for(rules, "bob", {"dev"}, (), within=ALL))


@requirement("GUARD-06")
def test_nobody_gets_more_than_the_gateway_offers() -> None:
    grant = grant_for([GrantRule(allow=("*",))], "ada", (), (), within=Grant(("file__*",), ("file__write",)))
    assert visible(("file__read",), grant)
    assert not visible(("file__write",), grant)
    assert not visible(("shell__exec",), grant)
