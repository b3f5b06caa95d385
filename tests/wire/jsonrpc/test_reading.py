"""Bytes to messages: four shapes, ids as they were spelled, and nothing but our own errors."""

import msgspec
import pytest

from clawft.errors import BadEnvelope, ParseError
from clawft.wire.jsonrpc import writing
from clawft.wire.jsonrpc.batches import decode_batch
from clawft.wire.jsonrpc.messages import Failure, Message, Notification, Request, Response
from clawft.wire.jsonrpc.reading import decode
from tests.nesting import TOO_DEEP
from tests.requirements import requirement


@requirement("WIRE-01", "S2-P1-01", "S4-TR-01")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', Request(b"1", "ping")),
        (b'{"jsonrpc":"2.0","id":"a","method":"x","params":{"k":1.10}}', Request(b'"a"', "x", b'{"k":1.10}')),
        (b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', Notification("notifications/initialized")),
        (b'{"jsonrpc":"2.0","method":"x","params":{}}', Notification("x", b"{}")),
        (b'{"jsonrpc":"2.0","id":7,"result":{"a":[1,2]}}', Response(b"7", b'{"a":[1,2]}')),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}', Failure(b"7", b'{"code":1,"message":"m"}')),
        (b'{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}', Failure(b"null", b'{"code":1,"message":"m"}')),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}', Failure(b"null", b'{"code":1,"message":""}')),
    ],
)
def test_a_line_becomes_one_of_four_shapes(line: bytes, message: Message) -> None:
    assert decode(line) == message


@requirement("WIRE-02")
def test_a_notification_may_say_that_it_has_no_params() -> None:
    assert decode(b'{"jsonrpc":"2.0","method":"n","params":null}') == Notification("n")


@requirement("WIRE-02", "T-2.2")
def test_the_key_decides_whether_it_is_a_notification() -> None:
    with pytest.raises(BadEnvelope, match="string or an integer"):
        decode(b'{"jsonrpc":"2.0","id":null,"method":"ping"}')


@requirement("WIRE-04")
@pytest.mark.parametrize("id", [b"1", b"-1", b"0", b"-0", b'"1"', b'""', b'"\\u0031"', b"9" * 5000, '"ключ"'.encode()])
def test_an_id_goes_back_as_it_was_spelled(id: bytes) -> None:
    read = decode(b'{"jsonrpc":"2.0","id":' + id + b',"method":"ping"}')
    assert isinstance(read, Request)
    assert writing.result(read.id, b"{}") == b'{"jsonrpc":"2.0","id":' + id + b',"result":{}}'


@requirement("WIRE-04", "SHELL-13")
@pytest.mark.parametrize("id", [b"1.5", b"1.0", b"1e3", b"1E3", b"null", b"true", b"[1]", b'{"a":1}'])
def test_what_is_no_id_is_answered_without_one(id: bytes) -> None:
    with pytest.raises(BadEnvelope) as refused:
        decode(b'{"jsonrpc":"2.0","id":' + id + b',"method":"ping"}')
    assert refused.value.id == b"null"


@requirement("SHELL-13")
@pytest.mark.parametrize(
    ("line", "id"),
    [
        (b"{}", b"null"),
        (b"5", b"null"),
        (b'"text"', b"null"),
        (b"[]", b"null"),
        (b'{"jsonrpc":"2.0","id":5}', b"5"),
        (b'{"jsonrpc":"2.0","id":{},"x":1}', b"null"),
        (b'{"jsonrpc":"1.0","id":5,"method":"x"}', b"5"),
        (b'{"id":5,"method":"x"}', b"5"),
        (b'{"jsonrpc":2,"id":5,"method":"x"}', b"5"),
        (b'{"jsonrpc":"2.0","id":5,"method":7}', b"5"),
        (b'{"jsonrpc":"2.0","id":[5],"method":7}', b"null"),
        (b'{"jsonrpc":"2.0","id":5,"method":"x","params":[1]}', b"5"),
        (b'{"jsonrpc":"2.0","id":5,"method":"x","params":null}', b"5"),
        (b'{"jsonrpc":"2.0","id":5,"method":"x","result":{}}', b"5"),
        (b'{"jsonrpc":"2.0","id":5,"method":"x","error":{}}', b"5"),
    ],
)
def test_json_that_is_no_message_is_answered_under_its_id_where_it_has_one(line: bytes, id: bytes) -> None:
    with pytest.raises(BadEnvelope) as refused:
        decode(line)
    assert refused.value.id == id


