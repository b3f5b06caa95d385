"""APIs of models that misbehave: answers without end, packed, of another kind, or from somebody else."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from clawft.delegate import desk, sdk
from clawft.delegate.budget import RunBounds, RunEnd
from clawft.delegate.events import CallEnded
from clawft.delegate.http_client import BESIDE_BYTES, TOKEN_BYTES
from clawft.delegate.key import ApiKey
from clawft.errors import DelegationFailed
from clawft.policy.delegation import DelegationConfig, Target
from tests.delegate.support import Listener, gateway
from tests.delegate.test_adapters import KEY, MAKERS, Make, looped
from tests.delegate.test_desk import desk_of, job
from tests.requirements import requirement

pytestmark = pytest.mark.slow  # the libraries take a second to load

Pieces = Callable[[], Iterable[bytes]]
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
PACKED = STREAM.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")
WRONG = STREAM.replace(b"200 OK", b"400 Bad Request")
SHORT = RunBounds(answer_tokens=100)
MOST = BESIDE_BYTES + 100 * TOKEN_BYTES


@pytest.fixture(params=sorted(MAKERS))
def make(request: pytest.FixtureRequest) -> Make:
    return MAKERS[request.param]


@asynccontextmanager
async def saying(pieces: Pieces) -> AsyncGenerator[tuple[str, list[int]]]:
    """The address of an API that answers everything like this, and how much of each answer it got rid of."""
    sent: list[int] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().split(b"content-length:")[1].split(b"\r\n")[0]
        await reader.readexactly(int(length))
        sent.append(0)
        try:
            for piece in pieces():
                writer.write(piece)
                await writer.drain()
                sent[-1] += len(piece)
        except OSError:
            pass  # nobody listens any more
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", sent


def endless(first: bytes) -> Pieces:
    def pieces() -> Iterable[bytes]:
        yield first
        for _ in range(1000):
            yield b"a" * 65_536

    return pieces


@requirement("DELEG-15", "DELEG-16")
@pytest.mark.parametrize("first", [STREAM + b"data: ", STREAM + b": ", WRONG], ids=["line", "comment", "error"])
async def test_an_answer_without_end_is_heard_no_longer_than_one_can_be(make: Make, first: bytes) -> None:
    async with saying(endless(first)) as (url, sent):
        outcome = await looped(make(url), Listener(), SHORT)
    assert (outcome.state, outcome.reason) == (RunEnd.FAILED, f"the answer is longer than {MOST} bytes")
    assert len(sent) == 1
    assert sent[0] < 16 * MOST  # and what the kernel keeps of it


@requirement("DELEG-16")
async def test_a_packed_answer_is_not_unpacked(make: Make) -> None:
    bomb = gzip.compress(b"data: " + b"a" * 10_000_000)
    async with saying(lambda: [PACKED, bomb]) as (url, sent):
        outcome = await looped(make(url), Listener())
    assert (outcome.state, outcome.reason) == (RunEnd.FAILED, "the answer is packed although we ask for plain ones")
    assert len(sent) == 1


@requirement("DELEG-13", "DELEG-16")
async def test_nothing_follows_to_another_address(make: Make) -> None:
    async with saying(lambda: [STREAM]) as (elsewhere, taken):
        moved = f"HTTP/1.1 307 Moved\r\nlocation: {elsewhere.replace('127.0.0.1', 'localhost')}/v1/messages\r\n"
        async with saying(lambda: [moved.encode() + b"content-length: 0\r\n\r\n"]) as (url, _):
            outcome = await looped(make(url), Listener())
    assert outcome.state is RunEnd.FAILED
    assert "307" in outcome.reason
    assert "the key is not taken there" in outcome.hint
    assert taken == []


@requirement("DELEG-13")
async def test_a_library_alone_goes_wherever_it_is_sent() -> None:
    """With all that was said to the model."""
    import anthropic

    async with saying(lambda: [STREAM]) as (elsewhere, taken):
        moved = f"HTTP/1.1 307 Moved\r\nlocation: {elsewhere.replace('127.0.0.1', 'localhost')}/v1/messages\r\n"
        async with saying(lambda: [moved.encode() + b"content-length: 0\r\n\r\n"]) as (url, _):
            client = anthropic.AsyncAnthropic(api_key="key", base_url=url, max_retries=0)
            await client.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "x"}])
    assert len(taken) == 1


# ── answers that are none ────────────────────────────────────────────────────────────────────────────────────────────


def messages(*blocks: dict[str, Any], usage: Any = 1) -> Pieces:
    """A stream of the Messages API with these blocks, the arguments of calls as they are spelled in `input`."""
    told: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": usage, "output_tokens": 0}}}
    ]
    for at, block in enumerate(blocks):
        given = block.pop("input", None)
        told.append({"type": "content_block_start", "index": at, "content_block": block})
        if given is not None:
            delta = {"type": "input_json_delta", "partial_json": given}
            told.append({"type": "content_block_delta", "index": at, "delta": delta})
        told.append({"type": "content_block_stop", "index": at})
    told.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": usage}})
    told.append({"type": "message_stop"})
    events = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in told]
    return lambda: [STREAM, *events]


def use(**members: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "1", "name": "demo__echo", "input": "{}"} | members


@requirement("AGENT-04", "DELEG-15")
@pytest.mark.parametrize(
    "block",
    [use(id=None), use(name=None), use(name=17), use(name={"a": 1}), use(input="[1]"), use(input='"x"')],
    ids=["no id", "no name", "a number", "an object", "a list", "a text"],
)
async def test_a_call_that_is_none_is_a_failure_like_any_other(
    block: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawft.delegate.retry.MAX_TRIES", 1)
    async with saying(messages(block)) as (url, _):
        outcome = await looped(MAKERS["claude"](url), Listener())
    assert outcome.state is RunEnd.FAILED
    assert outcome.reason.startswith("the model asks for a call that is none: Expected")


@requirement("AGENT-04", "DELEG-14")
@pytest.mark.parametrize("given", ['{"text": "whole", "to": "no', '{"text": "whole",', '{"text": "whole"} more'])
async def test_a_call_with_half_its_arguments_is_not_made(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude's library would leave out what is not whole, and a deletion may be of all there is then."""
    monkeypatch.setattr("clawft.delegate.retry.MAX_TRIES", 1)
    listener = Listener()
    async with saying(messages(use(input=given))) as (url, _):
        outcome = await looped(MAKERS["claude"](url), listener)
    assert (outcome.state, outcome.calls) == (RunEnd.FAILED, 0)
    assert outcome.reason.startswith("the arguments for a call are no JSON object")
    assert listener.of(CallEnded) == []


