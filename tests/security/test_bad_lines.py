"""Bad input over stdio, against the real process: a clear error or silence, and the next request is answered."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from tests.requirements import requirement
from tests.servers.pipe import STATELESS, Pipe, call, cancelled, mcp_server, modern_meta, notification, request, text_of
from tests.servers.weft import RSS_LIMIT

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

PARSE, ENVELOPE, METHOD, PARAMS = -32700, -32600, -32601, -32602


def deep(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


ANSWERED: dict[str, tuple[bytes, int]] = {
    "words": (b"hello, are you there?", PARSE),
    "half a message": (b'{"jsonrpc":"2.0","id":1,"method":', PARSE),
    "two messages on one line": (b'{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}', PARSE),
    "framing by header": (b"Content-Length: 46\r", PARSE),
    "binary": (bytes(range(1, 10)) + bytes(range(11, 256)), PARSE),
    "byte order mark": (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}', PARSE),
    "UTF-16": ('{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16-le"), PARSE),
    "invalid UTF-8 in the method": (b'{"jsonrpc":"2.0","id":1,"method":"p\xffng"}', PARSE),
    "invalid UTF-8 in an argument": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\xc3("}}', PARSE),
    "halves of characters": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"' + rb"\ud800" * 2_000 + b'"}', PARSE),
    "a control character": (b'{"jsonrpc":"2.0","id":"a\x01b","method":"ping"}', PARSE),
    "NaN": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', PARSE),
    "Infinity": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":-Infinity}}', PARSE),
    "depth 10,000": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + deep(10_000) + b"}}", PARSE),
    "depth 100,000, unclosed": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 100_000, PARSE),
    "a key twice": (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}', ENVELOPE),
    "a key twice, once escaped": (rb'{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"x"}', ENVELOPE),
    "id null": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', ENVELOPE),
    "fractional id": (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', ENVELOPE),
    "exponent id": (b'{"jsonrpc":"2.0","id":1e3,"method":"ping"}', ENVELOPE),
    "id true": (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', ENVELOPE),
    "object id": (b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', ENVELOPE),
    "no jsonrpc": (b'{"id":1,"method":"ping"}', ENVELOPE),
    "jsonrpc 1.0": (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', ENVELOPE),
    "method is a number": (b'{"jsonrpc":"2.0","id":1,"method":7}', ENVELOPE),
    "params is a list": (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1,2]}', ENVELOPE),
    "params is null": (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}', ENVELOPE),
    "request and answer at once": (b'{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', ENVELOPE),
    "neither request nor answer": (b'{"jsonrpc":"2.0","id":1}', ENVELOPE),
    "result and error": (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}', ENVELOPE),
    "a batch": (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', ENVELOPE),
    "an empty batch": (b"[]", ENVELOPE),
    "a string": (b'"ping"', ENVELOPE),
    "a number": (b"42", ENVELOPE),
    "null": (b"null", ENVELOPE),
    "an empty object": (b"{}", ENVELOPE),
}

CODED: dict[str, tuple[bytes, int]] = {
    "unknown method": (request("x", "tools/destroy"), METHOD),
    "a method of ours": (request("x", "sampling/createMessage", {}), METHOD),
    "a notification as a request": (request("x", "notifications/cancelled", {"requestId": 1}), METHOD),
    "a very long method": (request("x", "m" * 1_000_000), METHOD),
    "a call without a name": (request("x", "tools/call", {"arguments": {}}), PARAMS),
    "a call with a number for a name": (request("x", "tools/call", {"name": 3}), PARAMS),
    "a call with listed arguments": (request("x", "tools/call", {"name": "probe__echo", "arguments": [1]}), PARAMS),
    "an unknown tool": (call("x", "probe__nothing"), PARAMS),
    "a tool name with control characters": (call("x", "probe__\u0000\u001b[2J\n"), PARAMS),
    "a foreign cursor": (request("x", "tools/list", {"cursor": "AAAA"}), PARAMS),
    "a number for a cursor": (request("x", "tools/list", {"cursor": 5}), PARAMS),
    "an unknown level": (request("x", "logging/setLevel", {"level": "loud"}), PARAMS),
    "a bad subscription": (request("x", "resources/subscribe", {"uri": {}}), PARAMS),
    "a bad completion": (request("x", "completion/complete", {"ref": 1}), PARAMS),
}

SILENT: dict[str, bytes] = {
    "empty lines": b"\n\n\n",
    "blank lines": b"  \t \n \r\n\r\n",
    "an unknown notification": notification("notifications/whatever", {"a": 1}),
    "a notification of a request's name": notification("tools/call", {"name": "probe__echo"}),
    "an answer nobody asked for": b'{"jsonrpc":"2.0","id":77,"result":{}}\n',
    "an error nobody asked for": b'{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"no"}}\n',
    "an answer to null": b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}\n',
    "an answer that is not an object": b'{"jsonrpc":"2.0","id":1,"result":[1]}\n',
    "cancelled, of nothing": cancelled(4711),
    "cancelled, without params": notification("notifications/cancelled"),
    "cancelled, with a null id": notification("notifications/cancelled", {"requestId": None}),
    "cancelled, with an object id": notification("notifications/cancelled", {"requestId": {"a": [1]}}),
    "foreign progress": notification("notifications/progress", {"progressToken": 9, "progress": 1}),
    "initialized again": notification("notifications/initialized"),
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def pipe(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Pipe]:
    """One conversation for the whole file: it must outlive every case."""
    async with mcp_server(tmp_path_factory.mktemp("lines")) as opened:
        await opened.open()
        yield opened
        assert opened.peak() < RSS_LIMIT
        assert await opened.end() == 0


@requirement("SHELL-13", "WIRE-07", "WIRE-22", "WIRE-06")
@pytest.mark.parametrize("case", ANSWERED)
async def test_what_is_no_message_is_answered_and_the_conversation_goes_on(pipe: Pipe, case: str) -> None:
    bad, code = ANSWERED[case]
    await pipe.send(bad + b"\n")
    answer = await pipe.read()
    assert answer["error"]["code"] == code
    assert answer["error"]["message"]
    await pipe.is_well()


@requirement("SHELL-13")
@pytest.mark.parametrize("case", [case for case, (_, code) in ANSWERED.items() if code == PARSE])
async def test_what_cannot_be_parsed_is_answered_with_id_null(pipe: Pipe, case: str) -> None:
    await pipe.send(ANSWERED[case][0] + b"\n")
    answer = await pipe.read()
    assert "id" in answer
    assert answer["id"] is None


@requirement("SHELL-07", "SHELL-09", "WIRE-13")
@pytest.mark.parametrize("case", CODED)
async def test_what_cannot_be_done_is_refused_with_its_code(pipe: Pipe, case: str) -> None:
    bad, code = CODED[case]
    await pipe.send(bad)
    answer = await pipe.answer("x")
    assert answer["error"]["code"] == code
    assert len(answer["error"]["message"]) < 1_000
    await pipe.is_well()


@requirement("SHELL-04", "WIRE-02", "WIRE-05", "WIRE-07")
@pytest.mark.parametrize("case", SILENT)
async def test_what_needs_no_answer_gets_none(pipe: Pipe, case: str) -> None:
    pipe.others.clear()
    await pipe.send(SILENT[case])
    await pipe.is_well()
    assert pipe.others == []


@requirement("WIRE-06", "WIRE-07")
async def test_lines_may_end_like_on_windows(pipe: Pipe) -> None:
    await pipe.send(call("crlf", "probe__echo", {"token": "windows"}).replace(b"\n", b"\r\n"))
    assert "windows" in text_of(await pipe.answer("crlf"))


@requirement("WIRE-09")
async def test_a_message_may_come_byte_by_byte(pipe: Pipe) -> None:
    for byte in call("bytes", "probe__echo", {"token": "häppchen"}):
        await pipe.send(bytes([byte]))
    assert "häppchen" in text_of(await pipe.answer("bytes"))


@requirement("WIRE-21")
@pytest.mark.parametrize(
    "beside", [b"1" * 5_000, b"1e999", b'"' + b"x" * 900_000 + b'"', b"[" + b"{}," * 50_000 + b"0]"]
)
async def test_what_stands_beside_the_known_members_is_tolerated(pipe: Pipe, beside: bytes) -> None:
    await pipe.send(b'{"jsonrpc":"2.0","id":"odd","method":"ping","x":' + beside + b"}\n")
    assert (await pipe.answer("odd"))["result"] == {}
    await pipe.is_well()


@requirement("WIRE-04")
@pytest.mark.parametrize("id", ["", "1", 1, -1, 0, 2**63, -(2**70), 'ä " \\ 🙂', "null"])
async def test_an_id_comes_back_as_the_value_it_was(pipe: Pipe, id: int | str) -> None:
    await pipe.send(request(id, "ping"))
    answer = await pipe.read()
    assert answer == {"jsonrpc": "2.0", "id": id, "result": {}}
    assert type(answer["id"]) is type(id)


@requirement("WIRE-13", "QUAL-12")
@pytest.mark.parametrize("levels", [800, 900, 940, *range(965, 985), 990, 1000])
@pytest.mark.parametrize("method", ["ping", "tools/list", "tools/call", "nothing", "notifications/cancelled"])
async def test_nesting_near_the_limit_harms_nobody(pipe: Pipe, levels: int, method: str) -> None:
    """What the door still lets in must not break the rooms behind it."""
    inner = (
        b'{"name":"probe__echo","requestId":1,"arguments":{"token":' + deep(levels) + b'},"x":' + deep(levels) + b"}"
    )
    head = b'{"jsonrpc":"2.0","method":"%b",' % method.encode()
    id = b"" if method.startswith("notifications") else b'"id":"deep",'
    pipe.others.clear()
    await pipe.send(head + id + b'"params":' + inner + b"}\n", head + id + b'"params":{},"x":' + deep(levels) + b"}\n")
    answers = [await pipe.read() for _ in range(2)] if id else []
    assert all(answer["id"] == "deep" or answer["error"]["code"] == PARSE for answer in answers)
    await pipe.is_well()
    assert all(other["error"]["code"] == PARSE for other in pipe.others)


@requirement("WIRE-13", "QUAL-12")
@pytest.mark.parametrize("levels", range(965, 985))
async def test_a_usual_call_near_that_limit_is_answered_under_its_id(pipe: Pipe, levels: int) -> None:
    params = b'{"name":"probe__echo","arguments":{},"_meta":{"a":' + deep(levels) + b"}}"
    await pipe.send(b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":' + params + b"}\n")
    answer = await pipe.read()
    assert answer["id"] == 77 or answer["error"]["code"] == PARSE


@requirement("SHELL-18")
async def test_a_conversation_cannot_change_its_era(pipe: Pipe) -> None:
    await pipe.send(request("era", "tools/list", {"_meta": modern_meta()}))
    assert (await pipe.answer("era"))["error"]["code"] == ENVELOPE
    await pipe.is_well()


@requirement("SHELL-15")
async def test_a_tool_that_prints_does_not_reach_stdout(pipe: Pipe) -> None:
    """Every line read here must be JSON: a stray one would fail right in `read`."""
    await pipe.send(call("shout", "probe__shout"))
    assert text_of(await pipe.answer("shout")) == "said"
    await pipe.is_well()
    for said in ("printed by a tool", "written by a tool", "descriptor 1", "a child of a tool"):
        assert said in pipe.stderr()


@requirement("WIRE-13", "SHELL-18")
@pytest.mark.parametrize("version", ["2099-01-01", "", "2025-11-25", 7, None])
async def test_a_stateless_request_of_an_unknown_revision_is_told_what_is_served(
    tmp_path_factory: pytest.TempPathFactory, version: object
) -> None:
    async with mcp_server(tmp_path_factory.mktemp("era")) as pipe:
        meta = modern_meta(**{"io.modelcontextprotocol/protocolVersion": version})
        answer = await pipe.ask("server/discover", {"_meta": meta})
        assert answer["error"]["code"] in (-32022, PARAMS)
        if answer["error"]["code"] == -32022:
            assert answer["error"]["data"]["supported"] == [STATELESS]
        good = await pipe.ask("server/discover", {"_meta": modern_meta()})
        assert good["result"]["supportedVersions"] == [STATELESS]