@requirement("WIRE-05")
def test_a_broken_answer_is_never_answered_under_an_id_that_is_ours() -> None:
    """The sender may have a request of its own under that id."""
    with pytest.raises(BadEnvelope, match="both") as refused:
        decode(b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}')
    assert refused.value.id == b"null"


@requirement("SHELL-13")
@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"nope",
        b"{",
        b'{"jsonrpc":"2.0","id":1,"method":"x"',
        b'{"jsonrpc":"2.0","id":1,"method":5',
        b"[1,2",
        b'{"jsonrpc":"2.0","id":1,"method":"x"} trailing',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":Infinity}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":01}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\xed\xa0\x80"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\\ud800"',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"' + b"\\ud800" * 2_000 + b'"}}',
        b"\xef\xbb\xbf{}",
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * TOO_DEEP + b"]" * TOO_DEEP + b"}",
        b'{"jsonrpc":"2.0","id":1,"method":"x","extra":' + b"[" * TOO_DEEP + b"]" * TOO_DEEP + b"}",
        b"[" * TOO_DEEP + b"]" * TOO_DEEP,
        b'{"a":' * TOO_DEEP,
    ],
)
def test_broken_json_is_a_parse_error(line: bytes) -> None:
    with pytest.raises(ParseError):
        decode(line)


@requirement("WIRE-06")
@pytest.mark.parametrize("line", [b"", b" \t"])
def test_nothing_at_all_is_called_so(line: bytes) -> None:
    with pytest.raises(ParseError, match="there is no message"):
        decode(line)


@requirement("WIRE-06")
@pytest.mark.parametrize("line", [b"[" * TOO_DEEP, b'{"jsonrpc":"2.0","id":1,"method":5,"params":' + b"[" * TOO_DEEP])
def test_what_is_too_deep_is_told_in_our_words(line: bytes) -> None:
    for read in (decode, decode_batch) if line[:1] == b"[" else (decode,):
        with pytest.raises(ParseError, match="nested too deeply"):
            read(line)


@requirement("WIRE-21", "SHELL-13")
@pytest.mark.parametrize("half", [rb"\ud83d", rb"\uDC00 lone", rb"\ud83d\u0041"])
def test_half_a_character_is_json_and_the_request_has_its_answer(half: bytes) -> None:
    """Programs that cut their text within an emoji write it."""
    message = decode(b'{"jsonrpc":"2.0","id":"7","method":"x","params":{"a":"%b","b":"\\\\ud83d"}}' % half)
    assert isinstance(message, Request)
    assert message.id == b'"7"'
    told = msgspec.json.decode(message.params)
    assert told["a"].startswith("\ufffd")
    assert told["b"] == r"\ud83d"


@requirement("WIRE-21", "WIRE-08")
@pytest.mark.parametrize("half", [rb"\ud83d", rb"\ud83e", rb"a\uDC00"])
def test_half_a_character_in_an_id_is_refused_because_two_of_them_would_come_back_the_same(half: bytes) -> None:
    with pytest.raises(BadEnvelope, match="the id contains half a surrogate pair") as refused:
        decode(b'{"jsonrpc":"2.0","id":"%b","method":"x"}' % half)
    assert refused.value.id == b"null"
    whole = rb'"\ud83d\ude00\ufffd"'
    message = decode(b'{"jsonrpc":"2.0","id":%b,"method":"x","params":{"a":"%b"}}' % (whole, half))
    assert isinstance(message, Request)
    assert message.id == whole


@requirement("WIRE-08")
def test_deep_but_readable_json_passes() -> None:
    deep = b'{"a":' * 500 + b"1" + b"}" * 500
    read = decode(b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + deep + b"}")
    assert read == Request(b"1", "x", deep)


@requirement("WIRE-21")
def test_unknown_members_numbers_and_key_order_survive() -> None:
    params = b'{"z":1,"a":{"big":123456789012345678901234567890,"f":1.10,"e":1E5,"neg":-0},"\\u0061":"\\/"}'
    read = decode(
        b'{"future":[1,{"x":' + b"9" * 5000 + b'}],"jsonrpc":"2.0","id":1,"method":"x","params":' + params + b"}"
    )
    assert read == Request(b"1", "x", params)
