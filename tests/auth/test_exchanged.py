"""Servers called in the name of people: a real gateway, a real provider, two people and what the server has seen."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import jwt
import pytest

from clawft.auth.renewal import Renewal
from clawft.auth.vault import Vault
from tests.auth.logins import logged_in, weft_says
from tests.gateway.team import Json, Team, next_notice, team
from tests.requirements import requirement
from tests.servers.idp import EXCHANGE_SECRET
from tests.servers.ledger import Ledger, ledger
from tests.servers.pipe import mcp_server, text_of
from tests.servers.raw_http import ask, message, open_session

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), requirement("LINK-26")]

RULES = """
[gateway.auth]
issuer = "{issuer}"
scopes = ["api.read"]
grants = [
  {{ subject = "ada", allow = ["ledger__*", "memory__*"] }},
  {{ subject = "bob", allow = ["ledger__*"] }},
  {{ subject = "eve", allow = ["ledger__*"] }},
  {{ subject = "dan", allow = ["memory__*"] }},
]
[mcp_servers.ledger]
url = "URL"
trust = "trusted"
[mcp_servers.ledger.exchange]
client_id = "weft"
client_secret = "secret://env/LEDGER_SECRET"
scopes = ["api.read"]
"""


@asynccontextmanager
async def books(
    folder: Path,
    names: tuple[str, ...] = ("ada", "bob"),
    *,
    exchanged: int = 3600,
    more: str = "",
    trusted: bool = True,
) -> AsyncGenerator[tuple[Team, Ledger]]:
    async with ledger() as server:
        rules = RULES.replace("URL", server.url) + more
        rules = rules if trusted else rules.replace('trust = "trusted"', "")
        async with team(folder, rules=rules, names=names, exchanged=exchanged) as people:
            server.issuer = people.provider.issuer
            yield people, server


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_SECRET", EXCHANGE_SECRET)


def said_by(told: Json) -> str:
    return told["result"]["content"][0]["text"]


@requirement("GUARD-06", "GUARD-07")
async def test_each_person_is_known_by_name_and_has_tools_of_their_own(tmp_path: Path) -> None:
    async with books(tmp_path) as (people, server):
        ada, bob = await people.names("ada"), await people.names("bob")
        assert {name for name in ada if name.startswith("ledger")} == {"ledger__whoami", "ledger__only_ada"}
        assert bob == {"ledger__whoami", "ledger__only_bob"}
        assert said_by(await people.call("ada", "ledger__whoami")) == "ada called whoami"
        assert said_by(await people.call("bob", "ledger__whoami")) == "bob called whoami"

        hidden = await people.call("bob", "ledger__only_ada")
        unknown = await people.call("bob", "ledger__only_nobody")
        spelled = json.dumps(hidden["error"]).replace("only_ada", "X")
        assert spelled == json.dumps(unknown["error"]).replace("only_nobody", "X")

        for person in ("ada", "bob"):
            _, _, listed = await people.post(people.tokens[person], "resources/list")
            assert [each["name"] for each in listed["result"]["resources"]] == [f"balance of {person}"]
            _, _, read = await people.post(people.tokens[person], "resources/read", {"uri": "ledger://balance"})
            assert read["result"]["contents"][0]["text"] == f"{person} has 7"
            _, _, prompts = await people.post(people.tokens[person], "prompts/list")
            assert [each["name"] for each in prompts["result"]["prompts"]] == [f"ledger__ask_{person}"]
            _, _, prompt = await people.post(people.tokens[person], "prompts/get", {"name": f"ledger__ask_{person}"})
            assert prompt["result"]["messages"][0]["content"]["text"] == f"for {person}"
        assert server.crossed == []
        assert sorted(server.sessions.values()) == ["ada", "bob"]


@requirement("GUARD-06")
async def test_the_token_a_person_came_with_reaches_nobody_but_its_issuer(tmp_path: Path) -> None:
    async with books(tmp_path) as (people, server):
        for person in ("ada", "bob"):
            await people.names(person)
            await people.call(person, "ledger__whoami")
        status, _, _ = await people.post(people.tokens["ada"], "tools/call", {"name": "ledger__nothing"})
        assert status < 500
        people.served.stop()
        assert len(set(server.tokens)) == 2, "one for each, and used again"
        for given in set(server.tokens):
            claims = jwt.decode(given, options={"verify_signature": False})
            assert (claims["aud"], claims["client_id"]) == (server.url, "weft")
        everything = "\n".join(
            [*people.served.lines, *(str(dict(asked.headers)) + str(asked.message) for asked in server.web.asked)]
        )
        written = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
        everything += "".join(path.read_bytes().decode(errors="replace") for path in written)
        assert "ledger__whoami" in everything, "the audit is among what was looked at"
        for person, token in people.tokens.items():
            assert token not in everything, person
            assert token.rpartition(".")[2] not in everything, person
        outside = "".join(path.read_bytes().decode(errors="replace") for path in written) + "\n".join(
            people.served.lines
        )
        for secret in (*set(server.tokens), EXCHANGE_SECRET):
            assert secret not in outside


async def test_many_calls_at_once_share_one_exchange_and_a_short_token_is_exchanged_again(tmp_path: Path) -> None:
    async with books(tmp_path, ("ada",), exchanged=6) as (people, server):
        answers = await asyncio.gather(*(people.call("ada", "ledger__whoami") for _ in range(20)))
        assert {said_by(each) for each in answers} == {"ada called whoami"}
        exchanged = "urn:ietf:params:oauth:grant-type:token-exchange"
        assert people.provider.given(exchanged) == 1
        async with asyncio.timeout(30):
            while len(set(server.tokens)) < 2:  # due after half of its life
                assert said_by(await people.call("ada", "ledger__whoami")) == "ada called whoami"
        assert people.provider.given(exchanged) == 2
        assert list(server.sessions.values()) == ["ada"], "the session has not noticed"


async def test_a_token_the_server_refuses_is_exchanged_once_more(tmp_path: Path) -> None:
    async with books(tmp_path, ("ada",)) as (people, server):
        await people.call("ada", "ledger__whoami")
        server.refuses.update(server.tokens)
        assert said_by(await people.call("ada", "ledger__whoami")) == "ada called whoami"
        assert len(set(server.tokens)) == 2
        assert list(server.sessions.values()) == ["ada"]

        server.refuses.update(server.tokens)
        server.issuer = "https://elsewhere.example"  # nothing is good any more
        told = json.dumps(await people.call("ada", "ledger__whoami"))
        assert "refuses the tokens" in told
        assert not any(token in told for token in server.tokens)


async def test_what_the_issuer_refuses_is_told_with_its_reason_and_without_the_token(tmp_path: Path) -> None:
    async with books(tmp_path, ("eve", "bob")) as (people, server):
        assert await people.names("eve") == set()
        told = json.dumps(await people.call("eve", "ledger__whoami"))
        assert "invalid_grant" in told
        assert "nothing for eve" in told
        assert people.tokens["eve"] not in told
        assert said_by(await people.call("bob", "ledger__whoami")) == "bob called whoami"
        assert set(server.sessions.values()) == {"bob"}
        people.served.stop()
        assert people.tokens["eve"] not in "\n".join(people.served.lines)


async def test_a_resource_the_issuer_does_not_know_is_its_word(tmp_path: Path) -> None:
    async with books(tmp_path, ("ada",), more='resource = "https://nowhere.example"\n') as (people, server):
        told = json.dumps(await people.call("ada", "ledger__whoami"))
        assert "invalid_target" in told
        assert server.web.asked == [], "nothing is sent without a token"


async def test_a_change_is_heard_by_the_person_it_is_for(tmp_path: Path) -> None:
    async with books(tmp_path) as (people, server), people.listening("ada") as ada, people.listening("bob") as bob:
        await server.heard_by("ada")
        await server.heard_by("bob")
        server.more["ada"] = ["spend"]
        server.tell_changed("ada")
        assert await next_notice(ada) == "notifications/tools/list_changed"
        assert "ledger__spend" in await people.names("ada")
        server.more["bob"] = ["save"]
        server.tell_changed("bob")
        assert await next_notice(bob) == "notifications/tools/list_changed"
        assert await people.names("bob") == {"ledger__whoami", "ledger__only_bob", "ledger__save"}
        people.served.stop()
        assert (await next_notice(ada), await next_notice(bob)) == ("", ""), "nothing but the end"


async def test_a_renewed_token_goes_on_in_the_same_session_and_a_weaker_one_does_not(tmp_path: Path) -> None:
    async with books(tmp_path, ("ada",), exchanged=4) as (people, server):
        await people.call("ada", "ledger__whoami")
        vault = Vault(tmp_path / "ada")
        renewed = await Renewal(vault).renew("mine", vault.read("mine")[0])
        assert renewed.tokens.access_token != people.tokens["ada"]
        again = Team(people.provider, people.served, {"ada": renewed.tokens.access_token})
        assert said_by(await again.call("ada", "ledger__whoami")) == "ada called whoami"
        assert list(server.sessions.values()) == ["ada"]

        more = ("openid", "offline_access", "api.read", "api.write")
        other = Vault(tmp_path / "other")
        stronger = await logged_in(people.provider, other, resource=people.served.url, scopes=more)
        third = Team(people.provider, people.served, {"ada": stronger.tokens.access_token})
        assert said_by(await third.call("ada", "ledger__whoami")) == "ada called whoami"
        assert list(server.sessions.values()) == ["ada", "ada"], "rights are not lent"


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25"])
async def test_a_session_of_the_handshake_era_has_the_persons_tools_at_once(tmp_path: Path, revision: str) -> None:
    async with books(tmp_path, ("ada",)) as (people, server):
        bearer = {"Authorization": f"Bearer {people.tokens['ada']}"}
        session = await open_session(people.served.port, revision, bearer)
        answer = await ask(session.port, session.post(message(1, "tools/list")))
        listed = answer.messages()[-1]["result"]["tools"]
        assert {"ledger__whoami", "ledger__only_ada"} <= {tool["name"] for tool in listed}
        answer = await ask(session.port, session.call(2, "ledger__whoami", {}))
        assert said_by(answer.messages()[-1]) == "ada called whoami"
        assert list(server.sessions.values()) == ["ada"]


async def test_the_token_of_the_gateways_own_file_is_nobodys_name(tmp_path: Path) -> None:
    async with books(tmp_path, ()) as (people, server):
        token = (tmp_path / "home" / "gateway.token").read_text().strip()
        owner = Team(people.provider, people.served, {"owner": token})
        assert not {name for name in await owner.names("owner") if name.startswith("ledger")}
        told = said_by(await owner.call("owner", "ledger__whoami"))
        assert f"with a token of {people.provider.issuer}" in told
        assert server.web.asked == []


async def test_a_server_that_nobody_trusts_is_approved_by_each_person(tmp_path: Path) -> None:
    async with books(tmp_path, trusted=False) as (people, server):
        assert "ledger__only_ada" in await people.names("ada")
        told = said_by(await people.call("ada", "ledger__whoami"))
        assert "needs the person's approval" in told
        assert server.web.about("tools/call") == []


async def test_whoever_may_not_see_the_server_does_not_hear_why_it_has_nothing(tmp_path: Path) -> None:
    async with books(tmp_path, ("dan",)) as (people, server):
        there = await people.call("dan", "ledger__whoami")
        nowhere = await people.call("dan", "ghost__whoami")
        assert json.dumps(there).replace("ledger", "X") == json.dumps(nowhere).replace("ghost", "X")
        assert await people.names("dan")
        assert server.web.asked == [], "nor does the server hear of them"


async def test_without_a_person_the_server_says_what_to_do(tmp_path: Path) -> None:
    """Over stdio, and with the token of the gateway's own file."""
    async with ledger() as server:
        home = tmp_path / "home"
        home.mkdir()
        (home / "config.toml").write_text(RULES.replace("URL", server.url).format(issuer="https://login.example"))
        code, said = await weft_says(home, "servers", "status", "ledger", "--json")
        row = json.loads(said)
        assert (code, row["state"]) == (1, "needs-auth")
        assert "on behalf of people with a token of https://login.example" in row["error"]
        code, said = await weft_says(home, "servers", "test", "ledger")
        assert code == 1
        assert "on behalf of people" in said
        async with mcp_server(tmp_path) as pipe:
            await pipe.open()
            told = text_of(await pipe.ask("tools/call", {"name": "ledger__whoami", "arguments": {}}))
        assert "weft gateway" in told
        assert "https://login.example" in told
        code, said = await weft_says(home, "auth", "login", "ledger")
        assert code == 1
        assert "on behalf of the people on your gateway" in said
        assert server.web.asked == []
