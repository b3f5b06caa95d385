"""The ladder of the stateless era, rung by rung, and what a result of it carries."""

import json
import sys
from collections.abc import Callable
from io import BytesIO
from typing import Any, cast

import pytest
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from msgspec import UNSET, Raw

from clawft.errors import BadParams, ClawftError, HeaderMismatch, UnsupportedRevision
from clawft.model import Capabilities, Kind
from clawft.wire import stateless
from clawft.wire.jsonrpc.messages import Request
from clawft.wire.meta import CAPABILITIES, CLIENT, LOG_LEVEL, SERVER, VERSION, claims_stateless
from clawft.wire.stateless import finish_large, finish_result, missing_hint, read_caller, read_usual_caller
from tests.requirements import requirement

SERVER_INFO = b'{"name":"clawft","version":"1"}'
GOOD_META: dict[str, Any] = {VERSION: "2026-07-28", CAPABILITIES: {}}
GOOD_HEADERS = {b"mcp-protocol-version": b"2026-07-28", b"mcp-method": b"tools/call", b"mcp-name": b"t"}


def request(meta: object = None, method: str = "tools/call", **params: Any) -> Request:
    return Request(
        b"1", method, json.dumps({"name": "t", **params, **({} if meta is None else {"_meta": meta})}).encode()
    )


@requirement("SHELL-18")
def test_a_good_request_tells_who_calls() -> None:
    meta: dict[str, Any] = {
        **GOOD_META,
        CAPABILITIES: {"roots": {}},
        CLIENT: {"name": "c", "version": "1"},
        "progressToken": "p",
    }
    told, token = read_caller(request(meta), GOOD_HEADERS)
    assert (told.revision, told.capabilities, told.client) == ("2026-07-28", Capabilities(roots=True), "c/1")
    assert isinstance(token, Raw)
    assert bytes(token) == b'"p"'


@requirement("SHELL-18")
@pytest.mark.parametrize("token", [1, "p", {"any": "thing"}, '"progressToken"'])
def test_what_a_client_says_of_itself_is_worked_out_once_whatever_token_each_request_has(token: object) -> None:
    meta = {**GOOD_META, CLIENT: {"name": "c", "version": "1"}}
    plain = read_usual_caller(json.dumps(meta).encode())
    other = read_usual_caller(json.dumps({"progressToken": token, **meta}).encode())
    assert plain is not None
    assert other is not None
    assert other[0] is plain[0]
    assert plain[1] is UNSET
    assert json.loads(bytes(cast("Raw", other[1]))) == token


@requirement("SHELL-18")
def test_a_token_per_request_pushes_nothing_out_of_what_is_remembered() -> None:
    meta = json.dumps(GOOD_META).encode()
    known = read_usual_caller(meta)
    for number in range(1_000):
        read_usual_caller(json.dumps({**GOOD_META, "progressToken": number}).encode())
    assert read_usual_caller(meta) is known


@requirement("QUAL-12")
def test_what_is_told_does_not_hold_the_request() -> None:
    """Which may be large, while its call takes its time."""
    large = request({**GOOD_META, CLIENT: {"name": "c", "version": "1"}, "progressToken": "p"})
    before = sys.getrefcount(large.params)
    _, token = read_caller(large, GOOD_HEADERS)
    after = sys.getrefcount(large.params)
    assert token is not UNSET
    assert after == before


