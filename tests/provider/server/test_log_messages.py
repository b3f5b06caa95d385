"""A log message goes to the call it belongs to, or to none: never to somebody else's."""

import pytest

from clawft.model import Call, Caller, Origin, SilentTalk, Tool
from clawft.provider.server.log_messages import belongs_to, is_wanted, read_said
from clawft.upstream.flights import Flight
from tests.requirements import requirement

pytestmark = requirement("RES-11")


class Listening(SilentTalk):
    level = "info"


def flight(stream: int | None = None, *, listens: bool = True, principal: str = "ada") -> Flight:
    talk = Listening() if listens else SilentTalk()
    call = Call(Caller(principal=principal), "t", Tool("t", b""), Origin("mcp:s"), talk=talk)
    found = Flight(call, "t", 1.0)
    found.stream = stream
    return found


def test_the_stream_says_whose_it_is() -> None:
    one, two = flight(1), flight(2)
    assert belongs_to([one, two], 2, per_request=True) is two
    assert belongs_to([one, two], 3, per_request=True) is None
    assert belongs_to([flight(1, listens=False), two], 1, per_request=False) is None


def test_on_a_pipe_only_one_call_may_come_into_question() -> None:
    mine, other, deaf = flight(), flight(principal="eve"), flight(listens=False, principal="eve")
    assert belongs_to([mine], None, per_request=False) is mine
    assert belongs_to([mine, deaf], None, per_request=True) is mine
    assert belongs_to([mine, deaf], None, per_request=False) is None
    assert belongs_to([mine, other], None, per_request=True) is None
    assert belongs_to([], None, per_request=True) is None


def test_a_stateless_server_speaks_only_where_it_was_asked() -> None:
    mine, deaf = flight(), flight(listens=False)
    assert is_wanted([mine, mine, deaf], per_request=True)
    assert not is_wanted([deaf], per_request=True)
    assert not is_wanted([], per_request=True)
    assert is_wanted([], per_request=False)


@pytest.mark.parametrize("params", [b"", b"[]", b'{"level":"loud","data":1}', b'{"level":"info"}'])
def test_what_is_no_log_message_is_left_alone(params: bytes) -> None:
    assert read_said(params) is None
