"""Lines that are no message are answered, and the conversation goes on."""

from typing import Any

import pytest

from clawft.gateway.core import Gateway
from clawft.wire.framing import TooLong
from tests.gateway.support import Demo, echo, pipe, serving
from tests.requirements import requirement


def gateway() -> Gateway:
    return serving(Demo().add("echo", echo))


@requirement("SHELL-13", "WIRE-07")
@pytest.mark.parametrize(
    ("line", "id", "code"),
    [
        (b"nope", None, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"', None, -32700),
        (b"5", None, -32600),
        (b'{"jsonrpc":"2.0","id":7}', 7, -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', 7, -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, -32600),
        (b"[]", None, -32600),
        (b"[" * 2000, None, -32700),
    ],
)
async def test_a_broken_line_is_answered_and_the_conversation_goes_on(line: bytes, id: Any, code: int) -> None:
    async with pipe(gateway()) as caller:
        await caller.initialize()
        caller.line(line)
        answer = await caller.message(lambda m: "error" in m)
        assert (answer["id"], answer["error"]["code"]) == (id, code)
        assert (await caller.ask("ping"))["result"] == {}


@requirement("WIRE-02")
@pytest.mark.parametrize(
    "members", [b'"params":[1]', b'"params":"x"', b'"result":{}', b'"a":1,"a":2', b'"jsonrpc":"1.0"']
)
@pytest.mark.parametrize("revision", ["2025-03-26", "2025-11-25"])
async def test_a_message_without_an_id_is_never_answered_whatever_else_is_wrong_with_it(
    members: bytes, revision: str
) -> None:
    line = b'{"jsonrpc":"2.0","method":"notifications/x",%b}' % members
    async with pipe(gateway()) as caller:
        await caller.initialize(revision)
        caller.line(line)
        if revision == "2025-03-26":
            caller.line(b"[%b]" % line)
        caller.line(b'{"jsonrpc":"2.0","id":"next","method":"ping"}')
        assert (await caller.message(lambda m: True))["id"] == "next"


@requirement("WIRE-08")
@pytest.mark.parametrize(
    ("head", "id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{"a":"xxx', 7),
        (b'{"jsonrpc": "2.0", "method": "tools/call", "id": "seven", "params": {"a": "xxx', "seven"),
        (b'{"jsonrpc":"2.0","method":"tools/call","params":{"id":7,"a":"xxx', None),
        (b'{"jsonrpc":"2.0","id":7,"result":{"method":"xxx', None),
        (b'{"id":{"id":7},"jsonrpc":"2.0","method":"xxx', None),
        (b"xxx", None),
        (b"", None),
    ],
)
async def test_a_line_that_is_too_long_is_answered_and_the_conversation_goes_on(head: bytes, id: Any) -> None:
    async with pipe(gateway()) as caller:
        await caller.initialize()
        caller.served.accept(TooLong(head))
        answer = await caller.message(lambda m: "error" in m)
        assert (answer["id"], answer["error"]["code"]) == (id, -32600)
        assert (await caller.ask("ping"))["result"] == {}


@requirement("WIRE-04", "SHELL-12")
async def test_each_id_comes_back_as_it_was() -> None:
    async with pipe(gateway()) as caller:
        await caller.initialize()
        for id in (7, "7", -1, "", "日本", 2**70):
            assert (await caller.ask("tools/call", {"name": "demo__echo"}, id))["id"] == id
