"""Streams that were opened with a token, and go on when it has expired: nobody hears anything without a good one."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from clawft.auth.vault import Vault
from tests.auth.logins import logged_in
from tests.gateway.team import team
from tests.requirements import requirement
from tests.security.test_tokens import EgressProxy, bearer, rules
from tests.security.test_two_people import MINE, answer_on, question_on
from tests.servers.issuer import Issuer, issuer
from tests.servers.raw_http import PATIENCE_S, Line, Session, ask, connect, message, modern, open_session
from tests.servers.weft import ROOT, Served, gateway

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

SERVERS = ROOT / "tests" / "servers"
LIFE_S = 4
A_TICK_S = 0.5
LISTEN = {"notifications": {"toolsListChanged": True}}


class House(EgressProxy):
    def __init__(self, issuer: Issuer, served: Served, servers: Path) -> None:
        super().__init__(issuer, served)
        self.servers = servers
        """The folder with their files."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[House]:
    folder = tmp_path_factory.mktemp("expiry")
    (folder / "home" / "mcp_servers").mkdir(parents=True)
    told = {"curious": {"command": sys.executable, "args": [str(SERVERS / "curious.py"), "--era", "handshake"]}}
    async with issuer() as trusted:
        (folder / "home" / "config.toml").write_text(rules(trusted))
        with gateway(folder, "--mcp-config", json.dumps({"mcpServers": told})) as served:
            trusted.audience = served.url
            door = House(trusted, served, folder / "home" / "mcp_servers")
            async with asyncio.timeout(PATIENCE_S):
                while b"curious__form" not in (await door.knock(trusted.token())).body:
                    pass
            yield door
            assert not [line for line in served.lines if "Traceback" in line]


class Pass:
    """A token that is good for a little while."""

    def __init__(self, door: House) -> None:
        self.ends_at = int(time.time()) + LIFE_S
        self.headers = bearer(door.issuer.token(exp=self.ends_at))


async def rest_of(line: Line) -> bytes:
    """All that still comes until the other side ends the stream."""
    async with asyncio.timeout(PATIENCE_S):
        return b"".join([chunk async for chunk in line.chunks()])


def with_token(session: Session, headers: dict[str, str]) -> Session:
    return Session(session.port, session.id, session.headers["MCP-Protocol-Version"], headers)


async def lists_change(door: House, on: Line) -> str:
    """A server more, or less: every list changes. The id of the event that tells of it."""
    file = door.servers / "more.toml"
    if file.exists():
        file.unlink()
    else:
        file.write_text(f'command = "{sys.executable}"\nargs = ["{SERVERS / "tiny.py"}"]\ntrust = "trusted"\n')
    async with asyncio.timeout(PATIENCE_S):
        async for chunk in on.chunks():
            if b"tools/list_changed" in chunk:
                lines = chunk.decode().splitlines()
                return next((each[3:].strip() for each in lines if each.startswith("id:")), "")
    raise AssertionError("nothing was told")


@requirement("GUARD-06", "QUAL-12")
async def test_the_stream_of_a_session_ends_with_its_token_and_goes_on_with_the_next(door: House) -> None:
    """What came meanwhile is told to whoever comes back, and to nobody else."""
    port = door.served.port
    good = await open_session(port, headers=bearer(door.issuer.token()))
    async with connect(port) as line:
        await line.send(good.get())
        assert (await line.answer_head())[0] == 200
        heard = await lists_change(door, line)
    short = Pass(door)
    brief = with_token(good, short.headers)
    async with connect(port) as line:
        await line.send(brief.get({"Last-Event-ID": heard}))
        assert (await line.answer_head())[0] == 200
        await rest_of(line)
        assert time.time() > short.ends_at - A_TICK_S
    await expired(door, short)
    for late in (brief.get(), brief.get({"Last-Event-ID": heard}), brief.post(message(1, "ping"))):
        answer = await ask(port, late)
        assert (answer.status, answer.body) == (401, b"the token has expired")
    async with connect(port) as line:
        witness = await open_session(port, headers=bearer(door.issuer.token(sub="bob")))
        await line.send(witness.get())
        await line.answer_head()
        await lists_change(door, line)
    another = with_token(good, bearer(door.issuer.token(sub="mallory")))
    for attack in (another.get(), another.get({"Last-Event-ID": heard})):
        assert (await ask(port, attack)).status == 404
    renewed = with_token(good, bearer(door.issuer.token()))
    async with connect(port) as line:
        await line.send(renewed.get({"Last-Event-ID": heard}))
        assert (await line.answer_head())[0] == 200
        async with asyncio.timeout(PATIENCE_S):
            assert await anext(chunk async for chunk in line.chunks() if b"tools/list_changed" in chunk)


@requirement("GUARD-06", "QUAL-12")
async def test_a_listen_ends_with_its_token_and_says_so(door: House) -> None:
    port = door.served.port
    short = Pass(door)
    async with connect(port) as line:
        await line.send(modern(port, 7, "subscriptions/listen", LISTEN, short.headers))
        assert (await line.answer_head())[0] == 200
        told = [json.loads(each[5:]) for each in (await rest_of(line)).splitlines() if each.startswith(b"data:")]
        assert time.time() > short.ends_at - A_TICK_S
    assert [each.get("method", each.get("id")) for each in told] == ["notifications/subscriptions/acknowledged", 7]
    assert told[-1]["result"]["resultType"] == "complete"
    await expired(door, short)
    assert (await ask(port, modern(port, 8, "subscriptions/listen", LISTEN, short.headers))).status == 401


