"""The scripted API as a door: whatever comes in, something sensible goes out."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from tests.delegate.support import scripted_api

SCRIPT = '[[turns]]\nwhen = "hello"\ntext = "Hi there."\nusage = { input = 3, output = 2 }\n'
PATHS = ("/v1/messages", "/v1/chat/completions")
HELLO = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


async def posted(url: str, body: bytes) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as client, client.post(url, data=body) as answer:
        return answer.status, await answer.json()


async def test_both_apis_answer_whole() -> None:
    async with scripted_api(SCRIPT) as (url, _):
        status, message = await posted(url + PATHS[0], json.dumps(HELLO).encode())
        assert (status, message["content"]) == (200, [{"type": "text", "text": "Hi there."}])
        assert (message["stop_reason"], message["usage"]["input_tokens"]) == ("end_turn", 3)
        status, completion = await posted(url + PATHS[1], json.dumps(HELLO).encode())
        assert (status, completion["choices"][0]["message"]["content"]) == (200, "Hi there.")
        assert completion["usage"]["total_tokens"] == 5


async def test_a_conversation_the_script_does_not_know_is_an_error() -> None:
    other = {**HELLO, "messages": [{"role": "user", "content": "what?"}]}
    async with scripted_api(SCRIPT) as (url, _):
        for path in PATHS:
            status, told = await posted(url + path, json.dumps(other).encode())
            assert status == 400
            assert "no turn" in told["error"]["message"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"messages": 3}',
        b'{"messages": [3]}',
        b'{"messages": [{"role": "user", "content": [{"type": 3}]}]}',
        b'{"messages": [{"role": "user", "content": ' + b'[{"content": ' * 400 + b'""' + b"}]" * 400 + b"}]}",
        b'{"messages": [], "tools": {}}',
        b"\xff\xfe",
    ],
    ids=range(9),
)
async def test_what_is_no_conversation_is_refused(path: str, body: bytes) -> None:
    async with scripted_api(SCRIPT) as (url, _):
        status, told = await posted(url + path, body)
        assert status == 400
        assert told["error"]["message"]
        assert (await posted(url + path, json.dumps(HELLO).encode()))[0] == 200


async def test_tokens_are_counted_and_models_listed() -> None:
    async with scripted_api(SCRIPT) as (url, _):
        status, told = await posted(f"{url}/v1/messages/count_tokens", json.dumps(HELLO).encode())
        assert status == 200
        assert told["input_tokens"] > 0
        async with aiohttp.ClientSession() as client, client.get(f"{url}/v1/models") as answer:
            assert (await answer.json())["data"][0]["id"] == "scripted"
        assert (await posted(f"{url}/v1/elsewhere", b"{}"))[0] == 404


@pytest.mark.parametrize("body", [b'{"messages":' + b"[" * 200_000, b'{"messages":"\xff"}'], ids=["deep", "no text"])
async def test_what_cannot_be_read_is_the_fault_of_whoever_sent_it(body: bytes) -> None:
    async with scripted_api(SCRIPT) as (url, _):
        for path in PATHS:
            assert (await posted(url + path, body))[0] == 400


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("Origin", "https://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://localhost:3000", 200),
        ("Host", "evil.example", 403),
        ("Host", "evil.example:80", 403),
        ("Host", "127.0.0.1.evil.example", 403),
        ("Host", "localhost:3000", 200),
        ("Host", "[::1]:80", 200),
    ],
)
async def test_pages_of_other_sites_do_not_ask(name: str, value: str, status: int) -> None:
    """Nor under a name of theirs that leads here."""
    async with scripted_api(SCRIPT) as (url, requests), aiohttp.ClientSession() as client:
        async with client.post(url + PATHS[0], data=json.dumps(HELLO), headers={name: value}) as answer:
            assert answer.status == status
        assert len(requests) == (status == 200)


async def test_a_long_message_keeps_nobody_else_waiting() -> None:
    """A pattern is searched for letter by letter."""
    script = '[[turns]]\nwhen = "(a|b)*(a|b)*(a|b)*c"\ntext = "x"\n[[turns]]\nrepeat = true\ntext = "ok"\n'
    long = {**HELLO, "messages": [{"role": "user", "content": "ab" * 500_000}]}
    async with scripted_api(script) as (url, _):
        began = asyncio.get_running_loop().time()
        slow = asyncio.create_task(posted(url + PATHS[0], json.dumps(long).encode()))
        await asyncio.sleep(0.2)
        assert (await posted(url + PATHS[0], json.dumps(HELLO).encode()))[0] == 200
        assert asyncio.get_running_loop().time() - began < 3.0
        assert (await slow)[0] == 200
