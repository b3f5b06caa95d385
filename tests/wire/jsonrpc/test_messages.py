"""The four messages: frozen, and an error answer can be read."""

import pytest

from clawft.errors import JsonRpcFailure, ProtocolFailure
from clawft.wire.jsonrpc.messages import Failure, Notification, Request, Response
from clawft.wire.jsonrpc.reading import decode
from tests.nesting import TOO_DEEP, nested
from tests.requirements import requirement


@requirement("WIRE-01")
def test_messages_are_frozen() -> None:
    for message in (Request(b"1", "m"), Notification("m"), Response(b"1", b"{}"), Failure(b"1", b"{}")):
        with pytest.raises(AttributeError):
            setattr(message, message.__struct_fields__[0], b"other")


@requirement("WIRE-03", "S2-P1-02", "S4-TR-03")
def test_an_error_answer_keeps_code_message_and_data() -> None:
    failure = decode(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"m","data":{"a":[1]},"more":1}}')
    assert isinstance(failure, Failure)
    raised = failure.read()
    assert isinstance(raised, JsonRpcFailure)
    assert (raised.error_code, raised.message, raised.error_data) == (-32042, "m", {"a": [1]})


@requirement("WIRE-03", "QUAL-03")
def test_an_error_answer_that_is_too_deep_to_be_read_on_in_is_the_peers_fault() -> None:
    error = b'{"code":1,"message":"m","data":%b}' % nested(TOO_DEEP).encode()
    with pytest.raises(ProtocolFailure, match="the error of an answer is nested too deeply"):
        Failure(b"1", error).read()


@requirement("WIRE-03")
@pytest.mark.parametrize(
    "error",
    [
        *(b"{}", b"5", b'{"code":"x","message":"m"}', b'{"code":1}'),
        *(b'{"code":%d,"message":"m"}' % code for code in (2**31, -(2**31) - 1, 2**63, 10**400)),
        b'{"code":%d,"message":"%b"}' % (2**53, b"m" * 100_000),
    ],
)
def test_an_error_answer_that_is_none_is_the_peers_fault(error: bytes) -> None:
    with pytest.raises(ProtocolFailure):
        Failure(b"1", error).read()
