"""Codes, and the HTTP status each travels under."""

import pytest
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS

from clawft import errors
from clawft.errors import ClawftError, JsonRpcFailure
from clawft.wire import handshake, stateless
from clawft.wire.codes import STATUS, status_of
from clawft.wire.jsonrpc import writing
from tests.requirements import requirement


def every_error(kind: type[ClawftError] = ClawftError) -> list[type[ClawftError]]:
    return [kind, *(each for child in kind.__subclasses__() for each in every_error(child))]


@requirement("WIRE-13", "SHELL-19")
def test_the_status_table_is_the_official_one() -> None:
    unknown = errors.UnknownMethod
    assert dict(ERROR_CODE_HTTP_STATUS) == {**STATUS, unknown.code: unknown.status}


@requirement("WIRE-13")
@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_no_code_is_invented_and_every_error_says_whom_to_blame(kind: type[ClawftError]) -> None:
    assert kind.code in {-32700, -32600, -32601, -32602, -32603, -32002, -32020, -32021, -32022, -32042}
    assert kind.blame
    assert kind.exit_code in (1, 2)
    assert 200 <= kind.status < 600


@requirement("SHELL-19")
@pytest.mark.parametrize("id", [b"1", b'"a"', b"null", b'"' + b"x" * 2000 + b'"', b'"\\",\\"result\\":"', b'"a,b"'])
def test_the_status_of_an_answer(id: bytes) -> None:
    assert status_of(writing.failure(id, -32601, "m")) == 200
    assert status_of(writing.failure(id, -32602, "m")) == 400
    assert status_of(writing.failure(id, -32603, "m")) == 200
    assert status_of(writing.failure(id, -1, "m")) == 200
    assert status_of(writing.result(id, b'{"a":1,"error":{"code":-32602,"message":"m"}}')) == 200


@requirement("WIRE-23", "S4-CL-02")
def test_the_names_of_the_sources_have_a_place_in_the_tree() -> None:
    names = {kind.__name__ for kind in every_error()}
    assert names >= set(
        "ToolNotFound InvalidArguments ExecutionFailed PermissionDenied SpawnFailed ProcessExited JsonRpcFailure "
        "ProtocolFailure ServerNotFound NotConnected RequestTimeout InvalidConfig ConfigUnreadable ConfigUnparsable "
        "DelegationFailed LinkClosed".split()
    )


@requirement("WIRE-23")
def test_errors_carry_what_their_readers_need() -> None:
    denied = errors.PermissionDenied("shell", "no", hint="ask")
    assert (denied.tool, denied.reason, str(denied)) == ("shell", "no", "shell: permission denied: no (ask)")
    assert errors.RequestTimeout("ping", 50).ms == 50
    assert errors.ResourceNotFound("x://y").data == {"uri": "x://y"}
    lacking = errors.MissingCapability("m", required={"sampling": {}})
    assert lacking.data == {"requiredCapabilities": {"sampling": {}}}


@requirement("WIRE-13")
@pytest.mark.parametrize(
    ("code", "older", "newer"),
    [
        (7, 7, 7),
        (-31999, -31999, -31999),
        (-32601, -32601, -32601),
        (-32002, -32002, -32602),
        (-32019, -32019, -32019),
        (-32050, -32050, -32050),
        *((code, -32603, -32603) for code in (-32700, -32600, -32020, -32021, -32022, -32042)),
    ],
)
def test_a_code_of_a_server_reaches_its_agent_unless_it_is_about_our_own_request(
    code: int, older: int, newer: int
) -> None:
    error = JsonRpcFailure(code, "m")
    assert (handshake.error_code(error), stateless.error_code(error)) == (older, newer)
