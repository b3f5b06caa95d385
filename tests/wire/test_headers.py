"""Header values, what they mirror, and the rules of `x-mcp-header`, held against the official reader."""

from typing import Any

import pytest
from mcp.shared.inbound import encode_header_value, find_invalid_x_mcp_header, x_mcp_header_map

from clawft.errors import HeaderMismatch
from clawft.wire.headers import (
    BadMirror,
    Mirror,
    check_mirrors,
    check_params,
    decode_value,
    encode_value,
    mirrors,
    repeated,
    spell,
)
from clawft.wire.meta import read_params
from tests.requirements import requirement

VALUES = [
    "get_weather",
    "a b",
    "",
    " lead",
    "trail ",
    "\ttab",
    "é",
    "日本",
    "a\nb",
    "\x7f",
    "=?base64?YQ==?=",
    "=?base64?",
]


@requirement("SHELL-18")
@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_spelled_as_the_official_reader_expects(value: str) -> None:
    spelled = encode_value(value)
    assert spelled == encode_header_value(value)
    assert decode_value(spelled.encode()) == value


@requirement("SHELL-18")
@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        ("plain", "plain"),
        ("日本", "=?base64?5pel5pys?="),
        (" x", "=?base64?IHg=?="),
        ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
    ],
)
def test_known_spellings(value: str, spelled: str) -> None:
    assert encode_value(value) == spelled


@requirement("SHELL-18")
@pytest.mark.parametrize(
    "header",
    [
        b"=?base64?YQ?=",
        b"=?base64?YR==?=",
        b"=?base64?Y Q==?=",
        b"=?base64?_-8=?=",
        b"=?base64?/w==?=",
        b"=?base64?%?=",
        "é".encode("latin-1"),
        "é".encode(),
    ],
)
def test_broken_uncanonical_or_missing_base64_is_a_mismatch(header: bytes) -> None:
    with pytest.raises(HeaderMismatch):
        decode_value(header)


@requirement("SHELL-18")
def test_blanks_around_a_value_do_not_count() -> None:
    assert decode_value(b" \tx y\t ") == "x y"


@requirement("SHELL-18")
@pytest.mark.parametrize("name", [b"mcp-protocol-version", b"mcp-method", b"mcp-name", b"mcp-param-region"])
def test_a_routing_header_that_occurs_twice_is_found_even_if_equal(name: bytes) -> None:
    assert repeated([(name, b"x"), (b"accept", b"a"), (name, b"x")]) == name.decode()


@requirement("SHELL-18")
def test_other_headers_may_occur_twice() -> None:
    assert repeated([(b"accept", b"a"), (b"accept", b"b"), (b"mcp-method", b"x")]) == ""


@requirement("SHELL-18")
@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", b'{"name":"t"}', b"t"),
        ("prompts/get", b'{"name":"t"}', b"t"),
        ("resources/read", '{"uri":"file:///é"}'.encode(), b"=?base64?ZmlsZTovLy/DqQ==?="),
        ("tasks/get", b'{"taskId":"t"}', b"t"),
        ("tasks/update", b'{"taskId":"t"}', b"t"),
        ("tasks/cancel", b'{"taskId":"t"}', b"t"),
    ],
)
def test_the_name_header_mirrors_what_the_method_names(method: str, params: bytes, name: bytes) -> None:
    headers = {b"mcp-protocol-version": b"v", b"mcp-method": method.encode()}
    check_mirrors(method, "v", read_params(params), {**headers, b"mcp-name": name})
    for wrong in ({}, {b"mcp-name": b"other"}, {b"mcp-name": name.upper() + b"!"}):
        with pytest.raises(HeaderMismatch):
            check_mirrors(method, "v", read_params(params), {**headers, **wrong})


