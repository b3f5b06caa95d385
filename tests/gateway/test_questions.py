"""A tool asks back in the handshake era: as a request of ours, on the stream of its call."""

import asyncio
import json
from typing import Any

import pytest

from clawft.model import Call, Question, Reply
from tests.gateway.asking import ADA, CAN_FILL, FORM, server
from tests.gateway.support import Demo, Gate, Pipe, pipe, serving, soon, texts
from tests.requirements import requirement


async def asked(caller: Pipe, method: str = "elicitation/create") -> dict[str, Any]:
    return await caller.message(lambda m: m.get("method") == method)


@requirement("RES-10", "SHELL-12")
@pytest.mark.parametrize(("revision", "has_mode"), [("2025-06-18", False), ("2025-11-25", True)])
async def test_the_client_is_asked_and_its_answer_reaches_the_tool(revision: str, has_mode: bool) -> None:
    async with pipe(server()) as caller:
        await caller.initialize(revision, CAN_FILL)
        id = caller.send("tools/call", {"name": "demo__greet"})
        question = await asked(caller)
        assert question["params"]["message"] == "Who⟨U+202E⟩ are you?"
        assert ("mode" in question["params"]) is has_mode
        caller.write({"jsonrpc": "2.0", "id": question["id"], "result": ADA})
        assert texts(await caller.answer(id)) == ["hello ada"]


@requirement("RES-08", "SHELL-12")
@pytest.mark.parametrize(("revision", "messages"), [("2025-06-18", 2), ("2025-11-25", 1)])
async def test_a_model_is_given_blocks_in_the_form_its_client_knows(revision: str, messages: int) -> None:
    blocks = [{"type": "text", "text": text} for text in ("one", "two")]
    question = Question("sampling/createMessage", {"messages": [{"role": "user", "content": blocks}], "maxTokens": 5})

    async def sample(call: Call) -> Reply:
        return Reply.text(json.dumps(await call.talk.ask({"s": question})))

    async with pipe(serving(Demo().add("sample", sample))) as caller:
        await caller.initialize(revision, {"sampling": {}})
        id = caller.send("tools/call", {"name": "demo__sample"})
        request = await asked(caller, "sampling/createMessage")
        told = [each["content"] for each in request["params"]["messages"]]
        assert (len(told), told if messages > 1 else told[0]) == (messages, blocks)
        answer = {"role": "assistant", "content": {"type": "text", "text": "ok"}, "model": "m"}
        caller.write({"jsonrpc": "2.0", "id": request["id"], "result": answer})
        assert "ok" in texts(await caller.answer(id))[0]


@requirement("WIRE-05")
async def test_wrong_second_and_late_answers_reach_nobody() -> None:
    async with pipe(server()) as caller:
        await caller.initialize(capabilities=CAN_FILL)
        id = caller.send("tools/call", {"name": "demo__greet"})
        question = await asked(caller)
        for wrong in (str(question["id"]), question["id"] + 100, None):
            caller.write({"jsonrpc": "2.0", "id": wrong, "result": {"action": "decline"}})
        for answer in (ADA, {"action": "cancel"}):
            caller.write({"jsonrpc": "2.0", "id": question["id"], "result": answer})
        assert texts(await caller.answer(id)) == ["hello ada"]
        caller.write({"jsonrpc": "2.0", "id": question["id"], "result": ADA})
        assert caller.messages == []


@requirement("SHELL-08")
@pytest.mark.parametrize(
    "answer",
    [{"error": {"code": -1, "message": "nobody home"}}, {"error": {}}, {"result": 5}, {"result": []}, {"result": None}],
)
async def test_an_answer_that_is_none_fails_the_call_and_nothing_else(answer: dict[str, Any]) -> None:
    async with pipe(server()) as caller:
        await caller.initialize(capabilities=CAN_FILL)
        id = caller.send("tools/call", {"name": "demo__greet"})
        caller.write({"jsonrpc": "2.0", "id": (await asked(caller))["id"], **answer})
        failed = await caller.answer(id)
        assert "error" in failed or failed["result"]["isError"]
        assert "internal error" not in json.dumps(failed)
        assert (await caller.ask("ping"))["result"] == {}


