"""For any input: nothing lost on the way, and no error but our own."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clawft.errors import BadEnvelope, ClawftError, HeaderMismatch
from clawft.wire import handshake, headers, meta, narrow, stateless
from clawft.wire.jsonrpc import reading, writing
from clawft.wire.jsonrpc.batches import decode_batch
from clawft.wire.jsonrpc.messages import Failure, Notification, Request, Response
from clawft.wire.revisions import REVISIONS
from tests.props.shapes import ENVELOPE_KEYS, IDS, KEYS, OBJECTS, VALUES, attempt
from tests.requirements import requirement

pytestmark = pytest.mark.slow

SPELLINGS = st.sampled_from(
    [{}, {"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}, {"sort_keys": True}]
)


@requirement("WIRE-04", "WIRE-21")
@given(
    IDS,
    st.text(max_size=10),
    OBJECTS,
    st.dictionaries(KEYS.filter(lambda k: k not in ENVELOPE_KEYS), VALUES),
    SPELLINGS,
)
def test_a_request_keeps_its_id_and_every_byte_of_its_params(
    id: int | str, method: str, params: dict[str, Any], unknown: dict[str, Any], spelling: dict[str, Any]
) -> None:
    line = json.dumps({**unknown, "jsonrpc": "2.0", "id": id, "method": method, "params": params}, **spelling).encode()
    read = reading.decode(line)
    assert isinstance(read, Request)
    assert read.params in line
    assert (type(json.loads(read.id)), json.loads(read.id), read.method) == (type(id), id, method)
    assert list(json.loads(read.params)) == list(json.loads(line)["params"])
    assert json.loads(read.params) == params
    assert json.loads(writing.result(read.id, b"{}"))["id"] == id


@requirement("WIRE-01", "SHELL-13")
@settings(max_examples=300)
@given(st.dictionaries(st.sampled_from([*ENVELOPE_KEYS, "x"]), VALUES | st.just("2.0") | OBJECTS | IDS, max_size=6))
def test_any_object_is_a_message_or_one_of_our_errors(members: dict[str, Any]) -> None:
    message = attempt(lambda: reading.decode(json.dumps(members).encode()))
    if isinstance(message, BadEnvelope):
        answer = json.loads(writing.failure_of(message.id, message))
        assert isinstance(answer["id"], int | str | None)
        assert answer["error"]["code"] == -32600
    else:
        assert isinstance(message, Request | Notification | Response | Failure)
        assert isinstance(message, Request | Notification) == ("method" in members)


JSONISH = st.text(st.sampled_from('{}[]",:.0123eE+-\\u "jsonrpc2.0idmethodtrufalsn\n\ud7ff'), max_size=60).map(
    str.encode
)


@requirement("SHELL-13")
@settings(max_examples=300)
@given(JSONISH | st.binary(max_size=60))
@example(b'{"jsonrpc":"2.0","method":"x","e":' + b"9" * 5000 + b"}")
@example(b'{"jsonrpc":"2.0","method":"x","e":1e400}')
@example(b'{"jsonrpc":"2.0","method":"x","e":' + b"[" * 985 + b"]" * 985 + b"}")
def test_no_bytes_raise_anything_but_our_own_errors(line: bytes) -> None:
    attempt(lambda: reading.decode(line))
    attempt(lambda: decode_batch(line))


@requirement("WIRE-03")
@given(VALUES)
def test_no_error_object_raises_anything_but_our_own_errors(error: Any) -> None:
    attempt(lambda: Failure(b"1", json.dumps(error).encode()).read())


META_KEYS = st.sampled_from([meta.VERSION, meta.CAPABILITIES, meta.CLIENT, meta.LOG_LEVEL, "progressToken", "k"])
KNOWN_VALUES: list[Any] = ["2026-07-28", "debug", {}, {"elicitation": {}}, {"extensions": {}}]
META_VALUES = VALUES | st.sampled_from(KNOWN_VALUES)
PARAMS = st.fixed_dictionaries(
    {}, optional={"_meta": VALUES | st.dictionaries(META_KEYS, META_VALUES), "name": VALUES, "protocolVersion": VALUES}
)


@requirement("SHELL-18")
@settings(max_examples=300)
@given(PARAMS, st.booleans())
def test_no_params_raise_anything_but_our_own_errors(params: dict[str, Any], over_http: bool) -> None:
    request = Request(b"1", "tools/call", json.dumps(params).encode())
    meta.claims_stateless(request.params)
    caller = attempt(lambda: stateless.read_caller(request, {} if over_http else None))
    assert not isinstance(caller, ClawftError) or caller.code in (-32602, -32020, -32022)
    hello = attempt(lambda: handshake.read_initialize(request.params))
    assert not isinstance(hello, ClawftError) or hello.code == -32602


# ── results and headers ──────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-18", "WIRE-21")
@given(st.dictionaries(KEYS | st.sampled_from(["_meta", "resultType", "content"]), VALUES, max_size=4), SPELLINGS)
def test_every_member_of_a_result_survives_its_finish(result: dict[str, Any], spelling: dict[str, Any]) -> None:
    finished = json.loads(stateless.finish_result(json.dumps(result, **spelling).encode(), b'{"name":"s"}'))
    kept = {key: value for key, value in finished.items() if key not in ("_meta", "resultType")}
    assert kept == {key: value for key, value in result.items() if key not in ("_meta", "resultType")}
    assert finished["resultType"] == "complete"
    assert finished["_meta"][meta.SERVER] == {"name": "s"}


@requirement("RES-13")
@given(OBJECTS | st.fixed_dictionaries({"content": st.lists(VALUES | st.fixed_dictionaries({"type": VALUES}))}))
def test_narrowing_never_raises(result: dict[str, Any]) -> None:
    wire = json.dumps(result).encode()
    for revision in REVISIONS.values():
        json.loads(narrow.result(wire, revision))
        json.loads(narrow.definition(wire, revision))


@requirement("SHELL-18")
@given(st.text())
def test_every_value_travels_in_a_header_and_back(value: str) -> None:
    spelled = headers.encode_value(value)
    assert spelled.isascii()
    assert spelled == spelled.strip()
    assert headers.decode_value(spelled.encode()) == value


@requirement("SHELL-18")
@given(st.binary(max_size=40) | st.text(max_size=20).map(lambda text: f"=?base64?{text}?=".encode()))
def test_no_header_raises_anything_but_a_mismatch(header: bytes) -> None:
    read = attempt(lambda: headers.decode_value(header))
    assert isinstance(read, str | HeaderMismatch)


@requirement("SHELL-18")
@given(VALUES | st.fixed_dictionaries({"properties": st.dictionaries(KEYS, VALUES | st.just({"x-mcp-header": "A"}))}))
def test_no_schema_makes_the_search_for_mirrors_raise(schema: Any) -> None:
    headers.mirrors(schema)


@requirement("SHELL-18")
def test_a_schema_nested_beyond_reason_is_read_without_harm() -> None:
    schema: dict[str, Any] = {}
    for _ in range(900):
        schema = {"properties": {"a": schema}}
    assert headers.mirrors(schema) == ()