@requirement("DELEG-15")
async def test_a_count_beyond_reckoning_ends_it_as_too_many_tokens() -> None:
    async with saying(messages(use(), usage=10**400)) as (url, _):
        outcome = await looped(MAKERS["claude"](url), Listener())
    assert (outcome.state, outcome.calls) == (RunEnd.TOKENS, 1)


@requirement("DELEG-15")
@pytest.mark.parametrize("usage", ["many", -(10**12)])
async def test_what_is_no_count_of_tokens_is_none(usage: Any) -> None:
    async with saying(messages({"type": "text", "text": "hi"}, usage=usage)) as (url, _):
        outcome = await looped(MAKERS["claude"](url), Listener())
    assert (outcome.state, outcome.text, outcome.spent.usage.total) == (RunEnd.DONE, "hi", 0)


@requirement("DELEG-15")
async def test_half_a_character_costs_no_answer() -> None:
    listener = Listener()
    async with saying(messages({"type": "text", "text": "x\ud83dy"})) as (url, _):
        outcome = await looped(MAKERS["claude"](url), listener)
    assert (outcome.state, outcome.text) == (RunEnd.DONE, "x\ufffdy")


# ── beside the loop ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-12", "DELEG-23")
async def test_a_first_task_delays_nobody_while_its_library_is_loaded_and_its_key_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[threading.Thread] = []

    def load(library: str, extra: str) -> Any:
        threads.append(threading.current_thread())
        raise DelegationFailed("far enough")

    def read_key(reference: str) -> ApiKey:
        threads.append(threading.current_thread())
        return ApiKey(KEY)

    monkeypatch.setattr(sdk, "load", load)
    monkeypatch.setattr(desk, "read_key", read_key)
    made = desk_of(gateway(), DelegationConfig(claude_enabled=True))
    with pytest.raises(DelegationFailed, match="far enough"):
        await made.run(job("x", Listener(), target=Target.CLAUDE))
    assert len(threads) == 3
    assert threading.main_thread() not in threads
