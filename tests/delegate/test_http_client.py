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

from clawft.delegate import delegator, sdk
from clawft.delegate.budget import RunBounds, RunEnd
from clawft.delegate.events import CallEnded, RetryAnnounced
from clawft.delegate.http_client import OVERHEAD_BYTES, READ_BYTES, TOKEN_BYTES
from clawft.delegate.key import ApiKey, read_key
from clawft.errors import DelegationFailed
from clawft.policy.delegation import DelegationConfig, Target
from tests.delegate.support import Listener, gateway
from tests.delegate.test_adapters import KEY, MAKERS, Make, looped, refusing_with
from tests.delegate.test_delegator import delegator_of, job
from tests.requirements import requirement

pytestmark = pytest.mark.slow  # the libraries take a second to load

Pieces = Callable[[], Iterable[bytes]]
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
PACKED = STREAM.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")
WRONG = STREAM.replace(b"200 OK", b"400 Bad Request")
SHORT = RunBounds(answer_tokens=100)
MOST = OVERHEAD_BYTES + 100 * TOKEN_BYTES


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


@requirement("DELEG-16", "QUAL-13")
async def test_words_in_between_without_end_are_read_a_few_at_a_time(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is read in one go is worked on before anybody else is served: it was a third of a second."""
    import h11

    sizes: list[int] = []
    take = h11.Connection.receive_data

    def counted(connection: h11.Connection, data: bytes) -> None:
        sizes.append(len(data))
        take(connection, data)

    monkeypatch.setattr(h11.Connection, "receive_data", counted)
    async with saying(lambda: [b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000, WRONG]) as (url, _):
        outcome = await looped(make(url), Listener())
    assert outcome.state is RunEnd.FAILED
    assert sum(sizes) > 400_000
    assert max(sizes) <= READ_BYTES


@requirement("DELEG-16")
async def test_a_packed_answer_is_not_unpacked(make: Make) -> None:
    bomb = gzip.compress(b"data: " + b"a" * 10_000_000)
    async with saying(lambda: [PACKED, bomb]) as (url, sent):
        outcome = await looped(make(url), Listener())
    assert (outcome.state, outcome.reason) == (
        RunEnd.FAILED,
        "the response is compressed although uncompressed ones were requested",
    )
    assert outcome.hint
    assert len(sent) == 1


@requirement("DELEG-13", "DELEG-16")
async def test_nothing_follows_to_another_address(make: Make) -> None:
    async with saying(lambda: [STREAM]) as (elsewhere, taken):
        moved = f"HTTP/1.1 307 Moved\r\nlocation: {elsewhere.replace('127.0.0.1', 'localhost')}/v1/messages\r\n"
        async with saying(lambda: [moved.encode() + b"content-length: 0\r\n\r\n"]) as (url, _):
            outcome = await looped(make(url), Listener())
    assert outcome.state is RunEnd.FAILED
    assert "307" in outcome.reason
    assert "the key is not sent there" in outcome.hint
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
    [use(id=None), use(name=None), use(name=17), use(name={"a": 1})],
    ids=["no id", "no name", "a number", "an object"],
)
async def test_a_call_that_is_none_is_a_failure_like_any_other(
    block: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawft.delegate.retry.MAX_TRIES", 1)
    async with saying(messages(block)) as (url, _):
        outcome = await looped(MAKERS["claude"](url), Listener())
    assert outcome.state is RunEnd.FAILED
    assert outcome.reason.startswith("the model sent an invalid call: Expected")


@requirement("AGENT-04", "DELEG-14")
@pytest.mark.parametrize(
    "given", ['{"text": "whole", "to": "no', '{"text": "whole",', '{"text": "whole"} more', "[1]", '"x"']
)
async def test_a_call_with_half_its_arguments_is_not_made(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what is not whole a deletion may be of all there is."""
    monkeypatch.setattr("clawft.delegate.retry.MAX_TRIES", 1)
    listener = Listener()
    async with saying(messages(use(input=given))) as (url, _):
        outcome = await looped(MAKERS["claude"](url), listener)
    assert (outcome.state, outcome.calls) == (RunEnd.FAILED, 0)
    assert outcome.reason.startswith("the arguments for demo__echo are not a JSON object")
    assert outcome.hint.startswith("ask another model")
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


# ── small pieces ─────────────────────────────────────────────────────────────────────────────────────────────────────


def events(*told: dict[str, Any]) -> bytes:
    return b"".join(f"event: {each.get('type', 'message')}\ndata: {json.dumps(each)}\n\n".encode() for each in told)


def arguments_in_pieces(vendor: str) -> Iterable[bytes]:
    """A long list as the arguments of a call, and then a number more with each event."""

    def piece(text: str) -> bytes:
        if vendor == "claude":
            delta = {"type": "input_json_delta", "partial_json": text}
            return events({"type": "content_block_delta", "index": 0, "delta": delta})
        call = {"index": 0, "id": "1", "function": {"name": "demo__echo", "arguments": text}}
        return events({"choices": [{"delta": {"tool_calls": [call]}}]})

    yield STREAM
    if vendor == "claude":
        block: dict[str, Any] = {"type": "tool_use", "id": "1", "name": "demo__echo", "input": {}}
        yield events({"type": "message_start", "message": {"content": []}})
        yield events({"type": "content_block_start", "index": 0, "content_block": block})
    yield piece('{"text": [' + "[]," * 600_000)
    yield piece("1,") * 15_000


def lines_without_an_event(vendor: str) -> Iterable[bytes]:
    yield STREAM
    yield b":\n" * 3_000_000


@requirement("DELEG-15", "SHELL-12")
@pytest.mark.parametrize("pieces", [arguments_in_pieces, lines_without_an_event])
@pytest.mark.parametrize("vendor", sorted(MAKERS))
async def test_an_answer_in_small_pieces_holds_nobody_up(vendor: str, pieces: Callable[[str], Iterable[bytes]]) -> None:
    """The libraries read all that has come anew with each of them."""
    model = MAKERS[vendor]("http://127.0.0.1:9")  # its library takes a second to load
    await model.close()
    waits: list[float] = []

    async def others() -> None:
        while True:
            began = asyncio.get_running_loop().time()
            try:
                await asyncio.sleep(0.01)
            finally:
                waits.append(asyncio.get_running_loop().time() - began)

    async with saying(lambda: pieces(vendor)) as (url, _):
        beside = asyncio.create_task(others())
        await looped(MAKERS[vendor](url), Listener(), RunBounds(seconds=4))
        beside.cancel()
    assert max(waits) < 2.0


async def test_an_answer_that_says_it_is_whole_is(make: Make) -> None:
    """Whether or not the server hangs up."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"".join(spoken("all of it")()))
        await reader.read()
        writer.close()
        hung_up.set()

    hung_up = asyncio.Event()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server, asyncio.timeout(20):
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        outcome = await looped(make(url), Listener(), RunBounds(seconds=10))
        await hung_up.wait()
    assert (outcome.state, outcome.text) == (RunEnd.DONE, "all of it")


# ── what it says of itself ───────────────────────────────────────────────────────────────────────────────────────────


def spoken(*texts: str) -> Pieces:
    """An answer of these pieces, which both APIs take for one of theirs."""
    told: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    ]
    for text in texts:
        delta = {"type": "text_delta", "text": text}
        chunk = [{"delta": {"content": text}}]
        told.append({"type": "content_block_delta", "index": 0, "delta": delta, "choices": chunk})
    end = {"stop_reason": "end_turn"}
    told.append({"type": "message_delta", "delta": end, "choices": [{"finish_reason": "stop"}]})
    return lambda: [STREAM, events(*told, {"type": "message_stop"}), b"data: [DONE]\n\n"]


def one_after_the_other(*answers: Pieces) -> Pieces:
    coming = iter(answers)

    def pieces() -> Iterable[bytes]:
        return next(coming)()

    return pieces


@requirement("DELEG-16")
async def test_an_error_in_the_middle_of_an_answer_may_pass(make: Make) -> None:
    begun = events({"type": "message_start", "message": {}, "choices": []})
    error = events({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    listener = Listener()
    async with saying(one_after_the_other(lambda: [STREAM, begun, error], spoken("after all"))) as (url, sent):
        outcome = await looped(make(url), listener)
    assert (outcome.state, outcome.text, len(sent)) == (RunEnd.DONE, "after all", 2)
    assert "the answer broke off in the middle: Overloaded" in listener.of(RetryAnnounced)[0].reason


@requirement("DELEG-16")
@pytest.mark.parametrize(
    "answer",
    [
        b"<html>log in</html>",
        b"data: 5\n\n",
        b"data: {\n\n",
        b'data: {"type":"message_start","message":1,"choices":[1]}\n\n',
    ],
    ids=["a page", "a number", "half an object", "odd members"],
)
async def test_what_is_no_answer_of_this_api_is_called_so(
    make: Make, answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawft.delegate.retry.MAX_TRIES", 1)
    async with saying(lambda: [STREAM, answer]) as (url, _):
        outcome = await looped(make(url), Listener())
    assert outcome.state is RunEnd.FAILED
    assert "the response does not match this API" in outcome.reason
    assert outcome.hint == "check the address; it must lead to a server with this API"


@requirement("DELEG-16")
async def test_a_model_that_tells_the_key_tells_it_to_nobody(make: Make) -> None:
    listener = Listener()
    async with saying(spoken(f"whole: {KEY}, and in two: {KEY[:9]}", KEY[9:])) as (url, _):
        outcome = await looped(make(url), listener)
    assert outcome.text == "whole: ***, and in two: ***"
    assert KEY not in repr((outcome, listener.events, listener.kept))


async def test_a_word_in_the_place_of_a_key_stays_in_answers() -> None:
    assert ApiKey("ollama").hidden_in_answer("ask ollama") == "ask ollama"
    assert ApiKey("ollama").hidden_in("no such key: ollama") == "no such key: ***"


@requirement("DELEG-16")
async def test_a_key_in_another_spelling_is_not_told_either(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPELLED_KEY", KEY)
    read_key("secret://env/SPELLED_KEY")
    async with refusing_with(f"no such key: {KEY.encode().hex()}") as (url, _):
        outcome = await looped(make(url), Listener())
    assert "no such key" in outcome.reason
    assert KEY.encode().hex() not in repr(outcome)


@requirement("DELEG-16")
async def test_who_asks_for_patience_is_heard_and_told(make: Make) -> None:
    until = b"HTTP/1.1 529 Busy\r\nretry-after: Wed, 21 Oct 2099 07:28:00 GMT\r\ncontent-length: 0\r\n\r\n"
    async with saying(lambda: [until]) as (url, sent):
        outcome = await looped(make(url), Listener())
    assert (outcome.state, len(sent)) == (RunEnd.FAILED, 1)
    assert "of delay; try again later" in outcome.hint


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
    monkeypatch.setattr(delegator, "read_key", read_key)
    made = delegator_of(gateway(), DelegationConfig(claude_enabled=True))
    with pytest.raises(DelegationFailed, match="far enough"):
        await made.run(job("x", Listener(), target=Target.CLAUDE))
    assert len(threads) == 3
    assert threading.main_thread() not in threads