@requirement("WIRE-05", "SHELL-08")
@pytest.mark.parametrize(
    "answer",
    [
        b'{"jsonrpc":"2.0","id":%d}',
        b'{"jsonrpc":"2.0","id":%d,"result":{"action":"decline"},"error":{"code":1,"message":"x"}}',
        b'{"jsonrpc":"2.0","id":%d,"result":{"action":"dec',
        b'{"jsonrpc":2,"id":%d,"result":{"action":"decline"}}',
    ],
)
async def test_an_answer_that_cannot_be_read_ends_the_question_and_no_request_of_the_caller(answer: bytes) -> None:
    """As `JSON.stringify` writes a result that is undefined, say. Its id is ours: the call may have the same."""
    async with pipe(server()) as caller:
        await caller.initialize(capabilities=CAN_FILL)
        id = caller.send("tools/call", {"name": "demo__greet"})
        caller.line(answer % (await asked(caller))["id"])
        assert (await caller.message(lambda m: "error" in m))["id"] is None
        failed = await caller.answer(id)
        assert failed["result"]["isError"]
        assert "the client's answer is not a message" in texts(failed)[0]


@requirement("SHELL-08")
@pytest.mark.parametrize(
    ("tool", "capabilities"),
    [("greet", {}), ("greet", {"elicitation": {"url": {}}}), ("samples", CAN_FILL), ("needs", CAN_FILL)],
)
async def test_a_client_that_cannot_be_asked_is_told_in_the_result(tool: str, capabilities: dict[str, Any]) -> None:
    async with pipe(server()) as caller:
        await caller.initialize(capabilities=capabilities)
        answer = await caller.call(f"demo__{tool}")
        assert answer["result"]["isError"] is True
        assert "client" in texts(answer)[0]
        assert caller.messages == []


@requirement("SHELL-12")
async def test_cancelling_the_call_withdraws_the_question() -> None:
    async with pipe(server()) as caller:
        await caller.initialize(capabilities=CAN_FILL)
        id = caller.send("tools/call", {"name": "demo__greet"})
        question = await asked(caller)
        caller.notify("notifications/cancelled", requestId=id)
        withdrawn = await caller.notice("notifications/cancelled")
        assert withdrawn["params"]["requestId"] == question["id"]


@requirement("SHELL-14")
async def test_a_caller_that_goes_away_ends_the_waiting() -> None:
    ended = Gate()

    async def waits(call: Call) -> Reply:
        ended.begun.set()
        try:
            await call.talk.ask({"k": Question("elicitation/create", FORM)})
        finally:
            ended.cancelled.set()
        return Reply.text("")

    async with pipe(serving(Demo().add("waits", waits))) as caller:
        await caller.initialize(capabilities=CAN_FILL)
        caller.send("tools/call", {"name": "demo__waits"})
        await soon(ended.begun)
    await soon(ended.cancelled)


@requirement("RES-10")
async def test_questions_of_several_calls_do_not_mix() -> None:
    async with pipe(server()) as caller:
        await caller.initialize(capabilities=CAN_FILL)
        ids = [caller.send("tools/call", {"name": "demo__greet"}) for _ in range(5)]
        asked_ids = [(await asked(caller))["id"] for _ in ids]
        for n, question in reversed(list(enumerate(asked_ids))):
            named = {"action": "accept", "content": {"name": str(n)}}
            caller.write({"jsonrpc": "2.0", "id": question, "result": named})
        answers = await asyncio.gather(*(caller.answer(id) for id in ids))
        assert [texts(answer)[0] for answer in answers] == [f"hello {n}" for n in range(5)]