@requirement("SHELL-18", "QUAL-12")
@pytest.mark.parametrize("name", [{}, {b"mcp-name": b"other"}, {b"mcp-name": b"=?base64?" + b"!" * 10_000 + b"?="}])
def test_a_mismatch_tells_back_no_more_than_the_beginning(name: dict[bytes, bytes]) -> None:
    long = "x" * 100_000
    cases = [
        ("tools/call", "v", {b"mcp-protocol-version": b"v", b"mcp-method": b"tools/call", **name}),
        (long, "v", {b"mcp-protocol-version": b"v", b"mcp-method": b"y" * 10_000}),
        ("tools/call", long, {b"mcp-protocol-version": b"z" * 10_000}),
    ]
    for method, version, headers in cases:
        with pytest.raises(HeaderMismatch) as told:
            check_mirrors(method, version, read_params(b'{"name":"%b"}' % long.encode()), headers)
        assert len(str(told.value)) < 1_000


@requirement("SHELL-18")
@pytest.mark.parametrize("params", [b"{}", b'{"name":5}', b"", b'{"name":null}'])
def test_a_name_that_is_missing_in_the_body_is_left_to_the_method(params: bytes) -> None:
    headers = {b"mcp-protocol-version": b"v", b"mcp-method": b"tools/call"}
    check_mirrors("tools/call", "v", read_params(params), headers)


# ── x-mcp-header ─────────────────────────────────────────────────────────────────────────────────────────────────────


def mark(kind: Any = "string", token: Any = "Region") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": token}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


GOOD: list[tuple[dict[str, Any], dict[tuple[str, ...], str]]] = [
    (of(a={"type": "string"}), {}),
    (of(a=mark()), {("a",): "Region"}),
    (of(a=mark("integer", "A"), b=mark("boolean", "B")), {("a",): "A", ("b",): "B"}),
    (of(a=of(b=of(c=mark()))), {("a", "b", "c"): "Region"}),
    (of(properties=mark()), {("properties",): "Region"}),
    (of(**{"x-mcp-header": {"type": "string"}}), {}),
    (of(a={"type": "object", "default": {"x-mcp-header": 5}, "const": {"x-mcp-header": 5}}), {}),
    (of(a={"enum": [{"x-mcp-header": 5}], "examples": [{"x-mcp-header": 5}]}), {}),
    (of(a=mark(token="!#$%&'*+-.^_`|~09azAZ")), {("a",): "!#$%&'*+-.^_`|~09azAZ"}),
]

BAD: list[dict[str, Any]] = [
    of(a=mark(token="")),
    of(a=mark(token=5)),
    of(a=mark(token=None)),
    of(a=mark(token="two words")),
    of(a=mark(token="ümlaut")),
    of(a=mark(token="a:b")),
    of(a=mark(token="line\nend")),
    of(a=mark("number")),
    of(a=mark("object")),
    of(a=mark("array")),
    of(a=mark("null")),
    of(a=mark(["string", "null"])),
    of(a={"x-mcp-header": "Region"}),
    of(a=mark(), b=mark(token="REGION")),
    {**mark("object"), "properties": {}},
    of(a={"type": "array", "items": mark()}),
    of(a={"anyOf": [mark()]}),
    of(a={"oneOf": [mark()]}),
    of(a={"not": mark()}),
    {"type": "object", "allOf": [of(a=mark())]},
    {"type": "object", "if": of(a=mark()), "then": {}},
    {"type": "object", "then": of(a=mark())},
    {"type": "object", "else": of(a=mark())},
    {"type": "object", "$defs": {"d": mark()}},
    {"type": "object", "definitions": {"d": of(a=mark())}},
    {"type": "object", "patternProperties": {"^x": mark()}},
    {"type": "object", "additionalProperties": mark()},
    {"type": "object", "dependentSchemas": {"a": of(b=mark())}},
    of(a={"type": "array", "prefixItems": [mark()]}),
]


@requirement("SHELL-18")
@pytest.mark.parametrize(("schema", "expected"), GOOD)
def test_arguments_that_travel_as_headers(schema: dict[str, Any], expected: dict[tuple[str, ...], str]) -> None:
    found = mirrors(schema)
    assert not isinstance(found, BadMirror)
    assert {mirror.path: mirror.token for mirror in found} == expected == x_mcp_header_map(schema)
    assert find_invalid_x_mcp_header(schema) is None


