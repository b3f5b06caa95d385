"""Clients of earlier revisions, by hand-written bytes: understood, and sent nothing newer than they know."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.requirements import requirement
from tests.servers.pipe import Json, Pipe, mcp_server, notification
from tests.servers.weft import CONFORMANCE

pytestmark = pytest.mark.slow

MODERN_ONLY = {"resultType", "ttlMs", "cacheScope", "inputRequests", "requestState"}
SINCE = {
    "2025-03-26": {"annotations", "completions"},
    "2025-06-18": {"title", "outputSchema", "structuredContent"},
    "2025-11-25": {"icons", "execution"},
    "2026-07-28": MODERN_ONLY,
}
"""Member → the revision that brought it; all of them are sent to the newest clients."""
KINDS_SINCE = {"2025-03-26": {"audio"}, "2025-06-18": {"resource_link"}}
REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


def unknown_to(revision: str, since: dict[str, set[str]]) -> set[str]:
    """What a client of this revision has never heard of."""
    return {name for brought, names in since.items() if brought > revision for name in names}


def members(value: object) -> Iterator[tuple[str, object]]:
    """Every member of every object, but not inside schemas (the tool's words) and hints (which had a title first)."""
    if isinstance(value, list):
        for each in cast("list[object]", value):
            yield from members(each)
    elif isinstance(value, dict):
        for name, inner in cast("dict[str, object]", value).items():
            yield name, inner
            if name not in ("inputSchema", "outputSchema", "annotations"):
                yield from members(inner)


async def whole_visit(pipe: Pipe, revision: str) -> list[Json]:
    """Everything a client can do in one visit; all that was sent to it."""
    said: list[Json] = [{"result": await pipe.open(revision)}]
    lists = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
    said += [await pipe.ask(method) for method in lists]
    tools = [
        "test_simple_text",
        "test_audio_content",
        "test_image_content",
        "test_multiple_content_types",
        "test_error_handling",
        "test_tool_with_progress",
    ]
    said += [await pipe.ask("tools/call", {"name": tool, "_meta": {"progressToken": tool}}) for tool in tools]
    said.append(await pipe.ask("prompts/get", {"name": "test_simple_prompt"}))
    said.append(await pipe.ask("resources/read", {"uri": "test://static-text"}))
    said.append(
        await pipe.ask(
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
                "argument": {"name": "arg1", "value": "pa"},
            },
        )
    )
    return [*said, *pipe.others]


@requirement("SHELL-02", "WIRE-12", "QUAL-15")
@pytest.mark.parametrize("revision", REVISIONS)
async def test_nothing_newer_than_its_revision_is_sent_to_a_client(tmp_path: Path, revision: str) -> None:
    async with mcp_server(tmp_path, "--names", "bare", package=CONFORMANCE) as pipe:
        said = await whole_visit(pipe, revision)
    assert all("result" in message or message.get("method") == "notifications/progress" for message in said)
    assert said[0]["result"]["protocolVersion"] == revision
    found = {name for name, _ in members(said)} & unknown_to(revision, SINCE)
    assert found == set()
    kinds = {inner for name, inner in members(said) if name == "type"} & unknown_to(revision, KINDS_SINCE)
    assert kinds == set()
    progress = [message for message in said if message.get("method") == "notifications/progress"]
    assert len(progress) == 3


@requirement("QUAL-15")
async def test_the_newest_handshake_client_does_get_what_the_older_ones_do_not(tmp_path: Path) -> None:
    """Otherwise the test above would pass for a server that never sends them."""
    async with mcp_server(tmp_path, "--names", "bare", package=CONFORMANCE) as pipe:
        said = await whole_visit(pipe, "2025-11-25")
    names = {name for name, _ in members(said)}
    assert {"annotations", "title", "outputSchema", "completions"} <= names
    assert "audio" in {inner for name, inner in members(said) if name == "type"}


@requirement("QUAL-15", "WIRE-18")
async def test_a_sound_is_said_in_words_to_a_client_that_knows_none(tmp_path: Path) -> None:
    async with mcp_server(tmp_path, "--names", "bare", "--no-builtin", package=CONFORMANCE) as pipe:
        await pipe.open("2024-11-05")
        (block,) = (await pipe.ask("tools/call", {"name": "test_audio_content"}))["result"]["content"]
        assert block["type"] == "text"
        assert "audio" in block["text"]


@requirement("QUAL-15", "SHELL-06")
@pytest.mark.parametrize("revision", REVISIONS)
async def test_structured_results_reach_old_clients_as_text(tmp_path: Path, revision: str) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open(revision)
        result = (await pipe.ask("tools/call", {"name": "probe__echo", "arguments": {"token": "old"}}))["result"]
        assert json.loads(result["content"][0]["text"]) == {"token": "old"}
        assert ("structuredContent" in result) is (revision >= "2025-06-18")


# ── batches ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def batch(pipe: Pipe, *messages: Json) -> list[Json]:
    await pipe.send(json.dumps(messages).encode() + b"\n")
    answers: Any = await pipe.read()
    assert isinstance(answers, list)
    return cast("list[Json]", answers)


def asks(id: int | str, method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def waits(id: int | str, seconds: float) -> Json:
    return asks(id, "tools/call", name="probe__wait", arguments={"token": f"t{id}", "seconds": seconds})


@requirement("WIRE-22")
async def test_a_batch_of_2025_03_26_is_answered_as_one(tmp_path: Path) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open("2025-03-26")
        answers = await batch(
            pipe,
            asks(1, "ping"),
            waits("w", 0.1),
            {"jsonrpc": "2.0", "method": "notifications/whatever"},
            {"jsonrpc": "2.0", "id": 77, "result": {}},
            asks(2, "no/such"),
            asks(3, "initialize"),
            {"id": 4},
            cast("Json", 5),
        )
        by_id = {answer["id"]: answer for answer in answers if answer["id"] is not None}
        assert by_id[1]["result"] == {}
        assert by_id["w"]["result"]["content"][0]["text"] == "tw"
        assert by_id[2]["error"]["code"] == -32601
        assert by_id[3]["error"]["code"] == -32600
        assert len(answers) == 6
        assert pipe.others == []
        await pipe.is_well()


@requirement("WIRE-22", "WIRE-05")
async def test_a_cancelled_member_does_not_hold_up_the_rest_of_its_batch(tmp_path: Path) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open("2025-03-26")
        await pipe.send(json.dumps([waits("short", 0.3), waits("endless", 600)]).encode() + b"\n")
        await pipe.is_well()
        await pipe.send(notification("notifications/cancelled", {"requestId": "endless"}))
        (answer,) = cast("list[Json]", await pipe.read())
        assert answer["id"] == "short"


@requirement("WIRE-22", "QUAL-12")
@pytest.mark.parametrize("bad", [b"[]", b"[1,", b"[" + b"[" * 5_000, b"[" + b"{}," * 200 + b"{}]"])
async def test_a_bad_batch_is_refused_as_a_whole(tmp_path: Path, bad: bytes) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open("2025-03-26")
        await pipe.send(bad + b"\n")
        refused = await pipe.read()
        assert refused["id"] is None
        assert refused["error"]["code"] in (-32600, -32700)
        await pipe.is_well()


@requirement("WIRE-22")
async def test_a_batch_of_notifications_has_no_answer(tmp_path: Path) -> None:
    async with mcp_server(tmp_path) as pipe:
        await pipe.open("2025-03-26")
        told: Json = {"jsonrpc": "2.0", "method": "notifications/whatever"}
        await pipe.send(json.dumps([told, told]).encode() + b"\n")
        await pipe.is_well()
        assert pipe.others == []
