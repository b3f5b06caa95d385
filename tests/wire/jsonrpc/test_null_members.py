"""Answers that spell out what they do not have."""

from clawft.wire.jsonrpc.messages import Failure, Response
from clawft.wire.jsonrpc.reading import decode
from tests.requirements import requirement


@requirement("QUAL-03")
def test_null_beside_a_result_or_an_error_is_nothing() -> None:
    assert decode(b'{"jsonrpc":"2.0","id":1,"result":{},"error":null}') == Response(b"1", b"{}")
    error = b'{"code":-32000,"message":"no"}'
    assert decode(b'{"jsonrpc":"2.0","id":1,"result":null,"error":%b}' % error) == Failure(b"1", error)
