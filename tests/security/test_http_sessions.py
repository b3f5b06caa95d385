"""Sessions over HTTP in the hands of strangers: not guessed, not mixed, not brought back."""

import asyncio
import json

import pytest

from tests.requirements import requirement
from tests.security.well import is_well
from tests.servers.raw_http import Answer, ask, connect, head, hello, message, open_session, post
from tests.servers.weft import Served

pytestmark = pytest.mark.slow

PARAMS = -32602
MISMATCH = -32020


@requirement("SHELL-19")
@pytest.mark.parametrize("id", ["", "x", "0", "../../etc/passwd", "A" * 43, "\u00ff" * 8, "a, b"])
async def test_a_guessed_session_is_unknown(served: Served, id: str) -> None:
    await open_session(served.port)
    for data in (
        post(served.port, message(1, "tools/list"), {"Mcp-Session-Id": id}),
        head(served.port, "GET", {"Mcp-Session-Id": id, "Accept": "text/event-stream"}),
        head(served.port, "DELETE", {"Mcp-Session-Id": id}),
    ):
        answer = await ask(served.port, data)
        assert answer.status == (404 if id else 400)
    await is_well(served.port)


@requirement("SHELL-19")
async def test_session_ids_cannot_be_guessed_from_one_another(served: Served) -> None:
    ids = [(await open_session(served.port)).id for _ in range(20)]
    assert len({id[:6] for id in ids}) == len(ids)
    assert all(len(id) >= 32 and id.isascii() and id.isprintable() for id in ids)


@requirement("SHELL-19")
async def test_an_ended_session_is_unknown(served: Served) -> None:
    session = await open_session(served.port)
    assert (await ask(served.port, session.delete())).status == 204
    assert (await ask(served.port, session.post(message(1, "ping")))).status == 404
    assert (await ask(served.port, session.delete())).status == 404


@requirement("SHELL-18", "SHELL-19")
@pytest.mark.parametrize(
    ("versions", "status"),
    [
        (("2025-11-25", "2025-11-25"), 200),
        (("2099-01-01", "2025-11-25"), 400),
        (("2026-07-28", "2025-11-25"), 400),
        (("2025-11-25", "2025-06-18"), 400),
    ],
)
async def test_one_request_of_a_session_has_one_version(served: Served, versions: tuple[str, str], status: int) -> None:
    """Whoever stands before us may have looked at the other."""
    session = await open_session(served.port)
    first, second = versions
    said = session.post(message(1, "ping"), {"MCP-Protocol-Version": f"{first}\r\nMCP-Protocol-Version: {second}"})
    answer = await ask(served.port, said)
    assert answer.status == status
    if status != 200:
        assert answer.code == MISMATCH


@requirement("SHELL-19")
async def test_a_failed_initialize_gives_no_session(served: Served) -> None:
    answer = await ask(served.port, post(served.port, message(1, "initialize", {"protocolVersion": 3})))
    assert answer.code == PARAMS
    assert "mcp-session-id" not in answer.headers


@requirement("WIRE-22")
@pytest.mark.parametrize(("revision", "status"), [("2025-03-26", 200), ("2025-06-18", 400), ("2025-11-25", 400)])
async def test_a_batch_is_for_one_revision_only(served: Served, revision: str, status: int) -> None:
    session = await open_session(served.port, revision)
    batch = b"[" + message(1, "ping") + b"," + message("b", "tools/list") + b"]"
    answer = await ask(served.port, session.post(batch))
    assert answer.status == status
    if status == 200:
        told: object = json.loads(answer.body)
        assert isinstance(told, list)
        assert {member["id"] for member in told} == {1, "b"}  # pyright: ignore[reportUnknownVariableType]  # any JSON


@requirement("WIRE-05")
async def test_an_answer_nobody_asked_for_is_taken_and_dropped(served: Served) -> None:
    session = await open_session(served.port)
    for body in (
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}',
    ):
        assert (await ask(served.port, session.post(body))).status == 202
    assert (await ask(served.port, session.post(message(1, "ping")))).json()["result"] == {}


@requirement("WIRE-05", "SHELL-19")
async def test_sessions_do_not_mix(served: Served) -> None:
    """Equal ids in two sessions at one time; a cancel in one does not reach the other."""
    first, second = await open_session(served.port), await open_session(served.port)
    arguments = {"token": "mine", "seconds": 0.6}

    async def run(data: bytes) -> Answer:
        return await ask(served.port, data)

    running = asyncio.create_task(run(first.call(1, "probe__wait", arguments)))
    other = asyncio.create_task(run(second.call(1, "probe__wait", {**arguments, "token": "other"})))
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    third = await open_session(served.port)
    assert (await ask(served.port, third.post(cancel))).status == 202
    tokens = [(await task).messages()[-1]["result"]["content"][0]["text"] for task in (running, other)]
    assert tokens == ["mine", "other"]


@requirement("SHELL-19")
@pytest.mark.parametrize("event", ["x", "0.", ".5", "9.1", "0.999999999999999999999", "-1.-1", "0.1.2"])
async def test_a_made_up_event_id_is_refused(served: Served, event: str) -> None:
    session = await open_session(served.port)
    answer = await ask(served.port, session.get({"Last-Event-ID": event}))
    assert answer.status == 400  # 404 would end a session that is well


@requirement("SHELL-19")
async def test_one_session_has_one_stream(served: Served) -> None:
    session = await open_session(served.port)
    async with connect(served.port) as line:
        await line.send(session.get())
        status, headers = await line.answer_head()
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        assert (await ask(served.port, session.get())).status == 409


@requirement("SHELL-02", "SHELL-19")
async def test_unknown_offers_are_answered_with_our_newest(served: Served) -> None:
    answer = await ask(served.port, hello(served.port, "2099-01-01"))
    assert answer.json()["result"]["protocolVersion"] == "2025-11-25"
