"""What a request says about its caller in `_meta`, and what initialize says."""

import json
from typing import Any

import pytest

from clawft.errors import BadParams, Busy, MissingCapability, ResourceNotFound, ToolNotFound
from clawft.model import Capabilities
from clawft.wire import handshake, meta
from clawft.wire.handshake import Hello, read_initialize
from tests.requirements import requirement


def capabilities(told: object) -> Capabilities:
    return meta.read_capabilities(json.dumps(told).encode())


@requirement("SHELL-18")
@pytest.mark.parametrize(
    ("told", "read"),
    [
        ({}, Capabilities()),
        ({"elicitation": {}}, Capabilities(elicit_form=True)),
        ({"elicitation": {"form": {}}}, Capabilities(elicit_form=True)),
        ({"elicitation": {"url": {}}}, Capabilities(elicit_url=True)),
        ({"elicitation": {"form": {}, "url": {}}}, Capabilities(elicit_form=True, elicit_url=True)),
        (
            {"sampling": {"tools": {}}, "roots": {"listChanged": True}},
            Capabilities(sampling=True, sampling_tools=True, roots=True),
        ),
        ({"sampling": {"context": {}}}, Capabilities(sampling=True, sampling_context=True)),
        ({"sampling": True}, Capabilities(sampling=True)),
        ({"extensions": {"com.example/x": {"a": "x" * 5000}}}, Capabilities()),
        ({"extensions": {"io.modelcontextprotocol/tasks": {}}}, Capabilities(tasks=True)),
        (
            {"extensions": {"com.example/x": {"a": 1}}, "future": [1]},
            Capabilities(extensions=(("com.example/x", b'{"a": 1}'),)),
        ),
    ],
)
def test_capabilities(told: object, read: Capabilities) -> None:
    assert capabilities(told) == read


@requirement("SHELL-18")
@pytest.mark.parametrize("told", [None, [], 5, {"elicitation": 5}, {"extensions": []}])
def test_capabilities_of_the_wrong_shape_are_bad_params(told: object) -> None:
    with pytest.raises(BadParams):
        capabilities(told)


@requirement("SHELL-18")
@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b'{"name":"n","version":"1"}', "n/1"),
        (b'{"name":"n","version":"1","icons":[{}],"title":"N"}', "n/1"),
        (b"{}", ""),
        (b"5", ""),
        (b'{"name":5}', ""),
        (b'{"name":"' + b"n" * 1000 + b'"}', "n" * 200),
    ],
)
def test_the_name_of_a_client_is_never_worth_an_error(raw: bytes, name: str) -> None:
    assert meta.read_client(raw) == name


@requirement("SHELL-18")
@pytest.mark.parametrize("params", [b'{"_meta":null}', b'{"_meta":[]}', b'{"_meta":5}', b'{"_meta":"x"}'])
def test_a_meta_that_is_no_object_is_bad_params(params: bytes) -> None:
    with pytest.raises(BadParams, match="_meta"):
        meta.read(params)


@requirement("SHELL-18")
def test_no_meta_says_nothing() -> None:
    assert meta.read(b"") == meta.read(b"{}") == meta.read(b'{"_meta":{"vendor/key":1}}') == meta.NOTHING


@requirement("SHELL-18")
@pytest.mark.parametrize(
    ("token", "good"),
    [("1", True), ("-1", True), ('"t"', True), ("1.5", False), ("null", False), ("{}", False), ("true", False)],
)
def test_a_progress_token_is_a_string_or_an_integer(token: str, good: bool) -> None:
    read = meta.read(f'{{"_meta":{{"progressToken":{token}}}}}'.encode())
    assert meta.is_progress_token(read.progress_token) is good
    assert not meta.is_progress_token(meta.NOTHING.progress_token)


# ── initialize ───────────────────────────────────────────────────────────────────────────────────────────────────────


def initialize(**params: Any) -> Hello:
    return read_initialize(json.dumps(params).encode())


@requirement("WIRE-14", "SHELL-02")
def test_initialize_tells_who_calls() -> None:
    hello = initialize(
        protocolVersion="2025-06-18",
        capabilities={"sampling": {}, "elicitation": {}},
        clientInfo={"name": "c", "version": "2", "websiteUrl": "x"},
    )
    assert hello == Hello("2025-06-18", Capabilities(sampling=True, elicit_form=True), "c/2")


@requirement("WIRE-14")
def test_initialize_without_capabilities_or_client_is_read() -> None:
    assert initialize(protocolVersion="2030-01-01") == Hello("2025-11-25", Capabilities(), "")


@requirement("WIRE-14")
@pytest.mark.parametrize("params", [b"", b"{}", b'{"protocolVersion":5}', b'{"protocolVersion":null}'])
def test_initialize_without_a_version_is_bad_params(params: bytes) -> None:
    with pytest.raises(BadParams, match="initialize"):
        read_initialize(params)


@requirement("WIRE-14")
def test_the_initialize_result_leaves_out_what_there_is_not() -> None:
    plain = handshake.initialize_result("2025-11-25", b'{"tools":{}}', b'{"name":"clawft","version":"1"}', "")
    assert json.loads(plain) == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "clawft", "version": "1"},
    }
    told = handshake.initialize_result("2025-11-25", b"{}", b"{}", 'say "hi"\n')
    assert json.loads(told)["instructions"] == 'say "hi"\n'


@requirement("WIRE-13")
def test_codes_of_the_handshake_era() -> None:
    """A missing resource has its own code, and the stateless ones do not exist."""
    assert handshake.error_code(ResourceNotFound("x://y")) == -32002
    assert handshake.error_code(MissingCapability("m", required={})) == -32602
    assert handshake.error_code(ToolNotFound("t")) == -32602
    assert handshake.error_code(Busy("b")) == -32603
