"""Progress and log messages: only for who asked, only on the request they belong to."""

from pathlib import Path
from typing import Any

import pytest
from mcp_types.methods import parse_server_notification

from clawft.model import Call, Reply
from clawft.wire.meta import LEVELS
from tests.gateway.support import Demo, modern, pipe, serving, texts
from tests.requirements import requirement


async def busy(call: Call) -> Reply:
    call.talk.progress(1, 3, "one")
    call.talk.progress(1, 3, "again")
    call.talk.progress(0.5)
    call.talk.progress(2.5, message="\u202emore")
    return Reply.text("done")


async def chatty(call: Call) -> Reply:
    for level in LEVELS:
        call.talk.log(level, {"said": level}, "demo")
    return Reply.text("done")


def server() -> Any:
    return serving(Demo().add("busy", busy).add("chatty", chatty))


async def notices(caller: Any, method: str) -> list[dict[str, Any]]:
    """Those that came so far, taken out."""
    found = [message for message in caller.messages if message.get("method") == method]
    caller.messages = [message for message in caller.messages if message.get("method") != method]
    return [message["params"] for message in found]


@requirement("SHELL-12")
@pytest.mark.parametrize("era", ["handshake", "stateless"])
@pytest.mark.parametrize("token", ["p", 5, -5, ""])
async def test_progress_grows_and_carries_the_token_as_it_came(era: str, token: str | int) -> None:
    async with pipe(server()) as caller:
        if era == "handshake":
            await caller.initialize()
        params = modern(token=token) if era == "stateless" else {"_meta": {"progressToken": token}}
        assert texts(await caller.call("demo__busy", params)) == ["done"]
        assert caller.messages[0]["method"] == "notifications/progress"
        seen = await notices(caller, "notifications/progress")
        assert seen == [
            {"progressToken": token, "progress": 1, "total": 3, "message": "one"},
            {"progressToken": token, "progress": 2.5, "message": "⟨U+202E⟩more"},
        ]
        for params in seen:
            version = "2026-07-28" if era == "stateless" else "2025-11-25"
            parse_server_notification("notifications/progress", version, params)


@requirement("SHELL-12")
@pytest.mark.parametrize("token", [None, 1.5, {}, True])
async def test_without_a_good_token_there_is_no_progress(token: Any) -> None:
    async with pipe(server()) as caller:
        await caller.initialize()
        await caller.call("demo__busy", {"_meta": {"progressToken": token}} if token is not None else None)
        assert caller.messages == []


@requirement("RES-13")
async def test_the_first_revision_knows_no_progress_message() -> None:
    async with pipe(server()) as caller:
        await caller.initialize("2024-11-05")
        await caller.call("demo__busy", {"_meta": {"progressToken": 1}})
        assert all("message" not in params for params in await notices(caller, "notifications/progress"))


@requirement("SHELL-12")
async def test_the_level_of_a_session_sticks() -> None:
    async with pipe(server()) as caller:
        await caller.initialize()
        await caller.call("demo__chatty")
        assert caller.messages == []
        for level in LEVELS:
            assert (await caller.ask("logging/setLevel", {"level": level}))["result"] == {}
            await caller.call("demo__chatty")
            seen = await notices(caller, "notifications/message")
            assert [params["level"] for params in seen] == list(LEVELS[LEVELS.index(level) :])
            assert seen[0] == {"level": level, "data": {"said": level}, "logger": "demo"}


@requirement("SHELL-18")
async def test_the_level_of_a_request_is_for_that_request_alone() -> None:
    async with pipe(server()) as caller:
        await caller.call("demo__chatty", modern(level="error"))
        seen = await notices(caller, "notifications/message")
        assert [params["level"] for params in seen] == ["error", "critical", "alert", "emergency"]
        await caller.call("demo__chatty", modern())
        assert caller.messages == []


@requirement("SHELL-18")
async def test_an_unknown_level_is_refused() -> None:
    async with pipe(server()) as caller:
        assert (await caller.call("demo__chatty", modern(level="loud")))["error"]["code"] == -32602


@requirement("WIRE-08")
async def test_who_does_not_read_misses_notices_but_no_answer() -> None:
    served = server()
    async with pipe(served) as caller:
        await caller.initialize()
        caller.served._unread = lambda: 100 * 1024 * 1024  # pyright: ignore[reportPrivateUsage]  # a full pipe
        assert texts(await caller.call("demo__busy", {"_meta": {"progressToken": 1}})) == ["done"]
        assert caller.messages == []


async def odd(call: Call) -> Reply:
    call.talk.log("info", {"where": Path("a"), "half": "\ud800", "what": object})
    return Reply.text("done")


@requirement("SHELL-12")
async def test_what_a_tool_logs_and_json_does_not_know_stands_as_its_text() -> None:
    async with pipe(serving(Demo().add("odd", odd))) as caller:
        await caller.initialize()
        await caller.ask("logging/setLevel", {"level": "debug"})
        assert texts(await caller.call("demo__odd")) == ["done"]
        (told,) = await notices(caller, "notifications/message")
        assert told["data"] == {"where": "a", "half": "\ufffd", "what": "<class 'object'>"}