RUNGS: list[tuple[str, type[ClawftError], Request, dict[bytes, bytes]]] = [
    ("no _meta, and every header wrong", BadParams, request(), {}),
    ("_meta is not an object", BadParams, request([]), {}),
    ("no version, headers missing", BadParams, request({CAPABILITIES: {}}), {}),
    ("no capabilities, version unknown", BadParams, request({VERSION: "1999-01-01"}), {}),
    ("header missing, version unknown", HeaderMismatch, request({**GOOD_META, VERSION: "1999-01-01"}), {}),
    ("header differs", HeaderMismatch, request({**GOOD_META, VERSION: "1999-01-01"}), GOOD_HEADERS),
    ("method differs", HeaderMismatch, request(GOOD_META), {**GOOD_HEADERS, b"mcp-method": b"tools/list"}),
    ("method in another case", HeaderMismatch, request(GOOD_META), {**GOOD_HEADERS, b"mcp-method": b"Tools/Call"}),
    (
        "method encoded",
        HeaderMismatch,
        request(GOOD_META),
        {**GOOD_HEADERS, b"mcp-method": b"=?base64?dG9vbHMvY2FsbA==?="},
    ),
    ("name differs", HeaderMismatch, request(GOOD_META), {**GOOD_HEADERS, b"mcp-name": b"other"}),
    (
        "version unknown to both sides",
        UnsupportedRevision,
        request({**GOOD_META, VERSION: "1999-01-01", LOG_LEVEL: "loud"}),
        {**GOOD_HEADERS, b"mcp-protocol-version": b"1999-01-01"},
    ),
]


@requirement("SHELL-18")
@pytest.mark.parametrize(("error", "asked", "headers"), [rung[1:] for rung in RUNGS], ids=[rung[0] for rung in RUNGS])
def test_the_first_rung_that_fails_is_the_answer(
    error: type[ClawftError], asked: Request, headers: dict[bytes, bytes]
) -> None:
    with pytest.raises(error) as refused:
        read_caller(asked, headers)
    official = classify_inbound_request(
        {"method": asked.method, "params": json.loads(asked.params)},
        headers={name.decode(): value.decode() for name, value in headers.items()},
    )
    assert isinstance(official, InboundLadderRejection)
    assert refused.value.code == official.code
    assert refused.value.status == 400


@requirement("SHELL-18")
def test_an_unserved_version_names_the_served_ones() -> None:
    for requested in ("1999-01-01", "2025-11-25"):
        with pytest.raises(UnsupportedRevision) as refused:
            read_caller(request({**GOOD_META, VERSION: requested}))
        assert refused.value.data == {"supported": ["2026-07-28"], "requested": requested}


@requirement("SHELL-18")
@pytest.mark.parametrize(
    "meta",
    [
        {**GOOD_META, VERSION: 5},
        {**GOOD_META, VERSION: None},
        {**GOOD_META, LOG_LEVEL: "loud"},
        {**GOOD_META, LOG_LEVEL: 5},
        {**GOOD_META, CAPABILITIES: None},
        {**GOOD_META, CAPABILITIES: []},
    ],
)
def test_values_of_the_wrong_kind_are_bad_params(meta: dict[str, Any]) -> None:
    with pytest.raises(BadParams):
        read_caller(request(meta))


@requirement("SHELL-18")
@pytest.mark.parametrize(
    ("params", "claimed"),
    [
        (b"", False),
        (b"{}", False),
        (b'{"protocolVersion":"2025-11-25"}', False),
        (b'{"_meta":{"progressToken":1}}', False),
        (b'{"text":"io.modelcontextprotocol/protocolVersion"}', False),
        (b'{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}', True),
        (b'{"_meta":{"io.modelcontextprotocol\\/protocolVersion":"2026-07-28"}}', True),
        (b'{"_meta":{"io.modelcontextprotocol/protocolVersion":5}}', True),
        (b'{"_meta":{"io.modelcontextprotocol/protocolVersion":"x","io.modelcontextprotocol/logLevel":5}}', True),
        (b'{"_meta":{"io.modelcontextprotocol/logLevel":5},"protocolVersion":1}', False),
        (b'{"_meta":5,"protocolVersion":1}', False),
    ],
)
def test_the_version_key_is_what_claims_this_era(params: bytes, claimed: bool) -> None:
    """Whatever else is wrong with it: then the ladder says so."""
    assert claims_stateless(params) is claimed


# ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-18")
@pytest.mark.parametrize(
    "payload",
    [
        *(b"{}", b"{ }", b"{\n}", b'{"a":1}', b'{ "a" : [1] }', b'{"a":{"b":"}"}}'),
        *(b'{"a":"%b"}' % (b"x" * 100_000), b"{%b}" % (b" " * 100_000), b'{ "a":"%b" }' % (b"x" * 100_000)),
    ],
    ids=lambda payload: payload[:20].decode(),
)
@pytest.mark.parametrize("cache", [b"", stateless.cache_hint(5, "private")])
def test_a_result_says_its_type_and_who_made_it(payload: bytes, cache: bytes) -> None:
    finished = json.loads(finish_result(payload, SERVER_INFO, cache=cache))
    assert finished.pop("resultType") == "complete"
    assert finished.pop("_meta") == {SERVER: {"name": "clawft", "version": "1"}}
    hints = {key: finished.pop(key) for key in ("ttlMs", "cacheScope") if key in finished}
    assert hints == ({"ttlMs": 5, "cacheScope": "private"} if cache else {})
    assert finished == json.loads(payload)


@requirement("SHELL-18", "WIRE-21")
def test_a_meta_of_its_own_is_kept_beside_ours() -> None:
    payload = b'{"content":[{"type":"text","text":"a","_meta":{"x":1}}],"_meta":{"vendor/k":1.10}}'
    finished = finish_result(payload, SERVER_INFO, cache=stateless.cache_hint(0, "public"))
    assert b'"vendor/k":1.10' in finished
    read = json.loads(finished)
    assert read["_meta"] == {"vendor/k": 1.1, SERVER: {"name": "clawft", "version": "1"}}
    assert read["content"][0]["_meta"] == {"x": 1}
    assert (read["ttlMs"], read["cacheScope"], read["resultType"]) == (0, "public", "complete")


@requirement("SHELL-18")
@pytest.mark.parametrize("meta", [b"null", b"5", b"[]"])
def test_a_meta_that_is_no_object_breaks_nothing(meta: bytes) -> None:
    assert json.loads(finish_result(b'{"_meta":' + meta + b"}", SERVER_INFO))["resultType"] == "complete"


def finish_as_large(read: bytes, server: bytes, kind: Kind, cache: bytes) -> bytes:
    return finish_large(BytesIO(read), server, kind, cache)


@requirement("SHELL-18")
@pytest.mark.parametrize(
    "told",
    [
        b"",
        b',"ttlMs":5',
        b',"cacheScope":"public"',
        b',"ttlMs":-1,"cacheScope":"public"',
        b',"ttlMs":1.5,"cacheScope":"public"',
        b',"ttlMs":5,"cacheScope":"all"',
        b',"ttl\\u004ds":null,"cacheScope":5',
    ],
)
@pytest.mark.parametrize("finish", [finish_result, finish_as_large])
def test_half_a_word_about_how_long_a_read_keeps_is_none(
    told: bytes, finish: Callable[[bytes, bytes, Kind, bytes], bytes]
) -> None:
    """Both members are there, once, and can be read by a strict client."""
    read = b'{"contents":[]' + told + b"}"
    finished = finish(read, SERVER_INFO, Kind.COMPLETE, missing_hint(read))
    names = [name for name, _ in json.loads(finished, object_pairs_hook=list)]
    assert sorted(names) == ["_meta", "cacheScope", "contents", "resultType", "ttlMs"]
    hints = json.loads(finished)
    assert (hints["ttlMs"], hints["cacheScope"]) == (0, "private")


@requirement("SHELL-18")
@pytest.mark.parametrize("name", [b"ttlMs", b"ttl\\u004ds"])
@pytest.mark.parametrize("scope", [b"cacheScope", b"cach\\u0065Scope"])
def test_a_whole_word_about_it_stays_however_it_is_spelled(name: bytes, scope: bytes) -> None:
    assert missing_hint(b'{"contents":[],"%s":7,"%s":"public"}' % (name, scope)) == b""


@requirement("SHELL-18")
def test_the_type_of_a_result_is_said_once() -> None:
    assert finish_result(b'{"resultType":"task","taskId":"t"}', SERVER_INFO).count(b'"resultType"') == 1
    asked = json.loads(finish_result(b'{"inputRequests":{}}', SERVER_INFO, Kind.INPUT_REQUIRED))
    assert asked["resultType"] == "input_required"
