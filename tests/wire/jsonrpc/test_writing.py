"""Messages to bytes: nothing empty, nothing hidden."""

import json
from typing import Any

import msgspec

from clawft.errors import INVALID_PARAMS, BadEnvelope, BadParams
from clawft.wire.jsonrpc import writing
from clawft.wire.visible import visible_text
from tests.requirements import requirement


@requirement("WIRE-02", "T-2.1", "T-2.2", "S2-P1-04")
def test_an_encoded_notification_has_neither_an_id_nor_empty_params() -> None:
    assert json.loads(writing.notification("notifications/initialized")) == {
        "jsonrpc": "2.0",
        "method": "notifications/initialized",
    }
    assert json.loads(writing.request(3, "ping")) == {"jsonrpc": "2.0", "id": 3, "method": "ping"}
    assert json.loads(writing.request(3, 'a"b', b'{"x":1}'))["params"] == {"x": 1}


@requirement("WIRE-23")
def test_our_errors_become_answers_that_say_what_to_do() -> None:
    wrong = BadParams("no name", hint="give one", data={"uri": "x"})
    assert json.loads(writing.failure_of(b'"a"', wrong)) == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {"code": INVALID_PARAMS, "message": "no name (give one)", "data": {"uri": "x"}},
    }
    assert json.loads(writing.failure_of(None, BadEnvelope("x")))["id"] is None


@requirement("WIRE-13")
def test_what_we_write_is_json_whatever_the_words() -> None:
    strange: Any = 'quote " backslash \\ line\nend \x00 \u202e 😀'
    written = writing.failure(b"1", -32603, strange, {"k": strange})
    assert b"\n" not in written
    shown = visible_text(strange)
    assert msgspec.json.decode(written)["error"] == {"code": -32603, "message": shown, "data": {"k": shown}}
