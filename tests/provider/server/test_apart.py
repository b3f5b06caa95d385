"""Servers that keep their callers apart: whatever is asked of one, it is asked of the caller's own."""

from pathlib import Path

import pytest

from clawft.model import Caller
from tests.gateway.support import modern, pipe, texts
from tests.provider.server.question.test_questions import CAN, ask, curious, house
from tests.requirements import requirement

pytestmark = pytest.mark.slow


@requirement("POOL-23", "SEC-A03")
async def test_each_person_whose_requests_stand_alone_has_one_of_their_own(tmp_path: Path) -> None:
    async with house(tmp_path, curious(tmp_path, isolation="per-session")) as mine, mine.callers() as (ada, bob):
        for person in (ada, bob):
            assert (await ask(person, "log_in"))["resultType"] == "input_required", "another has been there"
            assert (await ask(person, "log_in"))["content"][0]["text"] == "t is logged in"


@requirement("POOL-23")
async def test_the_person_at_this_machine_and_their_delegates_have_the_one_that_is_there(tmp_path: Path) -> None:
    async with (
        house(tmp_path, curious(tmp_path, isolation="per-session")) as mine,
        pipe(mine.gateway) as agent,
        pipe(mine.gateway, Caller("local/claude")) as delegate,
    ):
        for caller in (agent, delegate):
            assert texts(await caller.call("curious__echo", modern(), token="t")) == ["t"]
        assert not len(mine.pool.private)


@requirement("POOL-23")
async def test_so_has_each_conversation_for_its_prompts(tmp_path: Path) -> None:
    asked = {"name": "curious__log_in", "arguments": {"token": "t"}}
    async with house(tmp_path, curious(tmp_path, isolation="per-session")) as mine:
        one, two = Caller(session="one"), Caller(session="two")
        async with pipe(mine.gateway, one) as first, pipe(mine.gateway, two) as second:
            for agent in (first, second):
                await agent.initialize(capabilities=CAN)
                assert (await agent.ask("prompts/get", asked))["error"]["code"] == -32042, "another has been there"
                assert texts(await agent.call("curious__log_in", token="t")) == ["t is logged in"]