@requirement("SHELL-18")
@pytest.mark.parametrize("schema", BAD)
def test_annotations_that_cannot_be_used_say_why(schema: dict[str, Any]) -> None:
    found = mirrors(schema)
    assert isinstance(found, BadMirror)
    assert found.reason
    assert find_invalid_x_mcp_header(schema) is not None


REGION = (Mirror("Region", ("region",), "string"),)
COUNT = (Mirror("Count", ("a", "count"), "integer"),)
FLAG = (Mirror("Flag", ("flag",), "boolean"),)


@requirement("SHELL-18")
@pytest.mark.parametrize(
    ("mirror", "arguments", "headers"),
    [
        (REGION, {"region": "eu"}, {b"mcp-param-region": b"eu"}),
        (REGION, {"region": "日本"}, {b"mcp-param-region": b"=?base64?5pel5pys?="}),
        (REGION, {}, {}),
        (REGION, {"region": None}, {}),
        (REGION, {}, {b"mcp-param-unknown": b"x"}),
        (COUNT, {"a": {"count": 42}}, {b"mcp-param-count": b"42"}),
        (COUNT, {"a": {"count": 42}}, {b"mcp-param-count": b"42.0"}),
        (COUNT, {"a": {"count": 42.0}}, {b"mcp-param-count": b"42"}),
        (COUNT, {"a": {"count": -(2**53 - 1)}}, {b"mcp-param-count": b"-9007199254740991"}),
        (COUNT, {"a": 5}, {}),
        (FLAG, {"flag": True}, {b"mcp-param-flag": b"true"}),
        (FLAG, {"flag": False}, {b"mcp-param-flag": b"false"}),
    ],
)
def test_headers_that_say_what_the_arguments_say(
    mirror: tuple[Mirror, ...], arguments: dict[str, Any], headers: dict[bytes, bytes]
) -> None:
    check_params(mirror, arguments, headers)


@requirement("SHELL-18")
@pytest.mark.parametrize(
    ("mirror", "arguments", "headers"),
    [
        (REGION, {"region": "eu"}, {}),
        (REGION, {}, {b"mcp-param-region": b"eu"}),
        (REGION, {"region": None}, {b"mcp-param-region": b"null"}),
        (REGION, {"region": "eu"}, {b"mcp-param-region": b"EU"}),
        (REGION, {"region": "eu"}, {b"mcp-param-region": b"=?base64?%?="}),
        (COUNT, {"a": {"count": 42}}, {b"mcp-param-count": b"43"}),
        (COUNT, {"a": {"count": 42}}, {b"mcp-param-count": b"4.2e1"}),
        (COUNT, {"a": {"count": 42.5}}, {b"mcp-param-count": b"42"}),
        (COUNT, {"a": {"count": 2**53}}, {b"mcp-param-count": b"9007199254740992"}),
        (COUNT, {"a": {"count": 1}}, {b"mcp-param-count": b"1" * 10_000}),
        (COUNT, {"a": {"count": True}}, {b"mcp-param-count": b"1"}),
        (FLAG, {"flag": True}, {b"mcp-param-flag": b"True"}),
        (FLAG, {"flag": "true"}, {b"mcp-param-flag": b"true"}),
    ],
)
def test_headers_that_say_something_else(
    mirror: tuple[Mirror, ...], arguments: dict[str, Any], headers: dict[bytes, bytes]
) -> None:
    with pytest.raises(HeaderMismatch):
        check_params(mirror, arguments, headers)


@requirement("SHELL-18")
def test_an_argument_is_spelled_for_its_header() -> None:
    assert [spell(value) for value in (None, True, False, 5, "a b", "é")] == [
        None,
        "true",
        "false",
        "5",
        "a b",
        "=?base64?w6k=?=",
    ]