@requirement("GUARD-06", "QUAL-12")
@pytest.mark.parametrize("end", [10**400, 1 << 70, 4_102_444_800.5], ids=["no float", "no word", "a fraction"])
async def test_an_end_that_no_clock_will_see_harms_nothing(door: House, end: float) -> None:
    port, headers = door.served.port, bearer(door.issuer.token(exp=end))
    session = await open_session(port, headers=headers)
    async with connect(port) as stream, connect(port) as listen:
        await stream.send(session.get())
        await listen.send(modern(port, 7, "subscriptions/listen", LISTEN, headers))
        assert [(await each.answer_head())[0] for each in (stream, listen)] == [200, 200]
        async with asyncio.timeout(PATIENCE_S):
            assert await anext(chunk async for chunk in listen.chunks() if b"acknowledged" in chunk)
        await lists_change(door, stream)


@requirement("GUARD-06", "QUAL-12")
async def test_a_call_that_was_let_in_is_answered_and_only_the_same_person_answers_its_question(door: House) -> None:
    port = door.served.port
    good = await open_session(port, headers=bearer(door.issuer.token()), elicitation={"form": {}})
    short = Pass(door)
    session = with_token(good, short.headers)
    async with connect(port) as line:
        await line.send(session.call("call-1", "curious__form", {"token": "t"}))
        assert (await line.answer_head())[0] == 200
        question, _ = await question_on(line)
        await expired(door, short)
        reply = json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": MINE}).encode()
        assert (await ask(port, session.post(reply))).status == 401
        another = with_token(session, bearer(door.issuer.token(sub="mallory")))
        assert (await ask(port, another.post(reply))).status == 404
        renewed = with_token(session, bearer(door.issuer.token()))
        assert (await ask(port, renewed.post(reply))).status == 202
        assert "Ada" in await answer_on(line)


async def expired(door: House, short: Pass) -> None:
    look = modern(door.served.port, 1, "tools/list", headers=short.headers)
    async with asyncio.timeout(PATIENCE_S):
        while (await ask(door.served.port, look)).status != 401:
            pass


@requirement("GUARD-06")
async def test_a_session_is_closed_to_the_same_person_with_other_rights(door: House) -> None:
    """The rules of this gateway give them the same; to a server that is called in their name they are not the same."""
    port = door.served.port
    session = await open_session(port, headers=bearer(door.issuer.token(scope="all")))
    less = with_token(session, bearer(door.issuer.token(scope="some")))
    same = with_token(session, bearer(door.issuer.token(scope="all", jti="another")))
    assert (await ask(port, less.post(message(1, "ping")))).status == 404
    assert (await ask(port, same.post(message(1, "ping")))).status == 200


@requirement("GUARD-06", "GUARD-07")
async def test_who_loses_a_right_has_lost_it_at_once_and_nobody_else_notices(door: House) -> None:
    """Streams under the old rules end, their session is unknown; a call that was let in is answered."""
    port, config = door.served.port, door.servers.parent / "config.toml"
    ada, bob = bearer(door.issuer.token()), bearer(door.issuer.token(sub="bob"))
    hers = await open_session(port, headers=ada, elicitation={"form": {}})
    his = await open_session(port, headers=bob)
    before = config.read_text()
    async with connect(port) as call, connect(port) as stream, connect(port) as listen:
        await call.send(hers.call("call-1", "curious__form", {"token": "t"}))
        await stream.send(hers.get())
        await listen.send(modern(port, 7, "subscriptions/listen", LISTEN, ada))
        for each in (call, stream, listen):
            assert (await each.answer_head())[0] == 200
        question, _ = await question_on(call)
        config.write_text(before.replace("{ allow", '{ subject = "bob", allow'))
        try:
            await rest_of(stream)
            assert b'"resultType":"complete"' in await rest_of(listen)
            assert (await ask(port, modern(port, 1, "tools/list", headers=ada))).json()["result"]["tools"] == []
            reply = json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": MINE}).encode()
            assert (await ask(port, hers.post(reply))).status == 404
            assert (await ask(port, his.post(message(1, "ping")))).status == 200
        finally:
            config.write_text(before)
        async with asyncio.timeout(PATIENCE_S):
            while (await ask(port, hers.post(reply))).status != 202:
                pass
        assert "Ada" in await answer_on(call)


@requirement("GUARD-06")
async def test_rules_that_cannot_be_read_change_nothing(door: House) -> None:
    port, config = door.served.port, door.servers.parent / "config.toml"
    headers, before = bearer(door.issuer.token()), config.read_text()
    config.write_text(before + "grants = 5")
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not [line for line in door.served.lines if "the changed rules of gateway.auth are not" in line]:
                await ask(port, modern(port, 1, "tools/list", headers=headers))
        assert b"curious__form" in (await ask(port, modern(port, 1, "tools/list", headers=headers))).body
    finally:
        config.write_text(before)


@requirement("GUARD-06", "QUAL-12")
async def test_so_it_is_with_the_tokens_of_a_real_provider(tmp_path: Path) -> None:
    async with team(tmp_path, names=(), lifetime=LIFE_S) as people:
        port = people.served.port

        async def log_in() -> dict[str, str]:
            known = await logged_in(people.provider, Vault(tmp_path / "ada"), resource=people.served.url, person="ada")
            return bearer(known.tokens.access_token)

        session = await open_session(port, headers=await log_in())
        async with connect(port) as line, connect(port) as listen:
            headers = await log_in()
            await line.send(with_token(session, headers).get())
            await listen.send(modern(port, 7, "subscriptions/listen", LISTEN, headers))
            for each in (line, listen):
                assert (await each.answer_head())[0] == 200
                await rest_of(each)
        assert (await ask(port, session.get())).status == 401
        renewed = with_token(session, await log_in())
        assert (await ask(port, renewed.post(message(1, "ping")))).status == 200
