"""The test kit we ship: a server that is a table of answers."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from clawft.errors import JsonRpcFailure, LinkClosed, LinkError, NeedsAuth, RequestTimeout
from clawft.link.base import OutgoingRequest
from clawft.link.deadline import Deadline
from clawft.link.memory import MemoryLink
from clawft.wire.jsonrpc.messages import Failure, Notification, Request, Response
from tests.requirements import requirement


async def opened(link: MemoryLink) -> tuple[list[Request | Notification], list[LinkError]]:
    heard: list[Request | Notification] = []
    lost: list[LinkError] = []
    await link.open(lambda message, stream: heard.append(message), lost.append)
    return heard, lost


@requirement("LINK-02", "T-2.3", "LINK-24", "LINK-01")
async def test_answers_come_from_the_table_and_everything_sent_is_kept() -> None:
    async def slowly(asked: OutgoingRequest) -> Mapping[str, Any]:
        await asyncio.sleep(0)
        return {"was": json.loads(asked.params)}

    link = MemoryLink({"a": {"n": 1}, "b": b'{"n":1.50}', "c": slowly, "d": JsonRpcFailure(7, "no", {"x": 1})})
    await opened(link)
    assert await link.request(OutgoingRequest("a")) == Response(b"1", b'{"n":1}')
    assert await link.request(OutgoingRequest("b")) == Response(b"2", b'{"n":1.50}')
    assert await link.request(OutgoingRequest("c", b"[1]")) == Response(b"3", b'{"was":[1]}')
    failure = await link.request(OutgoingRequest("d"))
    assert isinstance(failure, Failure)
    assert (failure.read().error_code, failure.read().error_data) == (7, {"x": 1})
    missing = await link.request(OutgoingRequest("nobody"))
    assert isinstance(missing, Failure)
    assert missing.read().error_code == -32601
    await link.notify("notifications/x", b"{}")
    assert (link.kind, link.methods) == ("sdk", ["a", "b", "c", "d", "nobody"])
    assert link.notices == [Notification("notifications/x", b"{}")]


@requirement("LINK-02")
async def test_it_can_fail_fall_silent_ask_and_be_gone() -> None:
    async def never(_: OutgoingRequest) -> Mapping[str, Any]:
        await asyncio.Event().wait()
        return {}

    link = MemoryLink({"login": NeedsAuth("needs a login"), "slow": never})
    heard, lost = await opened(link)
    with pytest.raises(NeedsAuth):
        await link.request(OutgoingRequest("login"))
    with pytest.raises(RequestTimeout):
        await link.request(OutgoingRequest("slow"), Deadline("slow", 0.05))
    link.ask(5, "ping")
    await link.answer(b'{"jsonrpc":"2.0","id":5,"result":{}}')
    assert (heard, link.replies) == ([Request(b"5", "ping", b"{}")], [Response(b"5", b"{}")])
    link.break_off()
    assert len(lost) == 1
    with pytest.raises(LinkClosed):
        await link.request(OutgoingRequest("login"))
