"""A server with a session for each person: who comes, who gives way, and who is let in again.

The server is real and takes a name for a token; where tokens come from is tested in tests/auth.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from clawft.errors import NeedsAuth
from clawft.gateway.core import Gateway
from clawft.model import Caller, Reply
from clawft.provider.server import personal_server
from clawft.provider.server.personal_server import MAX_OF_ONE
from clawft.provider.server.server_providers import PersonalLogins, ServerProviders
from clawft.upstream.links import links_to
from clawft.upstream.pool import Pool
from clawft.upstream.spec import TokenExchange, UpstreamSpec
from tests.requirements import requirement
from tests.servers.ledger import Ledger
from tests.servers.web import serve

pytestmark = requirement("GUARD-06", "GUARD-07")


class Named(Ledger):
    """Takes everybody at their word."""

    def person_of(self, token: str) -> str:
        return token.partition(".")[0]


class Word:
    """The proof is the token. As `link.base.Credentials`."""

    def __init__(self, proof: str, refused: set[str]) -> None:
        self._proof, self._refused = proof, refused

    def ready(self) -> str | None:
        return None if self._proof in self._refused else f"Bearer {self._proof}"

    async def authorization(self) -> str:
        raise NeedsAuth(f"nothing for {self._proof}")

    async def challenged(self, status: int, header: str, sent: str) -> bool:
        return False


class House:
    def __init__(self, folder: Path, server: Named, connections: int) -> None:
        self.server = server
        self.refused: set[str] = set()
        self.pool = Pool(folder / "cache", links_to, [], connections)
        self.gateway = Gateway()
        people = PersonalLogins("https://login.example", lambda spec, proof: Word(proof, self.refused))
        ServerProviders(self.pool, self.gateway, people=people)

    async def call(self, proof: str, tool: str = "whoami") -> str:
        reply: Reply = await self.gateway.call(caller(proof), f"ledger__{tool}")
        return json.loads(reply.result)["content"][0]["text"]

    async def names(self, proof: str) -> list[str]:
        await self.gateway.pending.wait_for_servers(caller(proof))
        return [entry.tool.name for entry in self.gateway.tools.visible(caller(proof))]


def caller(proof: str) -> Caller:
    """`ada.2` is Ada through another program."""
    return Caller(principal=proof.partition(".")[0], agent=proof, proof=proof)


@asynccontextmanager
async def house(folder: Path, connections: int = 20) -> AsyncGenerator[House]:
    server = Named()
    async with serve(server.respond) as served:
        server.web = served
        made = House(folder, server, connections)
        try:
            spec = UpstreamSpec("ledger", url=served.url, exchange=TokenExchange("weft"))
            await made.pool.set_servers({"ledger": spec})
            yield made
        finally:
            await made.pool.close()


async def test_more_people_than_connections_all_get_their_turn(tmp_path: Path) -> None:
    async with house(tmp_path, connections=3) as made:
        people = [f"p{number}" for number in range(8)]
        for person in (*people, *people):
            assert await made.call(person) == f"{person} called whoami"
        assert made.server.crossed == []
        assert not (tmp_path / "cache").exists() or not list((tmp_path / "cache").iterdir()), "nothing is written"


async def test_one_person_with_many_programs_takes_their_own_places_only(tmp_path: Path) -> None:
    async with house(tmp_path, connections=100) as made:
        await made.call("bob")
        for number in range(MAX_OF_ONE + 4):
            assert await made.call(f"ada.{number}") == "ada called whoami"
        assert len(made.pool.private) == MAX_OF_ONE + 1
        sessions = len(made.server.sessions)
        await made.call("bob")
        assert len(made.server.sessions) == sessions, "bob has kept his"
        assert await made.call("ada.0") == "ada called whoami", "and the first of ada's comes back"
        assert len(made.server.sessions) == sessions + 1


async def test_whoever_gave_way_keeps_their_list_and_comes_back_with_the_next_call(tmp_path: Path) -> None:
    async with house(tmp_path) as made:
        assert await made.names("ada") == ["whoami", "only_ada"]
        made.pool.private.end_server("ledger")
        assert [entry.tool.name for entry in made.gateway.tools.visible(caller("ada"))] == ["whoami", "only_ada"]
        assert await made.call("ada", "only_ada") == "ada called only_ada"
        assert list(made.server.sessions.values()) == ["ada", "ada"]


async def test_people_who_stay_away_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with house(tmp_path) as made:
        await made.call("ada")
        monkeypatch.setattr(personal_server, "IDLE_SECONDS", 0.0)
        await made.call("bob")
        assert len(made.pool.private) == 1


async def test_a_person_who_was_refused_is_tried_again_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path) as made:
        made.refused.add("ada")
        assert await made.names("ada") == []
        assert await made.call("ada") == "ledger: nothing for ada"
        made.refused.clear()
        assert await made.call("ada") == "ledger: nothing for ada", "not with every call"
        monkeypatch.setattr(personal_server, "AGAIN_SECONDS", 0.0)
        assert await made.call("ada") == "ada called whoami"
        assert await made.names("ada") == ["whoami", "only_ada"]


async def test_with_the_server_go_all_sessions(tmp_path: Path) -> None:
    async with house(tmp_path) as made:
        await asyncio.gather(made.call("ada"), made.call("bob"))
        await made.pool.set_servers({})
        assert len(made.pool.private) == 0
        assert await made.names("ada") == []


async def test_people_hear_of_their_own_changes_and_a_new_catalog_is_theirs_alone(tmp_path: Path) -> None:
    async with house(tmp_path) as made:
        assert (await made.names("ada"), await made.names("bob")) == (["whoami", "only_ada"], ["whoami", "only_bob"])
        assert [entry.tool.name for entry in made.gateway.tools.visible(Caller())] == []
        assert made.gateway.tools.entries == ()
        assert made.gateway.tools.find("ledger__only_ada", caller("bob")) is None
        assert made.gateway.tools.find_visible("ledger__only_ada", caller("ada")) is not None
        found = made.gateway.tools.search(caller("bob"), "only", 9)
        assert "ledger__only_ada" not in [entry.name for entry in found]


async def test_what_an_issuer_says_when_it_refuses_is_shown_with_nothing_hidden_in_it(tmp_path: Path) -> None:
    async with house(tmp_path) as made:
        made.refused.add("ada\x1b[2J\u202e")
        assert await made.call("ada\x1b[2J\u202e") == "ledger: nothing for ada⟨U+001B⟩[2J⟨U+202E⟩"


async def test_whoever_calls_a_server_that_is_not_there_yet_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not that there is no such tool."""

    async def never(word: Word) -> str:
        return await asyncio.Future()

    monkeypatch.setattr(personal_server, "READY_SECONDS", 0.1)
    monkeypatch.setattr(Word, "authorization", never)
    async with house(tmp_path) as made:
        made.refused.add("ada")
        assert await made.call("ada") == "ledger is not ready after 0.1 s (call it again in a moment)"
